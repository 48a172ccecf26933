"""Kills, edits, commits by hand, lost records: in whatever order they come, the promise holds."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Flaky
from hypothesis.strategies import SearchStrategy

from proof import sequences, story, tree_stories
from proof.conftest import Settle
from proof.story import Story
from proof.sweep import Verdict

SEEDS, STORIES, CHAPTERS = range(1, 32), 10, 3
"""Few stories a seed: asked for many, Hypothesis varies those it has told rather than tell new ones."""
TREE_SEEDS = range(1, 16)
FEW, SHORT = 7, 2
Play = Callable[[Story, Path], Verdict]
ARCHITECTURE = Path(__file__).parents[2] / "docs/ARCHITECTURE.md"


@pytest.mark.crash
@pytest.mark.parametrize("number", SEEDS)
def test_stories_end_well(number: int, arena: Path, settle: Settle) -> None:
    told = _told(story.stories(CHAPTERS), sequences.play, number, STORIES, arena)
    settle("sequences", "random stories", told)


@pytest.mark.crash
@pytest.mark.parametrize("number", TREE_SEEDS)
def test_stories_of_trees_end_well(number: int, arena: Path, settle: Settle) -> None:
    told = _told(tree_stories.stories(CHAPTERS), tree_stories.play, number, STORIES, arena)
    settle("sequences", "random stories of trees", told)


@pytest.mark.timeout(600)
def test_a_few_short_stories_end_well(arena: Path, settle: Settle) -> None:
    settle("sequences", "a sample", _told(story.stories(SHORT), sequences.play, 0, FEW, arena))


@pytest.mark.timeout(600)
def test_a_few_short_stories_of_trees_end_well(arena: Path, settle: Settle) -> None:
    told = _told(tree_stories.stories(SHORT, by_the_clock=False), tree_stories.play, 0, FEW, arena)
    settle("sequences", "a sample, trees", told)


def test_the_fault_points_of_stories_exist() -> None:
    known = ARCHITECTURE.read_text(encoding="utf-8")
    names = (*story.FAULTS, *story.COMMAND_FAULTS, *tree_stories.FAULTS)
    assert [name for name in names if f"`{name}`" not in known and name] == []


def _told(stories: SearchStrategy[Story], play: Play, number: int, many: int, arena: Path) -> list[Verdict]:
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
        report_multiple_bugs=False,
    )
    @given(stories)
    def tell(words: Story) -> None:
        verdict = play(words, arena / f"story-{next(scenes)}")
        verdicts.append(verdict._replace(where=f"seed {number}: {verdict.where}"))
        assert not verdict.problems

    try:
        tell()
    except (AssertionError, Flaky):  # the second: it does not fail each time
        shortest = [v for v in verdicts if v.problems][-1]
        return [*(v for v in verdicts if not v.problems), shortest]
    return verdicts
