"""A log file that cannot fill the disk: its beginning and its end are kept, the middle is let go."""

import os
from types import TracebackType

HEAD = 4 << 20
TAIL = 8 << 20


class CappedLog:
    """Writes to `path`. Past `head` bytes that part is renamed to `path.head` and the newest `tail` bytes
    (at least half as many) follow in `path`."""

    def __init__(self, path: str, *, head: int = HEAD, tail: int = TAIL) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self._path = path
        self._head = head
        self._tail = tail
        self._has_head = False
        self._file = open(path, "w+b", buffering=0)  # noqa: SIM115 (closed by close)
        self._size = 0

    def write(self, chunk: bytes) -> None:
        """A log that cannot be written (a full disk) must not end the run it describes."""
        try:
            self._file.write(chunk)
            self._size += len(chunk)
            if not self._has_head and self._size > self._head:
                self._keep_head()
            elif self._size > self._tail:
                self._shrink()
        except OSError:
            return

    def _keep_head(self) -> None:
        self._file.close()
        os.replace(self._path, f"{self._path}.head")
        self._file = open(self._path, "w+b", buffering=0)  # noqa: SIM115
        self._has_head = True
        self._size = 0

    def _shrink(self) -> None:
        self._file.seek(-(self._tail // 2), os.SEEK_END)
        kept = self._file.read()
        self._file.seek(0)
        self._file.truncate()
        self._file.write(kept)
        self._size = len(kept)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "CappedLog":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
