"""What a gate must do: look at a workspace and give a verdict with the words that explain it."""

from typing import NamedTuple, Protocol

from holdfast.model.plan import Task


class Verdict(NamedTuple):
    gate: str
    passed: bool
    output: str
    """What the gate said, trimmed; becomes feedback when it did not pass."""
    seconds: float


class Inspection(NamedTuple):
    """What a gate looks at."""

    workspace: str
    task: Task
    token: str
    """Marks every process of this attempt in its environment."""
    timeout: float


class Gate(Protocol):
    @property
    def name(self) -> str: ...

    def check(self, inspection: Inspection) -> Verdict: ...
