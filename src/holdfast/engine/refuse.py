"""Somebody has to decide: what was found, why it is not safe to go on, and what to type."""

import os

from holdfast.engine.flight import Flight
from holdfast.engine.observe import Sight
from holdfast.engine.place import PlanPlace
from holdfast.engine.site import Site
from holdfast.errors import HoldfastError, PlanError, Refused


def refuse_newer(site: Site, sight: Sight) -> None:
    assert sight.damaged is not None
    raise Refused(
        f"a newer Holdfast has a task in flight here: {sight.damaged.path} is of {sight.damaged.problem}",
        fix="run it with that version; nothing was changed",
    )


def refuse_others(site: Site, sight: Sight) -> None:
    flight = _in_flight(sight)
    branch = flight.branch.removeprefix("refs/heads/")
    raise Refused(
        f"task {flight.task} of {flight.plan} is in flight in this tree, on branch {branch}",
        fix=f"finish it first: git switch {branch} && holdfast run {flight.plan}\n"
        f"or let go of it (its work is kept under rescue): holdfast reset {flight.task} --plan {flight.plan}",
    )


def refuse_moved(site: Site, sight: Sight) -> None:
    flight = _in_flight(sight)
    raise Refused(
        f"task {flight.task} began at {flight.base[:12]}, and the branch has moved to {sight.tip[:12]}, "
        "which does not contain that commit; the tree holds changes that may belong to either",
        fix=f"commit or set aside what is yours, then: holdfast reset {flight.task}",
    )


def refuse_operation(site: Site, sight: Sight) -> None:
    operation = site.workspace.operation_under_way()
    raise Refused(
        f"a {operation} is under way in this tree",
        fix=f"finish it, or give it up with: git {operation} --abort",
    )


def refuse_several(site: Site, sight: Sight) -> None:
    names = ", ".join(task.id for task in sight.marked)
    raise Refused(
        f"uncommitted changes mark several tasks done ({names}): their work cannot be told apart",
        fix="commit each task's changes with its mark by hand, then run again",
    )


def refuse_dirty(site: Site, sight: Sight) -> None:
    dirt = sight.dirt
    groups = (
        ("staged", dirt.staged),
        ("changed", dirt.unstaged),
        ("untracked", dirt.untracked),
        ("conflicted", dirt.conflicted),
    )
    lines = [f"  {label}: {_some(paths)}" for label, paths in groups if paths]
    if site.workspace.own:
        raise Refused(
            f"{site.git.root} has changes that are not Holdfast's:\n" + "\n".join(lines),
            fix="nobody but the run works there. One of two ways out:\n"
            f"  keep them:      cd {site.git.root}, then git add -A && git commit, or git stash -u\n"
            f"  let go of them: git -C {site.git.root} reset --hard && git -C {site.git.root} clean -fd",
        )
    raise Refused(
        "the working tree has changes that are not Holdfast's:\n" + "\n".join(lines),
        fix="one of three ways out:\n"
        "  work elsewhere:    holdfast run --worktree (a tree and a branch of its own)\n"
        "  commit or stash:   git add -A && git commit, or git stash -u\n"
        "  run all the same:  holdfast run --allow-dirty (makes no commits at all)",
    )


def _some(paths: tuple[str, ...]) -> str:
    shown = ", ".join(paths[:8])
    return shown if len(paths) <= 8 else f"{shown} and {len(paths) - 8} more"


def not_for_agents(site: Site) -> Refused:
    path = site.plan.path
    return Refused(
        f"git ignores {path}, so an agent that commits itself could not mark its task in the commit",
        fix=f"run without `--commits agent`, or: git add -f {path} && git commit -m 'Add the plan'",
    )


def not_committed(site: Site) -> HoldfastError:
    if os.path.exists(os.path.join(site.git.root, site.plan.path)):
        return Refused(f"{site.plan.path} is not committed", fix=f"git add {site.plan.path} && git commit")
    return PlanError(site.plan.path, 0, "no such file at the tip of this branch")


def idea_not_committed(place: PlanPlace) -> Refused:
    return Refused(
        "the idea's files have changes that are not committed",
        fix=f"git add {' '.join(place.files)} && git commit, or run with --ignore-uncommitted-idea-changes",
    )


def _in_flight(sight: Sight) -> Flight:
    assert sight.flight is not None
    return sight.flight
