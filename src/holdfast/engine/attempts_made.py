"""What the journal knows of a task's attempts, for tools that keep such a history of their own."""

from collections.abc import Iterable

from holdfast.model.events import AttemptFailed, AttemptStarted, Entry, Interrupted, TaskLanded
from holdfast.plans.base import Attempted
from holdfast.system.clock import timestamp


def attempts_made(entries: Iterable[Entry]) -> tuple[Attempted, ...]:
    """Of one task, in order, since it was last done; one that is still going on
    ends with what was last heard of it. Interrupts are no
    attempts."""
    made: list[Attempted] = []
    started = last = None
    for entry in entries:
        last = entry
        match entry.event:
            case AttemptStarted():
                started = entry
            case AttemptFailed() as failure:
                made.append(_attempted(failure.attempt, started or entry, entry, failure.reason))
                started = None
            case Interrupted():
                started = None
            case TaskLanded():
                made, started = [], None
    if started and last and isinstance(started.event, AttemptStarted):
        made.append(_attempted(started.event.attempt, started, last, ""))
    return tuple(made)


def _attempted(number: int, started: Entry, ended: Entry, error: str) -> Attempted:
    return Attempted(number, timestamp(started.at), timestamp(ended.at), error)
