"""Where the work happens: a working tree, the branch its commits go to, and its corner of our state."""

import os
from typing import NamedTuple, Protocol

from holdfast.errors import Refused
from holdfast.system.git import Git

OPERATIONS = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}


MARK = "made"


class Wanted(NamedTuple):
    """What a run asks for."""

    branch: str = ""
    """Full ref name of the run branch; "" for the one that is checked out."""
    directory: str = ""
    """Where a working tree may be made."""
    candidates: str = ""
    """Below which ref a sealed commit of the run would be."""
    pins: tuple[str, ...] = ()
    """Which refs say where the branch was when what is in flight began; an agent may have deleted it."""


class Workspace(NamedTuple):
    git: Git
    branch: str
    """Full ref name: the run branch."""
    own: bool = False
    """A working tree of the run's own, not the user's checkout."""
    instead_of: str = ""
    """Where a tree of the run was said to be that is gone, or leads nowhere."""

    @property
    def root(self) -> str:
        return self.git.root

    @property
    def state(self) -> str:
        """Shared by all working trees of the repository."""
        return state_directory(self.git)

    @property
    def tree_name(self) -> str:
        same = os.path.realpath(self.git.git_dir) == os.path.realpath(self.git.common_dir)
        return "main" if same else os.path.basename(self.git.git_dir)

    @property
    def tree_state(self) -> str:
        """What belongs to this working tree alone."""
        return os.path.join(self.state, "trees", self.tree_name)

    @property
    def made_mark(self) -> str:
        """Says that a working tree of our own has got all its files."""
        return os.path.join(self.tree_state, MARK)

    @property
    def holder_file(self) -> str:
        return os.path.join(self.tree_state, "holder.json")

    def operation_under_way(self) -> str:
        """ "merge", "rebase"… when one has been started here and not finished, else ""."""
        for name, operation in OPERATIONS.items():
            if os.path.exists(os.path.join(self.git.git_dir, name)):
                return operation
        return ""


class Slot(NamedTuple):
    """One of several further trees of a run, each for a task of its own."""

    number: int
    branch: str
    """Full name of the branch it is on; "" for none."""
    tree: str
    """What git calls it, and where our state of it is."""


class Workspaces(Protocol):
    """A mode of working: how to get from a repository to a workspace."""

    @property
    def name(self) -> str: ...

    def find(self, git: Git, wanted: Wanted) -> Git | None:
        """The working tree if it is there already. Looks only, and without a call of git."""
        ...

    def open(self, git: Git, wanted: Wanted) -> Workspace:
        """Make what is missing. Raise Refused, with the way out, when there is no safe workspace."""
        ...

    def slots(self, git: Git, wanted: Wanted) -> tuple[Slot, ...]:
        """Those that are there, by number."""
        return ()

    def open_slot(self, git: Git, wanted: Wanted, number: int, start: str) -> Workspace:
        """Found, or made to begin at the commit `start`, on no branch."""
        raise Refused(
            f"tasks can be worked on at once only in trees of their own, not in {self.name} mode",
            fix="leave --jobs out, or run with --worktree",
        )


def state_directory(git: Git) -> str:
    return os.path.join(git.common_dir, "holdfast")


def no_commit_yet(branch: str) -> Refused:
    return Refused(
        f"branch {branch.removeprefix('refs/heads/')} has no commit yet: nothing to start from",
        fix="git add -A && git commit -m 'Start', then run again",
    )
