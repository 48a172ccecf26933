"""An attempt's output as its capped log kept it, read while it may still be growing.

Output beyond the cap leaves `<path>.head`, the beginning, and `<path>`, the newest part.
"""

import os
from collections.abc import Iterator
from typing import BinaryIO

from holdfast.views.text import plain
from holdfast.views.words import OUTPUT

CUT = "  … output cut here …"
_LONGEST_LINE = 64 * 1024
"""Longer ones come in pieces, so that a line of any length needs no more memory than this."""


class Output:
    def __init__(self, path: str) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._partial = b""

    def more(self) -> Iterator[str]:
        """The whole lines that have come since the last call."""
        if self._file is None:
            yield from self._begun()
        if self._file is not None:
            yield from self._new_lines(self._file)
            yield from self._turned_over(self._file)

    def rest(self) -> Iterator[str]:
        """All that is left, for when nothing more will come."""
        yield from self.more()
        yield from self._flushed()
        if self._file is None:
            yield "  (the output is missing)"
        else:
            self._file.close()

    def _begun(self) -> Iterator[str]:
        self._file = _opened(self._path)
        head = _opened(f"{self._path}.head")
        if head is None:
            return
        with head:
            # Renamed between the two openings: the one already open is the beginning.
            if self._file is None or not os.path.sameopenfile(head.fileno(), self._file.fileno()):
                yield from self._new_lines(head)
                yield from self._flushed()
                yield CUT

    def _turned_over(self, file: BinaryIO) -> Iterator[str]:
        """The writer reached the cap: it emptied the file, or put it away and began another."""
        if os.fstat(file.fileno()).st_size < file.tell():
            file.seek(0)
        elif _is_at(file, self._path) or (newer := _opened(self._path)) is None:
            return
        else:
            self._file = newer
            yield from self._new_lines(file)  # what came before it was put away
        if not _is_at(file, f"{self._path}.head"):  # that one we have read to its end
            yield from self._flushed()
            yield CUT
        yield from self._new_lines(self._file or file)
        if self._file is not file:
            file.close()

    def _new_lines(self, file: BinaryIO) -> Iterator[str]:
        while piece := file.readline(_LONGEST_LINE):
            self._partial += piece
            if piece.endswith(b"\n") or len(self._partial) >= _LONGEST_LINE:
                yield from self._flushed()

    def _flushed(self) -> Iterator[str]:
        line, self._partial = self._partial, b""
        if line:
            yield OUTPUT + plain(line.decode("utf-8", "replace").rstrip("\r\n"))


def _opened(path: str) -> BinaryIO | None:
    try:
        return open(path, "rb")
    except OSError:
        return None


def _is_at(file: BinaryIO, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except OSError:
        return False
