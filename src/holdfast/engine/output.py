"""Where an agent's output goes: the capped log, the agent module that understands it, and the screen."""

from collections.abc import Callable

from holdfast.agents.base import Listener
from holdfast.system import clock
from holdfast.system.logfile import CappedLog
from holdfast.system.text import Lines, last_lines

SKIM_ABOVE = 1000
"""Lines in one chunk beyond which an agent module that only needs the end gets only the end."""
SHOWN_PER_SECOND = 30
LONGEST_SHOWN = 1000


class Output:
    def __init__(self, log: CappedLog, listener: Listener, show: Callable[[str], None]) -> None:
        self._log = log
        self._listener = listener
        self._show = show
        self._lines = Lines()
        self._second = 0
        self._shown = 0

    def heard(self, stream: int, chunk: bytes) -> None:
        self._log.write(chunk)
        if stream != 1:
            return
        if self._listener.skims and chunk.count(b"\n") > SKIM_ABOVE:
            chunk = last_lines(chunk, SKIM_ABOVE)
        for line in self._lines.feed(chunk):
            self._pass_on(line)

    def finish(self) -> None:
        for line in self._lines.finish():
            self._pass_on(line)

    def _pass_on(self, line: bytes) -> None:
        text = self._listener.heard(line)
        if text is not None and self._may_show():
            self._show(text[:LONGEST_SHOWN])

    def _may_show(self) -> bool:
        """A screen is for people: past some lines a second the log is the place to look."""
        second = int(clock.monotonic())
        if second != self._second:
            self._second, self._shown = second, 0
        self._shown += 1
        return self._shown <= SHOWN_PER_SECOND
