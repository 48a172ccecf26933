"""Kills, edits, commits by hand, lost records: in whatever order they come, the promise holds."""

from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Flaky

from proof.conftest import Settle
from proof.sequences import play
from proof.story import COMMAND_FAULTS, FAULTS, Story, stories
from proof.sweep import Verdict

SEEDS, STORIES, CHAPTERS = range(1, 41), 10, 3
"""Few stories a seed: asked for many, Hypothesis varies those it has told rather than tell new ones."""
FEW, SHORT = 7, 2
ARCHITECTURE = Path(__file__).parents[2] / "docs/ARCHITECTURE.md"


@pytest.mark.crash
@pytest.mark.parametrize("number", SEEDS)
def test_stories_end_well(number: int, arena: Path, settle: Settle) -> None:
    settle("sequences", "random stories", _told(number, STORIES, CHAPTERS, arena))


@pytest.mark.timeout(600)
def test_a_few_short_stories_end_well(arena: Path, settle: Settle) -> None:
    settle("sequences", "a sample", _told(0, FEW, SHORT, arena))


def test_the_fault_points_of_stories_exist() -> None:
    known = ARCHITECTURE.read_text(encoding="utf-8")
    assert [name for name in (*FAULTS, *COMMAND_FAULTS) if f"`{name}`" not in known and name] == []


def _told(number: int, many: int, chapters: int, arena: Path) -> list[Verdict]:
    """As many stories as that; when one fails, those before it and the shortest that still does."""
    verdicts: list[Verdict] = []
    scenes = count()

    @seed(number)
    @settings(
        max_examples=many,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(stories(chapters))
    def tell(story: Story) -> None:
        verdict = play(story, arena / f"story-{next(scenes)}")
        verdicts.append(verdict._replace(where=f"seed {number}: {verdict.where}"))
        assert not verdict.problems

    try:
        tell()
    except (AssertionError, Flaky):  # the second: it does not fail each time
        shortest = [v for v in verdicts if v.problems][-1]
        return [*(v for v in verdicts if not v.problems), shortest]
    return verdicts
