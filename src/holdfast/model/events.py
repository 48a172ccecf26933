"""The closed set of things that can happen, as they are journalled and shown.

A stored name is forever: add fields with defaults, never rename or reuse one. `VERSION` rises when an
older Holdfast could no longer read what a newer one wrote.
"""

from typing import NamedTuple

VERSION = 1


class RunStarted(NamedTuple):
    plan: str
    dialect: str
    branch: str
    mode: str
    agent: str
    total: int
    settled: int
    pid: int


class Recovered(NamedTuple):
    """Something an earlier run (or another tool) left behind was found and dealt with."""

    found: str
    did: str
    task: str = ""
    rescue: str = ""


class Rescued(NamedTuple):
    """Bytes were put under `refs/holdfast/rescue/` before something could discard them."""

    ref: str
    reason: str
    task: str = ""


class Noticed(NamedTuple):
    """Worth a line, changes nothing about the outcome."""

    text: str
    task: str = ""


class AttemptStarted(NamedTuple):
    task: str
    title: str
    attempt: int
    of: int
    base: str
    log: str
    """Path of the agent's output, relative to the state directory."""


class AgentSession(NamedTuple):
    """The agent's own name for its conversation became known: with it the conversation can be resumed."""

    task: str
    attempt: int
    session: str


class AgentSpoke(NamedTuple):
    """A line of agent output for the screen. Never stored: the attempt's log has it."""

    task: str
    text: str


class AgentEnded(NamedTuple):
    task: str
    attempt: int
    outcome: str
    reason: str
    exit_code: int | None
    seconds: float
    cost_usd: float | None = None
    """None when the agent does not tell."""
    tokens_in: int = 0
    tokens_out: int = 0
    resets_at: float | None = None
    """When a limit it ran into ends, in seconds since the epoch; None when there is none or nobody said."""


class Waiting(NamedTuple):
    """The service keeps the agent from working; the same attempt goes on at `until`."""

    task: str
    attempt: int
    until: float
    """Seconds since the epoch."""
    seconds: float
    """How long that was when the wait began."""
    reason: str


class Queued(NamedTuple):
    """A task worked on beside others is finished and waits for its turn to land."""

    task: str


class GateFinished(NamedTuple):
    """A gate or a commit hook gave its verdict."""

    task: str
    attempt: int
    gate: str
    passed: bool
    seconds: float
    output: str = ""


class ReviewStarted(NamedTuple):
    """A second agent begins to read the work."""

    task: str
    attempt: int
    agent: str
    log: str
    """Path of its output, relative to the state directory."""


class ReviewEnded(NamedTuple):
    task: str
    attempt: int
    agent: str
    verdict: str
    """`approved`, `findings` or `none`, which approves nothing."""
    reason: str
    """Its findings, or why there is no verdict."""
    seconds: float
    cost_usd: float | None = None
    tokens_in: int = 0
    tokens_out: int = 0


class CriterionReported(NamedTuple):
    """What the agent says about one acceptance criterion of its task."""

    task: str
    attempt: int
    criterion: str
    verdict: str
    """`met`, `not met` or `not said`."""
    note: str = ""


class AttemptFailed(NamedTuple):
    task: str
    attempt: int
    reason: str
    """One line for people."""
    feedback: str
    """What the next attempt's prompt will say."""
    title: str = ""
    likeness: str = ""
    """Equal for two attempts that failed alike and left the same files; "" when nobody looked."""


class TaskLanded(NamedTuple):
    task: str
    title: str
    commit: str
    attempt: int
    seconds: float


class TaskFailed(NamedTuple):
    task: str
    title: str
    reason: str


class TaskChanged(NamedTuple):
    """`retry`, `skip` or `reset` changed a task's fate by hand."""

    task: str
    action: str
    commit: str = ""


class BuildMerged(NamedTuple):
    """The run branch has landed in a branch of the user's."""

    branch: str
    into: str
    commit: str
    old: str
    """Where that branch was before."""
    how: str


class BuildDiscarded(NamedTuple):
    """Branch and working tree are about to go; attempts are counted anew from here."""

    branch: str
    commit: str
    """Where the branch was, "" when there was none."""
    rescue: str = ""
    """Where its commits are kept, "" when another branch has them."""


class Interrupted(NamedTuple):
    task: str
    attempt: int
    signal: str


class RunEnded(NamedTuple):
    exit_code: int
    reason: str
    settled: int
    total: int
    seconds: float
    cost_usd: float | None = None
    """Of all starts of this run together, as far as the agents told it."""
    tokens_in: int = 0
    tokens_out: int = 0


Event = (
    RunStarted
    | Recovered
    | Rescued
    | Noticed
    | AttemptStarted
    | AgentSession
    | AgentSpoke
    | AgentEnded
    | Waiting
    | Queued
    | GateFinished
    | ReviewStarted
    | ReviewEnded
    | CriterionReported
    | AttemptFailed
    | TaskLanded
    | TaskFailed
    | TaskChanged
    | BuildMerged
    | BuildDiscarded
    | Interrupted
    | RunEnded
)

STORED: dict[str, type[Event]] = {
    "run_started": RunStarted,
    "recovered": Recovered,
    "rescued": Rescued,
    "noticed": Noticed,
    "attempt_started": AttemptStarted,
    "agent_session": AgentSession,
    "agent_ended": AgentEnded,
    "waiting": Waiting,
    "queued": Queued,
    "gate_finished": GateFinished,
    "review_started": ReviewStarted,
    "review_ended": ReviewEnded,
    "criterion_reported": CriterionReported,
    "attempt_failed": AttemptFailed,
    "task_landed": TaskLanded,
    "task_failed": TaskFailed,
    "task_changed": TaskChanged,
    "build_merged": BuildMerged,
    "build_discarded": BuildDiscarded,
    "interrupted": Interrupted,
    "run_ended": RunEnded,
}


class Entry(NamedTuple):
    """One journalled event: where it stands and when it happened."""

    seq: int
    at: float
    """Seconds since the epoch."""
    run: str
    event: Event
