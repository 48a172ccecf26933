"""The story of a run or a task: its events, each attempt with the output of its agent."""

import os
from collections.abc import Callable, Iterable, Iterator

from holdfast.journal import Reader
from holdfast.model.events import (
    AgentEnded,
    AttemptFailed,
    AttemptStarted,
    Entry,
    GateFinished,
    Interrupted,
    ReviewEnded,
    ReviewStarted,
    RunEnded,
    RunStarted,
    TaskFailed,
    TaskLanded,
)
from holdfast.views.output import Output
from holdfast.views.text import plain
from holdfast.views.words import OUTPUT, sentence

Clock = Callable[[float], str]

# The agent's own end, or whatever proves that it has ended when its runner was killed.
_END_OUTPUT = (
    AgentEnded,
    AttemptFailed,
    Interrupted,
    TaskLanded,
    TaskFailed,
    AttemptStarted,
    ReviewStarted,
    ReviewEnded,
    RunStarted,
    RunEnded,
)


def log_lines(entries: Iterable[Entry], state_dir: str, *, clock: Clock) -> Iterator[str]:
    """As far as it has gone."""
    story = _Story(state_dir, clock)
    for entry in entries:
        yield from story.told(entry)
    yield from story.finished()


def follow(
    reader: Reader,
    state_dir: str,
    *,
    clock: Clock,
    sleep: Callable[[float], None],
    stop: Callable[[], bool],
    interval: float = 0.5,
    run: str = "",
    task: str = "",
    after: int = 0,
) -> Iterator[str]:
    """The same, and then what comes. Looks every `interval` seconds, and once more after `stop` says so."""
    story = _Story(state_dir, clock)
    while True:
        last = stop()
        for entry in reader.entries(run=run, after=after, task=task):
            yield from story.told(entry)
            after = entry.seq
        yield from story.heard()
        if last:
            yield from story.finished()
            return
        sleep(interval)


class _Story:
    def __init__(self, state_dir: str, clock: Clock) -> None:
        self._state_dir = state_dir
        self._clock = clock
        self._output: Output | None = None

    def told(self, entry: Entry) -> Iterator[str]:
        if isinstance(entry.event, _END_OUTPUT):
            yield from self.finished()
        yield f"{self._clock(entry.at)} {sentence(entry.event)}"
        if isinstance(entry.event, AttemptStarted | ReviewStarted):
            self._output = Output(_inside(self._state_dir, entry.event.log))
        if isinstance(entry.event, GateFinished) and not entry.event.passed:
            yield from (OUTPUT + plain(line) for line in entry.event.output.splitlines())

    def heard(self) -> Iterator[str]:
        """What the agent has said since, whole lines only."""
        return self._output.more() if self._output else iter(())

    def finished(self) -> Iterator[str]:
        """What is left of the output, its last line too."""
        output, self._output = self._output, None
        return output.rest() if output else iter(())


def _inside(state_dir: str, log: str) -> str:
    """A damaged journal must not make us read any file on the disk."""
    path = os.path.normpath(os.path.join(state_dir, log))
    return path if path.startswith(os.path.join(os.path.normpath(state_dir), "")) else ""
