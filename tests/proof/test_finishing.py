"""Kill a merge or a discard anywhere: the same command finishes it, and nothing of the user's is touched."""

from pathlib import Path

import pytest

from proof.conftest import Settle
from proof.finishing import COMMANDS, make_finishing
from proof.git_calls import DEATHS
from proof.sweep import sweep
from proof.sweeps import WAYS, prepare, why_not

STRIDES = {"fault points": 1, "git calls": 1, "system calls": 2, "power cuts": 24, "failing operations": 8}
FEWER = {"caller": 4, "runner": 4}
"""Most of what these meet, killing everything has met."""
ROWS = [
    (name, kind, way)
    for name in COMMANDS
    for kind in STRIDES
    for way in (WAYS[kind] if kind != "git calls" else DEATHS)
]


@pytest.mark.crash
@pytest.mark.parametrize(("name", "kind", "way"), ROWS)
def test_every_point_of_a_merge_or_a_discard_can_be_struck(
    name: str, kind: str, way: str, arena: Path, settle: Settle
) -> None:
    if reason := why_not(kind, arena):
        pytest.skip(reason)
    finishing = make_finishing(name, arena / "template")
    strike, points = prepare(kind, finishing.template)[way]
    assert points, "there is nothing to strike"
    stride = STRIDES[kind] * FEWER.get(way, 1)
    chosen = points[ROWS.index((name, kind, way)) % stride :: stride]
    found = sweep(finishing.template, finishing.watched(strike), chosen, arena, finishing.look)
    settle(f"{kind}, {'discard' if name == 'discard' else 'merge'}", f"{way}, {name}", found)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_sample_of_a_merge_and_a_discard_can_be_struck(name: str, arena: Path, settle: Settle) -> None:
    if reason := why_not("system calls", arena):
        pytest.skip(reason)
    finishing = make_finishing(name, arena / "template")
    strike, points = prepare("system calls", finishing.template)["everything"]
    found = sweep(finishing.template, finishing.watched(strike), points[7::41], arena, finishing.look)
    settle("system calls, merge and discard", "a sample", found)
