"""What an agent module must do: an assignment becomes a program to start, its output becomes an outcome."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from holdfast.agents.activity import Activity
from holdfast.agents.tags import Reported
from holdfast.model.plan import Task
from holdfast.model.spent import NOTHING, Spent


class Options(NamedTuple):
    """What a user chose for the agent; each module takes what it has a use for."""

    environment: Mapping[str, str]
    """All of what it will be started with."""
    directory: str = "."
    """Where it will be started: the workspace, once known."""
    command: str = ""
    script: str = ""
    model: str = ""
    """"" leaves the choice to the agent's own configuration."""
    permission_mode: str = ""
    """In the agent's own words; "" is the module's safe default."""
    arguments: tuple[str, ...] = ()
    max_turns: int = 0
    """How often the model may be asked in one attempt, 0 for as often as it likes."""
    interactive: bool = False
    """It gets the user's terminal, with its own interface."""
    report_tool: bool = True
    """Whether an agent that can be given tools gets ours, to report its result with."""


class Assignment(NamedTuple):
    """One attempt at one task, as the agent will see it."""

    run: str
    plan: str
    task: Task
    attempt: int
    prompt: str
    prompt_file: str
    workspace: str
    session: str = ""
    """A UUID for the conversation, for agents that let us choose its name."""
    resume: str = ""
    """The agent's name of a conversation to go on with instead of beginning one."""


class Invocation(NamedTuple):
    argv: tuple[str, ...]
    environment: dict[str, str]
    """Added to (and winning over) the runner's own."""
    stdin: str
    """Path of a file to read from; "" means /dev/null."""
    without: tuple[str, ...] = ()
    """Variables of the runner's own that it must not see."""
    session: str = ""
    """The name of the conversation, where it is known before the start."""
    terminal: bool = False
    """It has an interface of its own and gets the user's terminal; nothing of it can be heard."""
    report_file: str = ""
    """Where its report will be, should it make one while it has the terminal."""


class OutcomeKind(StrEnum):
    FINISHED = "finished"
    """The agent claims success; the gates decide."""
    REFUSED = "refused"
    """The agent itself says it failed."""
    FAILED = "failed"
    LIMITED = "limited"
    """The account has used up what it may use for now; `resets_at` says until when, if it is known."""
    UNAUTHORISED = "unauthorised"
    """Not logged in, or the key is not accepted: no attempt can succeed before a person acts."""
    OUT_OF_BUDGET = "out_of_budget"
    OUT_OF_TURNS = "out_of_turns"
    NO_CONVERSATION = "no_conversation"
    """The conversation it was to go on with is not there; a new one can be begun."""
    API_ERROR = "api_error"
    """The service failed, not the work: the same again may well succeed."""
    TIMED_OUT = "timed_out"
    SILENT = "silent"
    """No output for longer than the idle timeout."""
    INTERRUPTED = "interrupted"
    """By us when the run was asked to stop, otherwise by somebody else."""
    CRASHED = "crashed"


class Ending(NamedTuple):
    """How the agent's process ended, as the supervisor saw it."""

    exit_code: int | None
    """None when a signal ended it."""
    signal: int | None
    cause: OutcomeKind | None
    """Set when we ended it ourselves: TIMED_OUT, SILENT, INTERRUPTED."""
    leftovers: int
    """Processes of the agent's tree that were still alive when it ended and had to be killed."""
    stderr: str = ""
    """The end of its standard error."""


class Outcome(NamedTuple):
    kind: OutcomeKind
    reason: str
    """One line for people; "" when finished."""
    message: str
    """The agent's suggested commit message, "" when it gave none."""
    success_note: str
    """The text of its success tag, "" when it gave none."""
    tail: str
    """The end of its output, for feedback."""
    feedback: str = ""
    """What kept it from working, for the next attempt, even if this one finished: tools that were denied."""
    fix: str = ""
    """What a person can type about it, for UNAUTHORISED."""
    resets_at: float | None = None
    """Seconds since the epoch, for LIMITED; None when nobody said."""
    cost_usd: float | None = None
    """Of this call alone; None when the agent does not tell."""
    tokens_in: int = 0
    """Everything that was read, from a cache or not."""
    tokens_out: int = 0
    session: str = ""
    criteria: tuple[Reported, ...] = ()
    """What it says about the acceptance criteria."""
    refusal: str = ""
    """The whole text of its claim that it failed, "" when it made none."""


class Listener(Protocol):
    """Reads one attempt's output as it comes. A line has no newline and is of bounded length."""

    @property
    def plain(self) -> bool:
        """Its lines are for people as they are, and only the last of them matter: they are kept as they are,
        and a flood may be handed on in part. Otherwise every line counts, whatever its length."""
        ...

    def heard(self, line: bytes) -> Sequence[Activity]:
        """A line of standard output."""
        ...

    def outcome(self, ending: Ending) -> Outcome: ...


class Agent(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def report_tool(self) -> str:
        """The tool with which it is asked to report its result, "" when it has none and tags have to do."""
        ...

    def require(self) -> None:
        """Raise AgentUnavailable, with what to type, when it cannot be used here."""
        ...

    def invocation(self, assignment: Assignment) -> Invocation: ...

    def listener(self, before: Spent = NOTHING) -> Listener:
        """`before` is what the conversation had used when it was last heard of, for one that is resumed."""
        ...
