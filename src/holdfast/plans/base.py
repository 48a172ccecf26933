"""What a dialect must do: recognise a path, read bytes, write the bytes with one status changed.

Pure text to text. Whoever calls looks at the file system and hands in what it found.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from holdfast.model.plan import Document, Status, Task

NOTHING: Mapping[str, bytes] = {}


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
    """The plan file: a name inside the directory, or "" when the path is that file."""
    name: str
    """What people call this plan."""


class Criterion(NamedTuple):
    text: str
    met: bool


class Attempted(NamedTuple):
    """One attempt of a task, as a tool's own history wants it."""

    number: int
    started: str
    """RFC 3339, UTC."""
    ended: str
    error: str = ""
    """Why it failed; "" for the one that held."""
    criteria: tuple[Criterion, ...] = ()
    """What the agent said of the acceptance criteria."""


class Completion(NamedTuple):
    """What is known of a task whose commit is about to be made, or was made and is read back from git."""

    task: str
    at: str
    """RFC 3339, UTC."""
    base: str
    """The commit it was built on."""
    branch: str
    """Short name of the branch it lands on."""
    baseline: str = ""
    """Where the run began: the parent of the first task's commit."""
    attempts: tuple[Attempted, ...] = ()
    """The last is the one that held. Lost with the journal, but for that one."""
    criteria: tuple[Criterion, ...] = ()
    commit: str = ""
    """Its own commit, "" while that is being made: a commit cannot name itself."""
    checked: bool = False
    """At least one gate ran, and all passed."""


class Claims(NamedTuple):
    """What a document says about git, to be compared with git before a run goes on."""

    branch: str = ""
    """Short name of the branch it says the work is on, "" for none."""
    commits: tuple[tuple[str, str], ...] = ()
    """Tasks it calls done, each with the commit it names."""


class GitFacts(NamedTuple):
    """What git says to such claims."""

    branch_exists: bool
    existing: frozenset[str] = frozenset()
    """Those of the commits that the repository has."""
    on_branch: frozenset[str] = frozenset()
    """Those that are reachable from the branch."""


class Dialect(Protocol):
    """Subclass it: what most dialects do not need has an answer here."""

    @property
    def name(self) -> str: ...

    @property
    def preset(self) -> Mapping[str, str | int | float | bool]:
        """Settings this dialect prefers, by their key in the configuration file."""
        return {}

    def recognise(self, found: Found) -> Recognised | None:
        """Is this ours? A path that is ours but incomplete raises PlanError saying what is missing."""
        ...

    def needs(self, data: bytes, path: str) -> tuple[str, ...]:
        """Other files that `read` wants to see, as paths from the repository's root like `path` itself."""
        return ()

    def keeps(self, path: str) -> tuple[str, ...]:
        """Files beside the plan that only Holdfast writes: those `mark`, `complete` and `finish` may change.

        They need not exist. `marks_in` is one of them, or the plan itself.
        """
        return ()

    def marks_in(self, path: str) -> str:
        """The file that says which tasks are done."""
        return path

    def read(self, data: bytes, path: str, name: str, beside: Mapping[str, bytes] = NOTHING) -> Document:
        """Parse, or raise PlanError with line and fix. Never returns a plan without tasks.

        `beside` holds the files of `needs` and `keeps` that exist; they become part of the document.
        """
        ...

    def mark(self, document: Document, task_id: str, status: Status) -> Document:
        """The same document with one task's status changed and nothing else; the way back gives the bytes."""
        ...

    def complete(self, document: Document, done: Completion) -> Document:
        """The task marked, and whatever else the tool's own files say about a task that is done.

        May be called again for a task that is done, when its commit has become known.
        """
        return self.mark(document, done.task, Status.COMPLETED)

    def finish(self, document: Document, landed: Mapping[str, Completion]) -> Document:
        """What is left to say once every task is settled; the same document when there is nothing.

        `landed` begins with the oldest commit.
        """
        return document

    def fail(self, document: Document, task_id: str, reason: str, blocked: tuple[str, ...]) -> Document:
        """A task that is given up, and the tasks that cannot start because of it, however far away."""
        return document

    def rolled_back(self, document: Document, reason: str) -> Document:
        """The branch is back where the run began, because of a failure that nothing may be built upon."""
        return document

    def git_claims(self, document: Document) -> Claims:
        """What to ask git before `git_problems` can be answered."""
        return Claims()

    def git_problems(self, document: Document, facts: GitFacts) -> tuple[str, ...]:
        """Everything in which git contradicts the document, a sentence each."""
        return _contradictions(self.git_claims(document), facts)

    def recover(self, document: Document) -> Document:
        """Statuses that a dead run of the tool left behind, put right before ours begins."""
        return document

    def message(self, task: Task) -> str:
        """The commit message when the agent suggests none."""
        return f"[holdfast] Complete task {task.id}: {task.title}"

    def trailers(self, task: Task) -> Mapping[str, str]:
        """Trailers of the tool's own, beside ours."""
        return {}

    def finish_message(self, document: Document) -> str:
        """Of the commit with what `finish` changed, where there is something."""
        return f"[holdfast] Complete plan: {document.plan.name}"

    def companions(self, found: Found) -> tuple[str, ...]:
        """Names beside the plan file that must be committed before a run; often none."""
        return ()


def _contradictions(claims: Claims, facts: GitFacts) -> tuple[str, ...]:
    found = []
    if claims.branch and not facts.branch_exists:
        found.append(f"the branch {claims.branch} does not exist")
    for task, commit in claims.commits:
        if commit not in facts.existing:
            found.append(f"{task} is done by commit {commit}, which does not exist")
        elif facts.branch_exists and commit not in facts.on_branch:
            found.append(f"{task} is done by commit {commit}, which is not on {claims.branch}")
    return tuple(found)
