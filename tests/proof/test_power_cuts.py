"""What is special about power cuts: the sweep bites, recovery can be cut too, and no disk is left behind."""

import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from proof import disk
from proof.conftest import Settle
from proof.power_cuts import strike_power, strike_power_without_flushes
from proof.scene import MIDWAY, Scene
from proof.sweep import KILLED, Verdict, judge, sweep
from proof.sweeps import SCENES, in_mode, prepare, why_not

NAMES_FIRST = "names ahead of contents"
PARTS = 8
CONTROL_STRIDE, CONTROL_SAMPLE = 8, 100
LEFT_BEHIND = {
    "partial work": ("editing agent", "agent.after@1"),
    "a sealed commit": ("plain", "candidate.after@2"),
    "a landed commit": ("plain", "commit.after@2"),
}
"""What a killed run left: the agent's scene, and the fault point it was killed at."""
RECOVERY_STRIDE, RECOVERY_SAMPLE = 6, 240


@pytest.fixture(autouse=True)
def _skip_where_impossible(arena: Path) -> None:
    if reason := why_not("power cuts", arena):
        pytest.skip(reason)


@pytest.mark.crash
def test_without_flushes_most_power_cuts_break_a_promise(
    arena: Path, record_property: Callable[[str, object], None]
) -> None:
    verdicts = list(_without_flushes(arena, CONTROL_STRIDE))
    failed = sum(bool(v.problems) for v in verdicts)
    record_property("control", ["a run whose flushes are not carried out", failed, len(verdicts)])
    assert failed / len(verdicts) > 1 / 2


def test_without_flushes_some_power_cuts_of_a_sample_break_a_promise(arena: Path) -> None:
    assert any(v.problems for v in _without_flushes(arena, CONTROL_SAMPLE))


@pytest.mark.crash
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("left", LEFT_BEHIND)
def test_the_power_can_fail_during_recovery(left: str, part: int, arena: Path, settle: Settle) -> None:
    killed = _killed(left, arena)
    recovery = prepare("power cuts", killed)[NAMES_FIRST]
    points = recovery.points[::RECOVERY_STRIDE][part::PARTS]
    settle("power cuts of recovery", left, sweep(killed, recovery.strike, points, arena))


def test_the_power_can_fail_at_a_sample_of_points_of_recovery(arena: Path, settle: Settle) -> None:
    killed = _killed("partial work", arena)
    recovery = prepare("power cuts", killed)[NAMES_FIRST]
    points = recovery.points[RECOVERY_SAMPLE // 2 :: RECOVERY_SAMPLE]
    settle("power cuts of recovery", "a sample", sweep(killed, recovery.strike, points, arena))


def test_what_an_agents_own_git_calls_left_unflushed_does_no_harm(arena: Path, settle: Settle) -> None:
    template = SCENES["unruly agent"](arena / "template")
    points = prepare("power cuts", template)[NAMES_FIRST].points
    strike = partial(strike_power, NAMES_FIRST)
    settle("power cuts, unruly agent", "a sample", sweep(template, strike, points[150::190], arena))


def test_a_disk_leaves_neither_mount_nor_loop_device(arena: Path) -> None:
    place = arena / "place"
    place.mkdir()
    disk.insert_ext4(place)
    assert place.is_mount()
    disk.eject(arena)
    assert not place.is_mount()
    attached = subprocess.run(["losetup", "-j", str(arena / "place.img")], capture_output=True, check=True)
    assert attached.stdout == b""


def _without_flushes(arena: Path, stride: int) -> Iterator[Verdict]:
    template = SCENES["plain"](arena / "template")
    points = prepare("power cuts", template)[NAMES_FIRST].points
    strike = partial(strike_power_without_flushes, NAMES_FIRST)
    return (judge(template, strike, point, arena) for point in points[stride // 2 :: stride])


def _killed(left: str, arena: Path) -> Scene:
    name, point = LEFT_BEHIND[left]
    scene = in_mode("rollback", SCENES[name](arena / "killed"))
    result = scene.run(HOLDFAST_FAULT=point, **{MIDWAY: "1"} if name == "editing agent" else {})
    assert result.code == KILLED, result.out + result.err
    return scene
