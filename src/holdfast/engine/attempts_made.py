"""What the journal knows of a task's attempts, for tools that keep such a history of their own."""

from collections.abc import Iterable

from holdfast.model.events import (
    AttemptFailed,
    AttemptStarted,
    CriterionReported,
    Entry,
    Interrupted,
    TaskLanded,
)
from holdfast.plans.base import Attempted, Criterion
from holdfast.system.clock import timestamp


def attempts_made(entries: Iterable[Entry]) -> tuple[Attempted, ...]:
    """Of one task, in order, since it was last done; one that is still going on
    ends with what was last heard of it. Interrupts are no
    attempts."""
    made: list[Attempted] = []
    started = last = None
    criteria: list[Criterion] = []
    for entry in entries:
        last = entry
        match entry.event:
            case AttemptStarted():
                started, criteria = entry, []
            case CriterionReported() as said:
                criteria.append(Criterion(said.criterion, said.verdict == "met"))
            case AttemptFailed() as failure:
                made.append(_attempted(failure.attempt, started or entry, entry, failure.reason, criteria))
                started = None
            case Interrupted():
                started = None
            case TaskLanded():
                made, started = [], None
    if started and last and isinstance(started.event, AttemptStarted):
        made.append(_attempted(started.event.attempt, started, last, "", criteria))
    return tuple(made)


def _attempted(number: int, started: Entry, ended: Entry, error: str, criteria: list[Criterion]) -> Attempted:
    return Attempted(number, timestamp(started.at), timestamp(ended.at), error, tuple(criteria))
