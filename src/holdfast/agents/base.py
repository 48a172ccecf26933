"""What an agent module must do: an assignment becomes a program to start, its output becomes an outcome."""

from enum import StrEnum
from typing import NamedTuple, Protocol

from holdfast.model.plan import Task


class Assignment(NamedTuple):
    """One attempt at one task, as the agent will see it."""

    run: str
    plan: str
    task: Task
    attempt: int
    prompt: str
    prompt_file: str
    workspace: str


class Invocation(NamedTuple):
    argv: tuple[str, ...]
    environment: dict[str, str]
    """Added to (and winning over) the runner's own."""
    stdin: str
    """Path of a file to read from; "" means /dev/null."""


class OutcomeKind(StrEnum):
    FINISHED = "finished"
    """The agent claims success; the gates decide."""
    REFUSED = "refused"
    """The agent itself says it failed."""
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    SILENT = "silent"
    """No output for longer than the idle timeout."""
    INTERRUPTED = "interrupted"
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


class Listener(Protocol):
    """Reads one attempt's output as it comes. A line has no newline and is of bounded length."""

    @property
    def skims(self) -> bool:
        """Only the end of the output matters, so a flood may be handed on in part."""
        ...

    def heard(self, line: bytes) -> str | None:
        """A line of standard output; returns what to show on the screen, None for nothing."""
        ...

    def outcome(self, ending: Ending) -> Outcome: ...


class Agent(Protocol):
    @property
    def name(self) -> str: ...

    def require(self) -> None:
        """Raise AgentUnavailable, with what to type, when it cannot be used here."""
        ...

    def invocation(self, assignment: Assignment) -> Invocation: ...

    def listener(self) -> Listener: ...
