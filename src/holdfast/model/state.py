"""Where a run stands, as a fold over its journalled events.

Only history: which tasks are done is for the plan at the branch's tip to say.
"""

from collections.abc import Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar

from holdfast.model.events import (
    AgentEnded,
    AgentSession,
    AttemptFailed,
    AttemptStarted,
    BuildDiscarded,
    CriterionReported,
    Entry,
    Event,
    Interrupted,
    Recovered,
    Rescued,
    ReviewEnded,
    RunEnded,
    RunStarted,
    TaskChanged,
    TaskFailed,
    TaskLanded,
    Waiting,
)
from holdfast.model.plan import Task
from holdfast.model.spent import NOTHING, Spent

_E = TypeVar("_E", bound=Event)

SUMMARY_KINDS = (
    "run_started",
    "agent_ended",
    "review_ended",
    "recovered",
    "rescued",
    "criterion_reported",
    "attempt_failed",
    "task_failed",
    "task_changed",
    "build_discarded",
    "interrupted",
    "run_ended",
)
"""Enough for an overview: all but most of the events that every smooth task leaves behind."""


class Dated(NamedTuple, Generic[_E]):
    at: float
    event: _E


class Conversation(NamedTuple):
    """With the agent, about one attempt: as long as it is known, it can be resumed."""

    session: str = ""
    spent: Spent = NOTHING
    """What it had used when it was last heard of."""


class TaskHistory(NamedTuple):
    failures: tuple[AttemptFailed, ...] = ()
    """The attempts that count against the limit."""
    earlier_feedback: str = ""
    """What the last attempt was told before the count began anew."""
    failed: str = ""
    """Why the task was given up, "" when it was not or has been taken up again."""
    agent_seconds: float = 0.0
    title: str = ""
    """Whose history it is: an edited plan may give the id to another task."""
    under_way: Dated[AttemptStarted] | None = None
    criteria: tuple[CriterionReported, ...] = ()
    """The last word on each acceptance criterion."""
    conversation: Conversation = Conversation()
    waiting: Waiting | None = None
    """What the attempt was waiting for when it was last heard of."""
    spent: Spent = NOTHING

    @property
    def attempts(self) -> int:
        return len(self.failures)

    @property
    def feedback(self) -> str:
        """What the next attempt's prompt should say about the last one."""
        return self.failures[-1].feedback if self.failures else self.earlier_feedback


class State(NamedTuple):
    tasks: Mapping[str, TaskHistory]
    recoveries: tuple[Dated[Recovered], ...] = ()
    rescues: tuple[Dated[Rescued], ...] = ()
    started: Dated[RunStarted] | None = None
    ended: Dated[RunEnded] | None = None
    running: bool = False
    """The last start has no end: a run is under way, or was killed. `started` has its pid."""
    spent: Spent = NOTHING
    """On all tasks, also those that an edited plan no longer has."""

    def task(self, task_id: str) -> TaskHistory:
        return self.tasks.get(task_id, TaskHistory())

    def of(self, task: Task) -> TaskHistory:
        """As `task`, but not that of another task which had the id before."""
        history = self.task(task.id)
        return history if history.title in ("", task.title) else TaskHistory()


def fold(entries: Iterable[Entry]) -> State:
    """The entries of one run, in order."""
    tasks: dict[str, TaskHistory] = {}
    recoveries: list[Dated[Recovered]] = []
    rescues: list[Dated[Rescued]] = []
    state = State(tasks)
    for entry in entries:
        match entry.event:
            case Recovered() as event:
                recoveries.append(Dated(entry.at, event))
            case Rescued() as event:
                rescues.append(Dated(entry.at, event))
            case RunStarted() as event:
                state = state._replace(started=Dated(entry.at, event), running=True)
                _nothing_under_way(tasks)
            case BuildDiscarded():
                tasks.update({task: _only_paid(history) for task, history in tasks.items()})
                state = state._replace(ended=None)
            case RunEnded() as event:
                state = state._replace(ended=Dated(entry.at, event), running=False)
                _nothing_under_way(tasks)
            case event:
                if isinstance(event, AgentEnded | ReviewEnded):
                    state = state._replace(spent=state.spent.plus(*_used(event)))
                _tell_task(tasks, event, entry.at)
    return state._replace(recoveries=tuple(recoveries), rescues=tuple(rescues))


def told(history: TaskHistory, event: Event, at: float) -> TaskHistory:
    """The history of one task after one of its events."""
    title = getattr(event, "title", "") or history.title
    if title != history.title and history.title:
        history = TaskHistory()
    return _told(history, event, at)._replace(title=title)


def _told(history: TaskHistory, event: Event, at: float) -> TaskHistory:
    match event:
        case AttemptStarted():
            return history._replace(under_way=Dated(at, event), failed="", waiting=None)
        case AgentSession():
            same = event.session == history.conversation.session
            return history if same else history._replace(conversation=Conversation(event.session))
        case AgentEnded():
            return _paid(history, event)
        case ReviewEnded():
            return history._replace(spent=history.spent.plus(*_used(event)))
        case Waiting():
            return history._replace(waiting=event)
        case CriterionReported():
            others = tuple(said for said in history.criteria if said.criterion != event.criterion)
            return history._replace(criteria=(*others, event))
        case AttemptFailed():
            failures = (*history.failures, event)
            return history._replace(failures=failures, under_way=None, conversation=Conversation())
        case Interrupted():
            counted = tuple(f for f in history.failures if f.attempt != event.attempt)
            return history._replace(failures=counted, under_way=None)
        case TaskFailed():
            return _counted_anew(history)._replace(failed=event.reason)
        case TaskChanged(action="retry"):
            return _counted_anew(history)
        case TaskLanded() | TaskChanged():
            return _counted_anew(history)._replace(earlier_feedback="")
    return history


def _paid(history: TaskHistory, event: AgentEnded) -> TaskHistory:
    used = _used(event)
    talk = history.conversation
    return history._replace(
        agent_seconds=history.agent_seconds + event.seconds,
        conversation=talk._replace(spent=talk.spent.plus(*used)),
        spent=history.spent.plus(*used),
    )


def _used(event: AgentEnded | ReviewEnded) -> tuple[float | None, int, int]:
    return event.cost_usd, event.tokens_in, event.tokens_out


def _tell_task(tasks: dict[str, TaskHistory], event: Event, at: float) -> None:
    task = getattr(event, "task", "")
    if task:
        tasks[task] = told(tasks.get(task, TaskHistory()), event, at)


def _counted_anew(history: TaskHistory) -> TaskHistory:
    return TaskHistory(
        earlier_feedback=history.feedback,
        agent_seconds=history.agent_seconds,
        criteria=history.criteria,
        spent=history.spent,
    )


def _only_paid(history: TaskHistory) -> TaskHistory:
    """What was built is gone; what it cost is not."""
    return TaskHistory(agent_seconds=history.agent_seconds, title=history.title, spent=history.spent)


def _nothing_under_way(tasks: dict[str, TaskHistory]) -> None:
    """What a killed run had begun is no longer going on once another run starts or ends."""
    for task, history in tasks.items():
        if history.under_way is not None:
            tasks[task] = history._replace(under_way=None)
