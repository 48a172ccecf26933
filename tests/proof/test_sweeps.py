"""Kill a run anywhere; the same command again ends with one commit per task, nothing lost, nothing twice."""

from pathlib import Path
from typing import NamedTuple

import pytest

from proof.conftest import Settle
from proof.sweep import sweep
from proof.sweeps import MODES, SCENES, WAYS, in_mode, prepare, why_not

STRIDES = {
    "plain": {
        "fault points": 1,
        "lost records": 1,
        "git calls": 1,
        "system calls": 1,
        "power cuts": 8,
        "failing operations": 10,
        "full disk": 4,
    },
    "agent commits": {"fault points": 1, "git calls": 2, "system calls": 2, "power cuts": 16},
    "new plan": {"fault points": 1, "git calls": 4, "system calls": 12, "power cuts": 48},
    "unruly agent": {"fault points": 1, "git calls": 4, "system calls": 12, "power cuts": 48},
    "beside a checkout": {
        "fault points": 1,
        "lost records": 2,
        "git calls": 3,
        "system calls": 3,
        "power cuts": 24,
        "failing operations": 12,
        "full disk": 6,
        "random kills": 6,
    },
    "side by side": {
        "fault points": 2,
        "lost records": 8,
        "git calls": 6,
        "system calls": 4,
        "power cuts": 96,
        "failing operations": 32,
        "full disk": 12,
        "random kills": 1,
    },
}
"""By scene, the sweeps that the whole makes there, and of how many points it takes one: of all where they are
few or the scene is the usual one, of some where they lie close. Each row begins at another point."""
FEWER = {("system calls", "caller"): 8, ("system calls", "runner"): 8}
"""Most of what these meet, killing everything has met."""
ONE_MODE = ("failing operations", "full disk", "random kills")
"""Sweeps that leave no partial work that one mode would treat otherwise than the other, or by chance."""
ONLY_RESUMED = ("new plan", "unruly agent")
NOT_PROMISED = ("unruly agent", "a commit before")
"""The user's commit on top of one that the agent must not have made: both stay (decision 3)."""
PARTS = {"system calls": 8, "git calls": 3}
"""How many tests a row is split into, for the sake of the processes that share them; else two."""
SAMPLE = {
    "fault points": 8,
    "lost records": 50,
    "git calls": 37,
    "system calls": 210,
    "power cuts": 460,
    "failing operations": 200,
    "full disk": 39,
}
"""Of how many points of the plain scene the short version takes one; each way and mode begins at another."""


class Row(NamedTuple):
    scene: str
    kind: str
    way: str
    mode: str

    @property
    def stride(self) -> int:
        return STRIDES[self.scene][self.kind] * FEWER.get((self.kind, self.way), 1)

    @property
    def is_wanted(self) -> bool:
        """What is kept of partial work does not depend on who was killed."""
        one = self.kind in ONE_MODE or self.scene in ONLY_RESUMED or (self.kind, self.way) in FEWER
        return self.mode == "resume" or not one


ALL = [
    Row(scene, kind, way, mode)
    for scene, kinds in STRIDES.items()
    for kind in kinds
    for way in WAYS[kind]
    for mode in MODES
]
ROWS = [row for row in ALL if row.is_wanted]
SWEPT = [row for row in ROWS if (row.scene, row.way) != NOT_PROMISED]
PIECES = [(*row, part) for row in SWEPT for part in range(PARTS.get(row.kind, 2))]


@pytest.mark.crash
@pytest.mark.parametrize(("scene", "kind", "way", "mode", "part"), PIECES)
def test_every_point_can_be_struck(
    scene: str, kind: str, way: str, mode: str, part: int, arena: Path, settle: Settle
) -> None:
    _skip_where_impossible(kind, arena)
    row = Row(scene, kind, way, mode)
    template = in_mode(mode, SCENES[scene](arena / "template"))
    strike, points = prepare(kind, template)[way]
    assert points, "there is nothing to strike"
    chosen = points[ROWS.index(row) % row.stride :: row.stride][part :: PARTS.get(kind, 2)]
    title = kind if scene == "plain" else f"{kind}, {scene}"
    settle(title, f"{way}, {mode}", sweep(template, strike, chosen, arena))


@pytest.mark.parametrize("kind", SAMPLE)
def test_a_sample_of_points_can_be_struck(kind: str, arena: Path, settle: Settle) -> None:
    _skip_where_impossible(kind, arena)
    template = SCENES["plain"](arena / "template")
    ways = prepare(kind, template)
    combinations = [(row.way, row.mode) for row in ROWS if row.scene == "plain" and row.kind == kind]
    verdicts = []
    for number, (way, mode) in enumerate(combinations):
        first = number * SAMPLE[kind] // len(combinations)
        points = ways[way].points[first :: SAMPLE[kind]]
        verdicts += sweep(in_mode(mode, template), ways[way].strike, points, arena / f"{number}")
    settle(kind, "a sample", verdicts)


@pytest.mark.parametrize("scene", [scene for scene in STRIDES if scene != "plain"])
def test_a_sample_of_points_of_other_scenes_can_be_struck(scene: str, arena: Path, settle: Settle) -> None:
    template = SCENES[scene](arena / "template")
    strike, points = prepare("fault points", template)["kill the runner"]
    settle(f"fault points, {scene}", "a sample", sweep(template, strike, points[3::12], arena))


def _skip_where_impossible(kind: str, arena: Path) -> None:
    if reason := why_not(kind, arena):
        pytest.skip(reason)
