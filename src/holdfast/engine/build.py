"""What a run in a tree of its own has built so far: its branch, its working tree, its commits."""

import os
from typing import NamedTuple

from holdfast.engine.message import MERGED, PLAN, TASK, read_trailers
from holdfast.engine.place import PlanPlace, run_id
from holdfast.engine.source import plan_at
from holdfast.model.plan import Plan
from holdfast.system.git import Git
from holdfast.workspaces.base import Workspace
from holdfast.workspaces.trees import Tree, linked_trees

HEADS = "refs/heads/"


class Build(NamedTuple):
    checkout: Git
    """Where the user stands."""
    place: PlanPlace
    branch: str
    """Full ref name of the run branch."""
    tip: str
    """"" where there is no such branch."""
    tree: Git | None
    """Where the run works, if that is there."""
    directory: str = ""
    """Where its working tree is made; those of tasks beside each other have a number added."""

    @property
    def run(self) -> str:
        return run_id(self.place.path, self.branch)

    @property
    def name(self) -> str:
        return short(self.branch)

    @property
    def seen(self) -> Git:
        return self.tree or self.checkout


class Commit(NamedTuple):
    id: str
    subject: str
    task: str
    """"" for one that is no task's: the plan's own, or somebody else's."""


def short(branch: str) -> str:
    return branch.removeprefix(HEADS)


def built_plan(build: Build) -> Plan | None:
    """As the tip of the run branch has it."""
    document = plan_at(build.seen, build.place, build.tip)
    return document.plan if document else None


def common_start(git: Git, one: str, other: str) -> str:
    """Where two lines of history parted; "" when they have nothing in common."""
    return git.text("merge-base", one, other, expect=(0, 1))


def is_merged(git: Git, tip: str, target: str) -> bool:
    """Whether the target has the tip, as an ancestor or, by the word of a trailer, squashed."""
    if git.is_ancestor(tip, target):
        return True
    start = common_start(git, target, tip)
    span = f"{start}..{target}" if start else target
    said = f"--grep={MERGED}: {git.resolve(tip)}"
    return bool(git.text("log", "-1", "--format=%H", "--fixed-strings", said, span, "--"))


def commits_between(git: Git, plan: str, start: str, tip: str) -> tuple[Commit, ...]:
    """Oldest first; all that lead to the tip where there is no start."""
    span = f"{start}..{tip}" if start else tip
    listing = git.run("log", "-z", "--reverse", "--topo-order", "--format=%H%n%B", span, "--")
    return tuple(_commit(entry, plan) for entry in filter(None, os.fsdecode(listing).split("\0")))


def trees_of(build: Build) -> tuple[Tree, ...]:
    """Every linked working tree of this run: on its branch, or in one of its places."""
    return tuple(tree for tree in linked_trees(build.checkout.common_dir) if _is_of(build, tree))


def _is_of(build: Build, tree: Tree) -> bool:
    if tree.branch == build.branch or not build.directory:
        return tree.branch == build.branch
    beginning, dot, number = tree.root.rpartition(".")
    if dot and number.isdecimal() and beginning == build.directory:
        return True
    return tree.root == build.directory and not tree.branch


def workspace_of(build: Build, tree: Tree) -> Workspace:
    return Workspace(tree.git(build.checkout.common_dir), tree.branch, own=True)


def _commit(entry: str, plan: str) -> Commit:
    commit, _, message = entry.partition("\n")
    trailers = read_trailers(message)
    task = trailers.get(TASK, "") if trailers.get(PLAN) == plan else ""
    return Commit(commit, message.partition("\n")[0], task)
