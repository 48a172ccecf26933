"""What a gate must do: look at a workspace and give a verdict with the words that explain it."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from holdfast.model.plan import Task
from holdfast.system.process import Stops


class Verdict(NamedTuple):
    gate: str
    passed: bool
    output: str
    """What the gate said, trimmed; becomes feedback when it did not pass."""
    seconds: float


class Inspection(NamedTuple):
    """What a gate looks at, and what it needs to run a program there."""

    workspace: str
    task: Task
    environment: Mapping[str, str]
    timeout: float
    stops: Stops
    lock: int


class Gate(Protocol):
    @property
    def name(self) -> str: ...

    def check(self, inspection: Inspection) -> Verdict: ...
