"""What a run works with: values decided before it starts, and the few effects it may use."""

import os
from collections.abc import Callable
from hashlib import sha256
from typing import NamedTuple

from holdfast.agents.base import Agent
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
from holdfast.workspaces.base import Workspace


class Tools(NamedTuple):
    agent: Agent
    gates: Callable[[Task], tuple[Gate, ...]]
    prompt_directory: str
    """Where the user's own prompt templates are, if any."""
    secrets: Secrets
    reviewer: Agent | None = None
    """Reads the work before it is committed."""


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

    @property
    def git(self) -> Git:
        return self.workspace.git

    @property
    def branch(self) -> str:
        return self.workspace.branch

    @property
    def run(self) -> str:
        return run_id(self.plan.path, self.branch)

    @property
    def token_prefix(self) -> str:
        """Every process of a run in this working tree carries a token that begins like this."""
        directory = os.path.realpath(self.git.git_dir).encode("utf-8", "surrogateescape")
        return f"{sha256(directory).hexdigest()[:16]}."

    @property
    def base_ref(self) -> str:
        return f"refs/holdfast/base/{self.run}"

    @property
    def candidate_prefix(self) -> str:
        return f"refs/holdfast/candidate/{self.run}/"

    def candidate_ref(self, key: str) -> str:
        return self.candidate_prefix + key

    @property
    def private_index(self) -> str:
        return os.path.join(self.workspace.tree_state, "index")


def stopped(site: Site, when: str) -> Interrupted:
    return Interrupted(
        f"stopped {when}; what is done is committed, partial work is in the tree",
        signal_number=site.stops.signal_number,
        fix="run the same command again: it goes on from here",
    )
