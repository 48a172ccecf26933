"""Kill a run anywhere; the same command again ends with one commit per task, nothing lost, nothing twice."""

from pathlib import Path

import pytest

from proof.conftest import Settle
from proof.sweep import sweep
from proof.sweeps import MODES, SCENES, WAYS, in_mode, prepare, usual_scene, why_not

PARTS = 8
"""A whole sweep is split into this many tests, for the sake of the processes that share them."""
STRIDE = {"power cuts": 4, "failing operations": 2}
"""Of how many points the whole takes one, where each way begins at another and the points lie close."""
SAMPLE = {
    "fault points": 8,
    "lost records": 50,
    "git calls": 37,
    "system calls": 210,
    "power cuts": 460,
    "failing operations": 200,
    "full disk": 39,
}
"""Of how many points the short version takes one; each way and mode begins at another."""
ONE_MODE = ("failing operations", "full disk")
"""Sweeps that leave no partial work which one mode would treat otherwise than the other."""
NOT_IN_TREES = ("power cuts", "lost records", *ONE_MODE)
"""Only the repository itself is put on a disk of its own, not what lies beside it."""
COMBINATIONS = [
    (kind, way, mode)
    for kind in WAYS
    for way in WAYS[kind]
    for mode in MODES
    if mode == "resume" or kind not in ONE_MODE
]
OTHERS = ("new plan", "agent commits", "unruly agent")
ONE_SCENE = (*ONE_MODE, "lost records")
OTHER_SCENES = [(s, kind, "resume") for s in OTHERS for kind in WAYS if kind not in ONE_SCENE]
OTHER_SCENES += [("agent commits", kind, "rollback") for kind in WAYS if kind not in ONE_SCENE]
TREES = ("beside a checkout", "side by side")
OTHER_SCENES += [
    (s, kind, mode) for s in TREES for kind in WAYS if kind not in NOT_IN_TREES for mode in MODES
]
OTHER_SCENES += [("side by side", "random kills", "resume")]
WHOLE = [c for c in COMBINATIONS if c[0] != "system calls" or c[1] == "everything" or c[2] == "resume"]
"""What is kept of partial work does not depend on who was killed, so that half is left out."""


@pytest.mark.crash
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("kind", "way", "mode"), WHOLE)
def test_every_point_can_be_struck(
    kind: str, way: str, mode: str, part: int, arena: Path, settle: Settle
) -> None:
    _skip_where_impossible(kind, arena)
    template = in_mode(mode, SCENES[usual_scene(kind)](arena / "template"))
    strike, points = prepare(kind, template)[way]
    stride = STRIDE.get(kind, 1)
    first = WHOLE.index((kind, way, mode)) % stride
    settle(kind, f"{way}, {mode}", sweep(template, strike, points[first::stride][part::PARTS], arena))


@pytest.mark.crash
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("scene", "kind", "mode"), OTHER_SCENES)
def test_every_point_of_other_scenes_can_be_struck(
    scene: str, kind: str, mode: str, part: int, arena: Path, settle: Settle
) -> None:
    _skip_where_impossible(kind, arena)
    template = in_mode(mode, SCENES[scene](arena / "template"))
    way, (strike, points) = next(iter(prepare(kind, template).items()))
    points = points[:: STRIDE.get(kind, 1)][part::PARTS]
    settle(f"{kind}, {scene}", f"{way}, {mode}", sweep(template, strike, points, arena))


@pytest.mark.parametrize("kind", WAYS)
def test_a_sample_of_points_can_be_struck(kind: str, arena: Path, settle: Settle) -> None:
    _skip_where_impossible(kind, arena)
    template = SCENES[usual_scene(kind)](arena / "template")
    ways = prepare(kind, template)
    combinations = [(way, mode) for one, way, mode in COMBINATIONS if one == kind]
    verdicts = []
    for number, (way, mode) in enumerate(combinations):
        first = number * SAMPLE[kind] // len(combinations)
        points = ways[way].points[first :: SAMPLE[kind]]
        verdicts += sweep(in_mode(mode, template), ways[way].strike, points, arena / f"{number}")
    settle(kind, "a sample", verdicts)


@pytest.mark.parametrize("scene", (*OTHERS, *TREES))
def test_a_sample_of_points_of_other_scenes_can_be_struck(scene: str, arena: Path, settle: Settle) -> None:
    template = SCENES[scene](arena / "template")
    strike, points = prepare("fault points", template)["kill the runner"]
    settle(f"fault points, {scene}", "a sample", sweep(template, strike, points[3::12], arena))


def _skip_where_impossible(kind: str, arena: Path) -> None:
    if reason := why_not(kind, arena):
        pytest.skip(reason)
