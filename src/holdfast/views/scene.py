"""What the live view has to draw, as a value that each event replaces."""

from typing import NamedTuple

from holdfast.model.events import (
    AgentEnded,
    AgentSpoke,
    AttemptFailed,
    AttemptStarted,
    Entry,
    GateFinished,
    Interrupted,
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
    current: Current | None = None

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
            case AgentEnded():
                return self._doing("checking")
            case ReviewStarted() as event:
                return self._doing(f"{plain(event.agent)} reviews")
            case ReviewEnded():
                return self._doing("checking")
            case Waiting() as event:
                return self._waits(event)
            case GateFinished(passed=True) as event:
                return self._doing(f"{plain(event.gate)} passed")
            case TaskLanded() as event:
                return self._marked(event.task, Status.COMPLETED)
            case TaskFailed() as event:
                return self._marked(event.task, Status.FAILED)
            case TaskChanged() as event if event.action in _CHANGED:
                return self._marked(event.task, _CHANGED[event.action])
            case AttemptFailed() | Interrupted():
                return self._replace(current=None)
            case RunEnded():
                return self._replace(current=None, until=entry.at)
        return self

    def _began(self, event: AttemptStarted, at: float) -> "Scene":
        found = (i for i, task in enumerate(self.progress.plan.tasks) if task.id == event.task)
        return self._replace(current=Current(event, at), focus=next(found, self.focus))

    def _heard(self, event: AgentSpoke) -> "Scene":
        text = plain(event.text)
        if self.current is None or not text:
            return self
        spoken = (*self.current.spoken, text)[-SPOKEN_LINES:]
        return self._replace(current=self.current._replace(spoken=spoken))

    def _waits(self, event: Waiting) -> "Scene":
        current = self.current and self.current._replace(waits_until=event.until)
        return self._replace(current=current)

    def _doing(self, what: str) -> "Scene":
        return self if self.current is None else self._replace(current=self.current._replace(doing=what))

    def _marked(self, task: str, status: Status) -> "Scene":
        progress = Progress.of(self.progress.plan.with_status(task, status))
        return self._replace(progress=progress, current=None)
