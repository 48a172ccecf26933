"""Kill a run anywhere; the same command again ends with one commit per task, nothing lost, nothing twice."""

from pathlib import Path

import pytest

from proof.conftest import Settle
from proof.sweep import sweep
from proof.sweeps import MODES, SCENES, WAYS, in_mode, prepare
from proof.system_calls import why_not

PARTS = 8
"""A whole sweep is split into this many tests, for the sake of the processes that share them."""
SAMPLE = {"fault points": 8, "git calls": 31, "system calls": 210}
"""Of how many points the short version takes one; each way and mode begins at another."""
COMBINATIONS = [(kind, way, mode) for kind in WAYS for way in WAYS[kind] for mode in MODES]
OTHERS = [scene for scene in SCENES if scene != "plain"]
OTHER_SCENES = [(scene, kind, "resume") for scene in OTHERS for kind in WAYS]
OTHER_SCENES += [("agent commits", kind, "rollback") for kind in WAYS]
WHOLE = [c for c in COMBINATIONS if c[0] != "system calls" or c[1] == "everything" or c[2] == "resume"]
"""What is kept of partial work does not depend on who was killed, so that half is left out."""


@pytest.mark.crash
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("kind", "way", "mode"), WHOLE)
def test_every_point_can_be_struck(
    kind: str, way: str, mode: str, part: int, arena: Path, settle: Settle
) -> None:
    _skip_where_impossible(kind, arena)
    template = in_mode(mode, SCENES["plain"](arena / "template"))
    strike, points = prepare(kind, template)[way]
    settle(kind, f"{way}, {mode}", sweep(template, strike, points[part::PARTS], arena))


@pytest.mark.crash
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("scene", "kind", "mode"), OTHER_SCENES)
def test_every_point_of_other_scenes_can_be_struck(
    scene: str, kind: str, mode: str, part: int, arena: Path, settle: Settle
) -> None:
    _skip_where_impossible(kind, arena)
    template = in_mode(mode, SCENES[scene](arena / "template"))
    way, (strike, points) = next(iter(prepare(kind, template).items()))
    settle(f"{kind}, {scene}", f"{way}, {mode}", sweep(template, strike, points[part::PARTS], arena))


@pytest.mark.parametrize("kind", WAYS)
def test_a_sample_of_points_can_be_struck(kind: str, arena: Path, settle: Settle) -> None:
    _skip_where_impossible(kind, arena)
    template = SCENES["plain"](arena / "template")
    ways = prepare(kind, template)
    combinations = [(way, mode) for way in ways for mode in MODES]
    verdicts = []
    for number, (way, mode) in enumerate(combinations):
        first = number * SAMPLE[kind] // len(combinations)
        points = ways[way].points[first :: SAMPLE[kind]]
        verdicts += sweep(in_mode(mode, template), ways[way].strike, points, arena / f"{number}")
    settle(kind, "a sample", verdicts)


@pytest.mark.parametrize("scene", OTHERS)
def test_a_sample_of_points_of_other_scenes_can_be_struck(scene: str, arena: Path, settle: Settle) -> None:
    template = SCENES[scene](arena / "template")
    strike, points = prepare("fault points", template)["kill the runner"]
    settle(f"fault points, {scene}", "a sample", sweep(template, strike, points[3::12], arena))


def _skip_where_impossible(kind: str, arena: Path) -> None:
    reason = why_not(arena) if kind == "system calls" else ""
    if reason:
        pytest.skip(reason)
