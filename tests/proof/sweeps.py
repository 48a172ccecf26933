"""Every sweep there is, by name: how it strikes, and which points it has in a given scene."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from proof import (
    disk,
    failures,
    fault_points,
    full_disk,
    git_calls,
    power_cuts,
    random_kills,
    system_calls,
)
from proof.scene import (
    ROLLBACK,
    RUN_EDITING,
    RUN_UNRULY,
    Scene,
    make_scene,
    make_scene_beside_a_checkout,
    make_scene_side_by_side,
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
    "beside a checkout": make_scene_beside_a_checkout,
    "side by side": make_scene_side_by_side,
    "editing agent": lambda root: make_scene(root, RUN_EDITING),
}


class Way(NamedTuple):
    """One way of striking, and the points where it makes sense."""

    strike: Strike
    points: list[int]


def prepare(kind: str, template: Scene) -> dict[str, Way]:
    """By name. The points are those of one run to its end, which no mode of recovery changes."""
    counted = template.copy(template.root.with_name("counted"))
    ways = PREPARATIONS[kind](counted)
    counted.discard()
    return ways


def in_mode(mode: str, scene: Scene) -> Scene:
    return scene._replace(command=(*scene.command, *MODES[mode]))


def _fault_points(counted: Scene) -> dict[str, Way]:
    reached = fault_points.points_reached(counted)
    return {"kill the runner": Way(fault_points.strike_at(reached), list(range(len(reached))))}


def _lost_records(counted: Scene) -> dict[str, Way]:
    reached = fault_points.points_reached(counted)
    points = list(range(len(reached)))
    return {way: Way(fault_points.lose_at(reached, way), points) for way in fault_points.LOSSES}


def _git_calls(counted: Scene) -> dict[str, Way]:
    points = list(range(1, git_calls.count_calls(counted) + 1))
    return {way: Way(partial(git_calls.strike_call, way), points) for way in git_calls.WAYS}


def _system_calls(counted: Scene) -> dict[str, Way]:
    """The runner's own calls are struck once: killing all, the caller or the runner is the same there."""
    outcome = system_calls.count(counted)
    points = {way: list(outcome.by_others) for way in system_calls.VICTIMS}
    points["everything"] = list(range(1, outcome.points + 1))
    return {way: Way(partial(system_calls.strike_call, way), points[way]) for way in points}


def _power_cuts(counted: Scene) -> dict[str, Way]:
    points = list(range(1, system_calls.count(counted).points + 1))
    return {way: Way(partial(power_cuts.strike_power, way), points) for way in power_cuts.WAYS}


def _failures(counted: Scene) -> dict[str, Way]:
    """Every error has points of its own with everybody it can befall: one run each to count them."""
    points: dict[tuple[str, str], list[int]] = {}
    for error, whose, _ in failures.WAYS.values():
        if (error, whose) not in points:
            scene = counted.copy(counted.root.with_name(f"counted-{error}-{whose}"))
            points[error, whose] = failures.points(scene, error, whose)
            scene.discard()
    return {
        way: Way(partial(failures.strike_with, way), points[failure.error, failure.whose])
        for way, failure in failures.WAYS.items()
    }


def _full_disk(counted: Scene) -> dict[str, Way]:
    points = full_disk.points(counted)
    return {way: Way(partial(full_disk.strike_with, way), points) for way in full_disk.WAYS}


def _random_kills(counted: Scene) -> dict[str, Way]:
    seconds = random_kills.seconds_of(counted)
    strike = partial(random_kills.strike_at_random, seconds)
    return {"at random": Way(strike, list(range(1, random_kills.SCHEDULES + 1)))}


PREPARATIONS: dict[str, Callable[[Scene], dict[str, Way]]] = {
    "fault points": _fault_points,
    "lost records": _lost_records,
    "git calls": _git_calls,
    "system calls": _system_calls,
    "power cuts": _power_cuts,
    "failing operations": _failures,
    "full disk": _full_disk,
    "random kills": _random_kills,
}
WAYS = {
    "fault points": ("kill the runner",),
    "lost records": tuple(fault_points.LOSSES),
    "git calls": tuple(git_calls.WAYS),
    "system calls": system_calls.VICTIMS,
    "power cuts": tuple(power_cuts.WAYS),
    "failing operations": tuple(failures.WAYS),
    "full disk": full_disk.WAYS,
    "random kills": ("at random",),
}


def why_not(kind: str, anywhere: Path) -> str:
    """What this machine lacks for such a sweep; "" when nothing."""
    reason = ""
    if kind in ("system calls", "power cuts", "failing operations"):
        reason = system_calls.why_not(anywhere)
    if kind in ("power cuts", "full disk"):
        reason = reason or disk.why_not()
    return reason
