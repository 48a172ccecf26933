"""What the live view has to draw, as a value that each event replaces."""

from collections.abc import Callable
from typing import NamedTuple

from holdfast.model.events import (
    AgentEnded,
    AgentSpoke,
    AttemptFailed,
    AttemptStarted,
    Entry,
    GateFinished,
    Interrupted,
    Queued,
    ReviewEnded,
    ReviewStarted,
    RunEnded,
    RunStarted,
    TaskChanged,
    TaskFailed,
    TaskLanded,
    Waiting,
)
from holdfast.model.plan import Plan, Status
from holdfast.views.text import plain
from holdfast.views.window import Progress

SPOKEN_LINES = 6

QUEUED = "waits to land"
_CHANGED = {"skip": Status.SKIPPED, "reset": Status.PENDING, "retry": Status.PENDING}


class Current(NamedTuple):
    """The attempt under way."""

    attempt: AttemptStarted
    since: float
    doing: str = "working"
    spoken: tuple[str, ...] = ()
    waits_until: float | None = None


class Scene(NamedTuple):
    progress: Progress
    focus: int
    """Index of the task the window is about."""
    since: float
    until: float | None = None
    """When the run ended."""
    under_way: tuple[Current, ...] = ()
    """In the order they began; more than one where tasks are worked on beside each other."""

    @classmethod
    def of(cls, plan: Plan, since: float) -> "Scene":
        progress = Progress.of(plan)
        return cls(progress, progress.first_open(), since)

    def after(self, entry: Entry) -> "Scene":
        match entry.event:
            case AgentSpoke() as event:
                return self._heard(event)
            case RunStarted():
                return self._replace(since=entry.at, until=None)
            case AttemptStarted() as event:
                return self._began(event, entry.at)
            case AgentEnded() | ReviewEnded() as event:
                return self._doing(event.task, "checking")
            case ReviewStarted() as event:
                return self._doing(event.task, f"{plain(event.agent)} reviews")
            case Queued() as event:
                return self._doing(event.task, QUEUED)
            case Waiting() as event:
                return self._waits(event)
            case GateFinished(passed=True) as event:
                return self._doing(event.task, f"{plain(event.gate)} passed")
            case TaskLanded() as event:
                return self._marked(event.task, Status.COMPLETED)
            case TaskFailed() as event:
                return self._marked(event.task, Status.FAILED)
            case TaskChanged() as event if event.action in _CHANGED:
                return self._marked(event.task, _CHANGED[event.action])
            case AttemptFailed() | Interrupted() as event:
                return self._without(event.task)
            case RunEnded():
                return self._replace(under_way=(), until=entry.at)
        return self

    def _began(self, event: AttemptStarted, at: float) -> "Scene":
        tasks = self.progress.plan.tasks
        under_way = (*self._without(event.task).under_way, Current(event, at))
        first = under_way[0].attempt.task
        found = (i for i, task in enumerate(tasks) if task.id == first)
        return self._replace(under_way=under_way, focus=next(found, self.focus))

    def _heard(self, event: AgentSpoke) -> "Scene":
        text = plain(event.text)
        if not text:
            return self
        return self._changed(event.task, lambda now: now._replace(spoken=(*now.spoken, text)[-SPOKEN_LINES:]))

    def _waits(self, event: Waiting) -> "Scene":
        return self._changed(event.task, lambda now: now._replace(waits_until=event.until))

    def _doing(self, task: str, what: str) -> "Scene":
        return self._changed(task, lambda now: now._replace(doing=what))

    def _changed(self, task: str, change: Callable[[Current], Current]) -> "Scene":
        now = (change(one) if one.attempt.task == task else one for one in self.under_way)
        return self._replace(under_way=tuple(now))

    def _without(self, task: str) -> "Scene":
        return self._replace(under_way=tuple(one for one in self.under_way if one.attempt.task != task))

    def _marked(self, task: str, status: Status) -> "Scene":
        progress = Progress.of(self.progress.plan.with_status(task, status))
        return self._without(task)._replace(progress=progress)
