"""Does the sweep bite? The protocol broken on purpose in three ways, each of them found."""

from pathlib import Path

import pytest

from proof.fault_points import lose_at, strike_at
from proof.git_calls import calls_with, strike_call
from proof.scene import Scene, make_scene
from proof.sweep import Strike, Verdict, look, sweep

MARKED, UNPINNED, BLIND = (
    "the plan is marked before the commit",
    "the base is not pinned",
    "the branch is moved without compare-and-swap",
)
TASKS = ("update-ref", "refs/heads/main")
"""Words of the git call that moves the branch."""


@pytest.mark.parametrize("mutant", [MARKED, UNPINNED, BLIND])
def test_a_mutant_is_found_by_its_sweep(mutant: str, arena: Path) -> None:
    assert [v.where for v in _swept(mutant, mutant, arena) if not v.problems] == []


@pytest.mark.crash
@pytest.mark.parametrize("mutant", [MARKED, UNPINNED, BLIND])
def test_a_mutant_is_fine_while_nothing_happens_and_the_product_also_then(mutant: str, arena: Path) -> None:
    scene = _mutated(mutant, arena / "undisturbed")
    result = scene.run()
    assert result.code == 0, result.out + result.err
    assert look(scene) == []
    assert [v for v in _swept(mutant, "", arena) if v.problems] == []


def _swept(sweep_of: str, mutant: str, arena: Path) -> list[Verdict]:
    """The points of a sweep that the mutant must fail at, with it or (without a name) with the product."""
    template = _mutated(mutant, arena / "template")
    strike, points = _strike(sweep_of, template)
    return sweep(template, strike, points, arena)


def _strike(mutant: str, template: Scene) -> tuple[Strike, list[int]]:
    if mutant == MARKED:
        return strike_at(["commit.before@1"]), [0]
    if mutant == UNPINNED:
        return lose_at(["agent.after@1"], "the record is lost"), [0]
    counted = template.copy(template.root.with_name("counted"))
    return (lambda scene, point: strike_call("a commit before", scene, point)), calls_with(counted, *TASKS)[
        :1
    ]


def _mutated(mutant: str, root: Path) -> Scene:
    directory = Path(__file__).parent / "mutant"
    environment = (("PYTHONPATH", str(directory)), ("MUTANT", mutant)) if mutant else ()
    return make_scene(root)._replace(environment=environment)
