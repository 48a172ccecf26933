"""Output of programs, cut into lines and kept small: nothing here grows with what is printed."""

from collections.abc import Iterator

LONGEST_LINE = 1 << 16
CUT = b" [line cut by holdfast]"


class Tail:
    """The end of a stream of bytes, at most `limit` long."""

    def __init__(self, limit: int = 8192) -> None:
        self._limit = limit
        self._kept = b""
        self._cut = False

    def add(self, chunk: bytes) -> None:
        kept = self._kept + chunk[-self._limit :]
        self._cut = self._cut or len(kept) > self._limit or len(chunk) > self._limit
        self._kept = kept[-self._limit :]

    def text(self) -> str:
        kept = self._kept
        if self._cut:
            kept = b"[...]" + kept[kept.find(b"\n") if b"\n" in kept else 0 :]
        return kept.decode("utf-8", "replace")


class Lines:
    """Cuts chunks into lines without their newline. Of a longer line only the beginning is kept."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._begun = b""
        self._dropping = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        first, *rest = chunk.split(b"\n")
        self._extend(first)
        for part in rest:
            yield self._take()
            self._extend(part)

    def finish(self) -> Iterator[bytes]:
        if self._begun:
            yield self._take()

    def _extend(self, part: bytes) -> None:
        if self._dropping:
            return
        self._begun = self._begun + part if self._begun else part
        if len(self._begun) > self._longest:
            self._begun = self._begun[: self._longest] + CUT
            self._dropping = True

    def _take(self) -> bytes:
        line, self._begun, self._dropping = self._begun, b"", False
        return line[:-1] if line.endswith(b"\r") else line


def last_lines(chunk: bytes, count: int) -> bytes:
    """The last `count` lines of a chunk, found without looking at the rest."""
    at = len(chunk)
    for _ in range(count):
        at = chunk.rfind(b"\n", 0, at)
        if at < 0:
            return chunk
    return chunk[at + 1 :]
