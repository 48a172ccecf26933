"""Does the sweep bite? A runner as they are often written must fail it at most points."""

from pathlib import Path

import pytest

from proof.scene import CARELESS, make_scene
from proof.sweep import look, sweep
from proof.sweeps import prepare
from proof.system_calls import why_not

STRIDE = 7


def test_the_careless_runner_is_fine_as_long_as_nothing_dies(arena: Path) -> None:
    scene = make_scene(arena / "scene", CARELESS)
    result = scene.run()
    assert result.code == 0, result.err
    assert look(scene) == []


@pytest.mark.crash
def test_the_careless_runner_fails_at_most_points(arena: Path) -> None:
    assert _share_of_failures(arena, 1) >= 0.6


def test_the_careless_runner_fails_in_a_sample_too(arena: Path) -> None:
    """With a wider margin: a sample may hit more of the points at which nothing much is under way."""
    assert _share_of_failures(arena, STRIDE) >= 0.4


def _share_of_failures(arena: Path, stride: int) -> float:
    reason = why_not(arena)
    if reason:
        pytest.skip(reason)
    template = make_scene(arena / "template", CARELESS)
    strike, points = prepare("system calls", template)["everything"]
    verdicts = sweep(template, strike, points[::stride], arena)
    return sum(bool(v.problems) for v in verdicts) / len(verdicts)
