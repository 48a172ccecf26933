"""What a plan is, whatever dialect it was written in. Frozen values, no I/O."""

from enum import StrEnum
from typing import NamedTuple


class Status(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    BLOCKED = "blocked"
    SKIPPED = "skipped"

    @property
    def settled(self) -> bool:
        """Nothing is left to do for the task."""
        return self in (Status.COMPLETED, Status.SKIPPED)


class Step(NamedTuple):
    text: str
    done: bool
    line: int
    at: int = -1
    """Byte offset of the status in the plan file, for dialects that mark in place."""


class Task(NamedTuple):
    id: str
    title: str
    status: Status
    line: int
    """1-based line of the task in the plan file."""
    at: int = -1
    """Byte offset of its box, or of its JSON object, for dialects that mark in place."""
    body: str = ""
    """The task as written, without its first line."""
    section: str = ""
    depends_on: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    acceptance: tuple[str, ...] = ()
    verify: tuple[str, ...] = ()
    """Commands the plan itself gives to check this task."""
    evidence: tuple[str, ...] = ()
    """Commands the plan mentions as evidence; gates only when the user asks for it."""
    files: tuple[str, ...] = ()
    critical: bool = False
    parallel: bool = False

    @property
    def key(self) -> str:
        return task_key(self.title)


class Plan(NamedTuple):
    name: str
    dialect: str
    path: str
    """The file that holds the marks, relative to the repository's root, with forward slashes."""
    tasks: tuple[Task, ...]
    title: str = ""
    preamble: str = ""
    """What holds for every task, as the plan says it; for the prompt."""
    rollback_on_failure: bool = False
    """A critical task that fails takes back what the plan's other tasks did."""

    def task(self, task_id: str) -> Task | None:
        return next((t for t in self.tasks if t.id == task_id), None)

    def count(self, *statuses: Status) -> int:
        return sum(t.status in statuses for t in self.tasks)

    def with_status(self, task_id: str, status: Status) -> "Plan":
        tasks = tuple(t._replace(status=status) if t.id == task_id else t for t in self.tasks)
        return self._replace(tasks=tasks)


class Document(NamedTuple):
    """The bytes of a plan file and what they say; the two always belong together."""

    data: bytes
    plan: Plan
    beside: tuple[tuple[str, bytes], ...] = ()
    """Other files the plan is made of: path from the repository's root, and bytes; only those that exist."""
    ignored: tuple[str, ...] = ()
    """Paths of those files that git ignores: read from the tree, written after the commit."""

    @property
    def files(self) -> dict[str, bytes]:
        return {self.plan.path: self.data, **dict(self.beside)}


def task_key(title: str) -> str:
    """A stable name for a task that survives renumbering: a hash of the title's words."""
    import hashlib  # loading OpenSSL costs more than the whole of `status`

    words = " ".join(title.casefold().split())
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:12]
