"""Where an agent's output goes: the agent module that understands it, a log to read, and the screen.

The lines of an agent that speaks in events are kept as they came in a second log beside that one.
"""

from collections.abc import Callable

from holdfast.agents.activity import Activity, SessionKnown, readable
from holdfast.agents.base import Listener
from holdfast.system import clock
from holdfast.system.logfile import CappedLog
from holdfast.system.redact import Secrets
from holdfast.system.text import LONGEST_LINE, Lines, Tail, last_lines

SKIM_ABOVE = 1000
"""Lines in one chunk beyond which an agent module that only needs the end gets only the end."""
SHOWN_PER_SECOND = 30
LONGEST_SHOWN = 1000
LONGEST_EVENT = 4 << 20
"""An event can hold a whole file; a longer one is cut, cannot be read any more, and counts as none."""


class Output:
    """`show` gets each line for the screen, `know` the agent's name of its conversation, once it says it."""

    def __init__(
        self,
        path: str,
        listener: Listener,
        secrets: Secrets,
        *,
        show: Callable[[str], None],
        know: Callable[[str], None],
    ) -> None:
        self._listener = listener
        self._log = _SafeLog(path, secrets)
        self._raw = self._log if listener.plain else _SafeLog(f"{path}.raw", secrets)
        self._lines = Lines(LONGEST_LINE if listener.plain else LONGEST_EVENT)
        self._errors = Tail()
        self._show = show
        self._know = know
        self._second = 0
        self._shown = 0

    def heard(self, stream: int, chunk: bytes) -> None:
        if stream != 1:
            self._errors.add(chunk)
            self._log.write(chunk)
            return
        self._raw.write(chunk)
        if self._listener.plain and chunk.count(b"\n") > SKIM_ABOVE:
            chunk = last_lines(chunk, SKIM_ABOVE)
        for line in self._lines.feed(chunk):
            self._pass_on(line)

    @property
    def stderr(self) -> str:
        """The end of it."""
        return self._errors.text()

    def __enter__(self) -> "Output":
        return self

    def __exit__(self, *_: object) -> None:
        for line in self._lines.finish():
            self._pass_on(line)
        for log in {self._log, self._raw}:
            log.close()

    def _pass_on(self, line: bytes) -> None:
        for activity in self._listener.heard(line):
            if isinstance(activity, SessionKnown):
                self._know(activity.session)
            else:
                self._tell(activity)

    def _tell(self, activity: Activity) -> None:
        shown = self._may_show()
        if self._listener.plain and not shown:
            return
        lines = readable(activity)
        if not self._listener.plain:
            self._log.write("".join(f"{line}\n" for line in lines).encode())
        for line in lines[: SHOWN_PER_SECOND if shown else 0]:
            self._show(line[:LONGEST_SHOWN])

    def _may_show(self) -> bool:
        """A screen is for people: past some activity in a second the log is the place to look."""
        second = int(clock.monotonic())
        if second != self._second:
            self._second, self._shown = second, 0
        self._shown += 1
        return self._shown <= SHOWN_PER_SECOND


class _SafeLog:
    """A capped log without secrets in it."""

    def __init__(self, path: str, secrets: Secrets) -> None:
        self._file = CappedLog(path)
        self._stream = secrets.stream()

    def write(self, chunk: bytes) -> None:
        self._file.write(self._stream.feed(chunk))

    def close(self) -> None:
        self._file.write(self._stream.rest())
        self._file.close()
