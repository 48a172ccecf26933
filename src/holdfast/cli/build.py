"""What `review`, `merge` and `discard` begin with: the build of the plan that the user means."""

import contextlib
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from holdfast.cli.ground import ground_of_last_run
from holdfast.cli.place import journal_path, plan_place, repository
from holdfast.cli.signals import stop_requests
from holdfast.config import Config, load_config
from holdfast.engine.attempts_made import attempts_made
from holdfast.engine.build import Build, short
from holdfast.engine.place import PlanPlace
from holdfast.engine.source import Attempts
from holdfast.journal import Journal
from holdfast.model.events import Event, Noticed, Recovered, Rescued
from holdfast.model.policy import Mode
from holdfast.plans.base import Attempted
from holdfast.system import clock
from holdfast.system.git import Git
from holdfast.system.lock import TreeLock
from holdfast.system.process import Stops, become_subreaper
from holdfast.views.words import sentence
from holdfast.workspaces.base import Workspace
from holdfast.workspaces.naming import home_of_trees

TOLD = (Noticed, Recovered, Rescued)
"""What is said as it happens; the rest a command says itself."""


class Found(NamedTuple):
    build: Build
    """Its branch is "" where the plan is run in place: there is nothing to merge or to discard."""
    config: Config

    @property
    def in_place(self) -> bool:
        return not self.build.branch

    @property
    def home(self) -> str:
        """Where working trees of runs are made."""
        return self.config.policy.worktrees or home_of_trees(self.build.checkout.common_dir)

    @property
    def named(self) -> str:
        """The plan as one would type it here."""
        build = self.build
        return shlex.quote(os.path.relpath(os.path.join(build.checkout.root, build.place.path)))


class Hands(NamedTuple):
    """What a command that changes something works with."""

    record: Callable[[Event], None]
    attempts: Attempts
    stops: Stops
    lock: int


def find_build(wanted: str | None) -> Found:
    git = repository()
    place = plan_place(git, wanted)
    config = load_config(git.root, os.environ, {}, place.dialect.preset)
    return build_of(git, place, config)


def build_of(git: Git, place: PlanPlace, config: Config) -> Found:
    where = ground_of_last_run(git, place, config.policy)
    branch = "" if where.mode == Mode.TRUNK else where.wanted.branch
    tip = git.resolve(branch) if branch else None
    tree = where.tree if branch else None
    return Found(Build(git, place, branch, tip or "", tree, where.wanted.directory), config)


def in_place_words(found: Found) -> str:
    branch = short(found.build.checkout.current_branch() or "detached HEAD")
    return f"{found.build.place.path} was run in this checkout: its commits are on {branch} already"


@contextlib.contextmanager
def hands_on(build: Build, trees: Sequence[Git]) -> Iterator[Hands]:
    """With the locks of these working trees: no run is under way in any of them (else LockHeld)."""
    become_subreaper()
    with contextlib.ExitStack() as stack:
        stops = stack.enter_context(stop_requests())
        by_directory = {os.path.realpath(git.git_dir): git for git in trees}
        locks = [
            stack.enter_context(TreeLock(git.git_dir, Workspace(git, "").holder_file))
            for _, git in sorted(by_directory.items())
        ]
        journal = stack.enter_context(Journal.open(journal_path(build.checkout), now=clock.now))

        def record(event: Event) -> None:
            journal.record(build.run, event)
            if isinstance(event, TOLD):
                print(sentence(event), flush=True)

        def attempts(task: str) -> tuple[Attempted, ...]:
            return attempts_made(journal.entries(run=build.run, task=task))

        yield Hands(record, attempts, stops, locks[0].descriptor if locks else -1)
