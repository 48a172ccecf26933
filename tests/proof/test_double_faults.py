"""Recovery will be killed too: kill a run, then kill its recovery at each of its own points."""

from pathlib import Path

import pytest

from proof.conftest import Settle
from proof.fault_points import points_reached
from proof.scene import Scene, make_scene
from proof.sweep import KILLED, Verdict, sweep
from proof.sweeps import MODES, in_mode, prepare, why_not

PARTS = 10
SYSCALL_PARTS, STRIDE = 2, 4
"""Of how many system calls of a recovery one is struck; each mode and state begins at another."""
SAMPLE_OF_RUNS, SAMPLE_OF_POINTS = 6, 9
LEFT_BEHIND = ("agent.after@2", "candidate.after@2", "commit.after@2")
"""Partial work, a sealed commit, a commit that has landed and is not synced: what there is to recover."""


@pytest.mark.crash
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("mode", MODES)
def test_every_recovery_can_be_killed_at_each_of_its_fault_points(
    mode: str, part: int, arena: Path, settle: Settle
) -> None:
    verdicts: list[Verdict] = []
    for killed in _killed_runs(mode, arena, slice(part, None, PARTS)):
        recovery = prepare("fault points", killed)["kill the runner"]
        verdicts += sweep(killed, recovery.strike, recovery.points, killed.root.parent)
    settle("double faults", mode, verdicts)


def test_a_sample_of_recoveries_can_be_killed(arena: Path, settle: Settle) -> None:
    verdicts: list[Verdict] = []
    for number, killed in enumerate(_killed_runs("resume", arena, slice(2, None, SAMPLE_OF_RUNS))):
        recovery = prepare("fault points", killed)["kill the runner"]
        points = recovery.points[number::SAMPLE_OF_POINTS]
        verdicts += sweep(killed, recovery.strike, points, killed.root.parent)
    settle("double faults (sample)", "resume", verdicts)


@pytest.mark.crash
@pytest.mark.parametrize("part", range(SYSCALL_PARTS))
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("point", LEFT_BEHIND)
def test_every_recovery_can_be_killed_at_each_of_its_system_calls(
    point: str, mode: str, part: int, arena: Path, settle: Settle
) -> None:
    reason = why_not("system calls", arena)
    if reason:
        pytest.skip(reason)
    killed = _killed(_template(mode, arena), point, arena)
    recovery = prepare("system calls", killed)["everything"]
    first = 2 * LEFT_BEHIND.index(point) + list(MODES).index(mode)
    chosen = recovery.points[first % STRIDE :: STRIDE][part::SYSCALL_PARTS]
    verdicts = sweep(killed, recovery.strike, chosen, arena)
    settle("system calls of recovery", f"{point}, {mode}", verdicts)


def _template(mode: str, arena: Path) -> Scene:
    return in_mode(mode, make_scene(arena / "template"))


def _killed_runs(mode: str, arena: Path, part: slice) -> list[Scene]:
    """One scene for each fault point of the second task: the run was killed there."""
    template = _template(mode, arena)
    points = [p for p in points_reached(template.copy(arena / "counted")) if p.endswith("@2")]
    return [_killed(template, point, arena / point) for point in points[part]]


def _killed(template: Scene, point: str, arena: Path) -> Scene:
    scene = template.copy(arena / "killed")
    result = scene.run(HOLDFAST_FAULT=point)
    assert result.code == KILLED, result.out + result.err
    return scene
