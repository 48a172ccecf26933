"""Every sweep there is, by name: how it strikes, and which points it has in a given scene."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from proof import fault_points, git_calls, system_calls
from proof.scene import (
    ROLLBACK,
    RUN_UNRULY,
    Scene,
    make_scene,
    make_scene_with_agents_commits,
    make_scene_with_new_plan,
)
from proof.sweep import Strike

MODES = {"resume": (), "rollback": ROLLBACK}
SCENES: dict[str, Callable[[Path], Scene]] = {
    "plain": make_scene,
    "new plan": make_scene_with_new_plan,
    "agent commits": make_scene_with_agents_commits,
    "unruly agent": lambda root: make_scene(root, RUN_UNRULY),
}


class Way(NamedTuple):
    """One way of striking, and the points where it makes sense."""

    strike: Strike
    points: list[int]


def prepare(kind: str, template: Scene) -> dict[str, Way]:
    """By name. The points are those of one run to its end, which no mode of recovery changes."""
    counted = template.copy(template.root.with_name("counted"))
    ways = PREPARATIONS[kind](counted)
    shutil.rmtree(counted.root)
    return ways


def in_mode(mode: str, scene: Scene) -> Scene:
    return scene._replace(command=(*scene.command, *MODES[mode]))


def _fault_points(counted: Scene) -> dict[str, Way]:
    reached = fault_points.points_reached(counted)
    return {"kill the runner": Way(fault_points.strike_at(reached), list(range(len(reached))))}


def _git_calls(counted: Scene) -> dict[str, Way]:
    points = list(range(1, git_calls.count_calls(counted) + 1))
    return {way: Way(partial(git_calls.strike_call, way), points) for way in git_calls.WAYS}


def _system_calls(counted: Scene) -> dict[str, Way]:
    """The runner's own calls are struck once: killing all, the caller or the runner is the same there."""
    outcome = system_calls.count(counted)
    points = {way: list(outcome.by_others) for way in system_calls.VICTIMS}
    points["everything"] = list(range(1, outcome.points + 1))
    return {way: Way(partial(system_calls.strike_call, way), points[way]) for way in points}


PREPARATIONS: dict[str, Callable[[Scene], dict[str, Way]]] = {
    "fault points": _fault_points,
    "git calls": _git_calls,
    "system calls": _system_calls,
}
WAYS = {
    "fault points": ("kill the runner",),
    "git calls": tuple(git_calls.WAYS),
    "system calls": system_calls.VICTIMS,
}
