"""Where a plan's run lives: in the checkout the user stands in, or in a working tree of its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from holdfast.engine.flight import Flight, read_flight
from holdfast.workspaces.base import Wanted, Workspace

if TYPE_CHECKING:  # `status` asks where to look, and has no time for more
    from holdfast.engine.place import PlanPlace
    from holdfast.model.events import RunStarted
    from holdfast.model.policy import Mode, Policy
    from holdfast.system.git import Git


class Ground(NamedTuple):
    checkout: Git
    """Where the user stands."""
    mode: Mode
    wanted: Wanted
    tree: Git | None
    """Where the run works, if that is there already."""

    @property
    def seen(self) -> Git:
        """Where to look for what was done so far."""
        return self.tree or self.checkout

    @property
    def branch(self) -> str:
        """Short name of the branch that gets the commits."""
        branch = self.wanted.branch or self.checkout.current_branch() or "detached HEAD"
        return branch.removeprefix("refs/heads/")


def ground(git: Git, place: PlanPlace, policy: Policy) -> Ground:
    from holdfast.registry import workspaces

    wanted = _wanted(git, place, policy)
    return Ground(git, policy.mode, wanted, workspaces(policy.mode).find(git, wanted))


def ground_of_last_run(git: Git, place: PlanPlace, policy: Policy) -> Ground:
    """Where the plan was run last, whatever flags that was done with: the journal tells, and a task in flight
    right here was begun in place. Without either, where a run would be made now."""
    from holdfast.model.policy import Mode

    last = _last_start(git, place)
    if _in_flight_here(git, place) or (last and last.mode == Mode.TRUNK):
        return Ground(git, Mode.TRUNK, Wanted(), git)
    if last:
        policy = policy._replace(mode=Mode.WORKTREE, branch=last.branch)
    return ground(git, place, policy)


def _in_flight_here(git: Git, place: PlanPlace) -> bool:
    flight = read_flight(Workspace(git, "").tree_state)
    here = isinstance(flight, Flight) and flight.plan == place.path
    return here and git.git_dir == git.common_dir


def _left_by_agent(git: Git, place: PlanPlace) -> str:
    """The branch of the task in flight here, if HEAD is on it still or was moved by the agent. Otherwise "":
    a branch that the user has switched to is the one they mean."""
    flight = read_flight(Workspace(git, "").tree_state)
    if not isinstance(flight, Flight) or flight.by_hand or flight.plan != place.path:
        return ""
    if git.current_branch() == flight.branch:  # which the agent may have deleted
        return flight.branch
    from holdfast.engine.observe import AGENT_ACTION
    from holdfast.system import reflog

    last = next(reflog.moves(git, "HEAD"), None)
    return flight.branch if last and last.action.startswith(AGENT_ACTION) else ""


def _led_away(git: Git, branch: str) -> str:
    """The run's tree where its HEAD is elsewhere: a task of the branch is in flight there."""
    from holdfast.workspaces.trees import linked_trees, tree_on

    if tree_on(git.common_dir, branch):
        return ""
    for tree in linked_trees(git.common_dir):
        flight = read_flight(Workspace(tree.git(git.common_dir), "").tree_state)
        if isinstance(flight, Flight) and flight.branch == branch and tree.there:
            return tree.root
    return ""


def _last_start(git: Git, place: PlanPlace) -> RunStarted | None:
    from holdfast.cli.place import journal_path
    from holdfast.journal import read_only
    from holdfast.model.events import RunStarted

    starts = (entry.event for entry in read_only(journal_path(git)).entries(kinds=("run_started",)))
    found = [start for start in starts if isinstance(start, RunStarted) and start.plan == place.path]
    return found[-1] if found else None


def _wanted(git: Git, place: PlanPlace, policy: Policy) -> Wanted:
    if policy.mode == "trunk":
        return Wanted(_left_by_agent(git, place))
    from holdfast.engine.place import run_id
    from holdfast.engine.site import tip_ref
    from holdfast.workspaces.naming import wanted_tree

    wanted = wanted_tree(os.path.realpath(git.common_dir), place.name, policy.branch, policy.worktrees)
    run = run_id(place.path, wanted.branch)
    return wanted._replace(
        directory=_led_away(git, wanted.branch) or wanted.directory,
        candidates=f"refs/holdfast/candidate/{run}/",
        pins=(f"refs/holdfast/base/{run}", tip_ref(run)),
    )
