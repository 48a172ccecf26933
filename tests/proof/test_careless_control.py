"""Does the sweep bite? A runner as they are often written must fail it at most points."""

from collections.abc import Callable
from pathlib import Path

import pytest

from proof.scene import CARELESS, make_scene
from proof.sweep import Verdict, look, sweep
from proof.sweeps import prepare, why_not

FAILS_AT_LEAST = 0.6
SAMPLE = 15
SAMPLE_FAILS_AT_LEAST = 1 / 3
"""A dozen points tell that it bites, not how much: their share lies well apart from that of all."""


def test_the_careless_runner_is_fine_as_long_as_nothing_dies(arena: Path) -> None:
    scene = make_scene(arena / "scene", CARELESS)
    result = scene.run()
    assert result.code == 0, result.err
    assert look(scene) == []


@pytest.mark.crash
def test_the_careless_runner_fails_at_most_points(
    arena: Path, record_property: Callable[[str, object], None]
) -> None:
    verdicts = _swept(arena, 1)
    failed = sum(map(_broken, verdicts))
    record_property("control", ["the careless runner", failed, len(verdicts)])
    assert failed / len(verdicts) >= FAILS_AT_LEAST


def test_the_careless_runner_fails_at_many_points_of_a_sample(arena: Path) -> None:
    verdicts = _swept(arena, SAMPLE)
    assert sum(map(_broken, verdicts)) / len(verdicts) >= SAMPLE_FAILS_AT_LEAST


def _swept(arena: Path, stride: int) -> list[Verdict]:
    reason = why_not("system calls", arena)
    if reason:
        pytest.skip(reason)
    template = make_scene(arena / "template", CARELESS)
    strike, points = prepare("system calls", template)["everything"]
    return sweep(template, strike, points[::stride], arena)


def _broken(verdict: Verdict) -> bool:
    """Stack traces and odd exit codes are not held against it: it has lost, repeated or blocked something."""
    return any(not problem.startswith(("I11", "it said")) for problem in verdict.problems)
