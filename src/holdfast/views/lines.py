"""One plain line per event, for pipes and CI."""

from collections.abc import Callable
from typing import TextIO

from holdfast.model.events import (
    AgentSpoke,
    AttemptFailed,
    Entry,
    Interrupted,
    Recovered,
    Rescued,
    RunEnded,
    TaskFailed,
)
from holdfast.views.words import sentence

_ALWAYS = (Recovered, Rescued, AttemptFailed, TaskFailed, Interrupted, RunEnded)


class LinesView:
    def __init__(self, stream: TextIO, *, clock: Callable[[float], str], quiet: bool = False) -> None:
        """`clock` words a moment, as HH:MM:SS. `quiet` leaves recoveries, failures and the end."""
        self._stream: TextIO | None = stream
        self._clock = clock
        self._quiet = quiet

    def show(self, entry: Entry) -> None:
        if not self._quiet or isinstance(entry.event, _ALWAYS):
            self._write(self._line(entry))

    def close(self) -> None:
        self._stream = None

    def _line(self, entry: Entry) -> str:
        text = sentence(entry.event)
        return text if isinstance(entry.event, AgentSpoke) else f"{self._clock(entry.at)} {text}"

    def _write(self, line: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(f"{encodable(line, self._stream)}\n")
            self._stream.flush()
        except OSError:
            self._stream = None  # the reader has gone; the run goes on without being watched


def encodable(line: str, stream: TextIO) -> str:
    """A terminal set to another encoding gets question marks, not a traceback."""
    encoding = stream.encoding or "utf-8"
    return line.encode(encoding, "replace").decode(encoding)
