"""What a dialect must do: recognise a path, read bytes, write the bytes with one status changed.

Pure text to text. Whoever calls looks at the file system and hands in what it found.
"""

from typing import NamedTuple, Protocol

from holdfast.model.plan import Document, Status


class Found(NamedTuple):
    """What stands at a path the user named."""

    path: str
    """Absolute path, forward slashes."""
    names: tuple[str, ...] | None
    """The entries of a directory, None for a file."""
    data: bytes | None
    """The bytes of a file, None for a directory."""


class Recognised(NamedTuple):
    file: str
    """The file with the marks: a name inside the directory, or "" when the path is that file."""
    name: str
    """What people call this plan."""


class Dialect(Protocol):
    @property
    def name(self) -> str: ...

    def recognise(self, found: Found) -> Recognised | None:
        """Is this ours? A path that is ours but incomplete raises PlanError saying what is missing."""
        ...

    def read(self, data: bytes, path: str, name: str) -> Document:
        """Parse, or raise PlanError with line and fix. Never returns a plan without tasks."""
        ...

    def mark(self, document: Document, task_id: str, status: Status) -> Document:
        """The same document with one task's status changed and nothing else."""
        ...

    def companions(self, found: Found) -> tuple[str, ...]:
        """Names beside the plan file that must be committed before a run; often none."""
        ...
