"""What a run works with: values decided before it starts, and the few effects it may use."""

import contextlib
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from hashlib import sha256
from typing import NamedTuple

from holdfast.agents.base import Agent
from holdfast.engine.flight import Others
from holdfast.engine.place import PlanPlace, run_id
from holdfast.engine.source import Attempts
from holdfast.errors import Interrupted
from holdfast.gates.base import Gate
from holdfast.model.events import Event
from holdfast.model.plan import Task
from holdfast.model.policy import Policy
from holdfast.model.spent import Spent
from holdfast.system.git import Git
from holdfast.system.process import Stops
from holdfast.system.redact import Secrets
from holdfast.workspaces.base import Slot, Workspace

HEADS = "refs/heads/"
TASK_BRANCHES = "holdfast-task/"


def seen_ref(run: str) -> str:
    return f"refs/holdfast/seen/{run}"


def tip_ref(run: str) -> str:
    """Where the run branch is while several tasks are worked on: nobody has it checked out then."""
    return f"refs/holdfast/tip/{run}"


def taken_ref(run: str) -> str:
    return f"refs/holdfast/taken/{run}"


class Tools(NamedTuple):
    agent: Agent
    gates: Callable[[Task], tuple[Gate, ...]]
    prompt_directory: str
    """Where the user's own prompt templates are, if any."""
    secrets: Secrets
    reviewer: Agent | None = None
    """Reads the work before it is committed."""


class Crew(NamedTuple):
    """How tasks are worked on beside each other."""

    jobs: int
    """How many at once."""
    open_tree: Callable[[int, str], Workspace]
    """The tree with this number, holding the files of a commit when it is new."""
    trees: Callable[[], tuple[Slot, ...]]
    """Those that are there."""
    checkout: Git
    """Where the user stands: files are copied from there."""


class Watch(NamedTuple):
    """What several agents at work beside each other must leave alone, as it was before the first of them
    began: what a later one finds may be another's doing."""

    protected: dict[str, bytes | None]
    others: Others
    alone: threading.Lock
    """To put something back is for one at a time."""


class Site(NamedTuple):
    """One run of one plan in one workspace, with the lock held."""

    workspace: Workspace
    plan: PlanPlace
    policy: Policy
    tools: Tools
    record: Callable[[Event], None]
    stops: Stops
    lock: int
    attempts: Attempts
    spent: Callable[[], Spent]
    """By the agents of this run, earlier starts of it included."""
    crew: "Crew | None" = None
    """Set where tasks may be worked on beside each other, each in a tree of its own."""
    target: str = ""
    """Full name of the branch a task's commit is for; "" where that is the branch of the workspace."""
    slot: str = ""
    """Which of several trees of the run this is; "" for the run's own."""
    watch: Watch | None = None
    """Set while agents of other tasks may be at work."""

    @property
    def git(self) -> Git:
        return self.workspace.git

    @property
    def branch(self) -> str:
        return self.workspace.branch

    @property
    def lands_on(self) -> str:
        """Full name of the run branch."""
        return self.target or self.branch

    @property
    def run(self) -> str:
        return run_id(self.plan.path, self.lands_on)

    @property
    def alone(self) -> AbstractContextManager[object]:
        return self.watch.alone if self.watch else contextlib.nullcontext()

    @property
    def beside(self) -> tuple[str, ...]:
        """How the names begin of branches that the run itself moves while a task is worked on in a slot; the
        blank ends a whole name."""
        if not self.slot:
            return ()
        named = self.policy.task_branch.partition("{task}")[0]
        return (f"{self.lands_on} ", f"{HEADS}{TASK_BRANCHES}", *([HEADS + named] if named else []))

    @property
    def _helper(self) -> str:
        """What tells the helper refs of one tree from those of another."""
        return f"{self.run}.{self.slot}" if self.slot else self.run

    @property
    def token_prefix(self) -> str:
        return token_prefix(self.git.git_dir)

    @property
    def base_ref(self) -> str:
        return f"refs/holdfast/base/{self._helper}"

    @property
    def seen_ref(self) -> str:
        """The plan as it was in the user's checkout when we last looked."""
        return seen_ref(self.run)

    @property
    def taken_ref(self) -> str:
        """The plan of the user's checkout that we last set out to take in."""
        return taken_ref(self.run)

    @property
    def candidate_prefix(self) -> str:
        return f"refs/holdfast/candidate/{self._helper}/"

    def candidate_ref(self, key: str) -> str:
        return self.candidate_prefix + key

    @property
    def private_index(self) -> str:
        return os.path.join(self.workspace.tree_state, "index")


def token_prefix(git_dir: str) -> str:
    """Every process of a run in this working tree carries a token that begins like this."""
    directory = os.path.realpath(git_dir).encode("utf-8", "surrogateescape")
    return f"{sha256(directory).hexdigest()[:16]}."


def stopped(site: Site, when: str) -> Interrupted:
    return Interrupted(
        f"stopped {when}; what is done is committed, partial work is in the tree",
        signal_number=site.stops.signal_number,
        fix="run the same command again: it goes on from here",
    )
