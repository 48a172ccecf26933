"""What a user may call a plan."""

import pytest

from scratch import Cli, Repo

SPEC = '{"feature": "Shop", "phases": [{"phase": 1, "subtasks": [{"id": "s1", "description": "Sell"}]}]}'
RAFA = '{"id": "aB3dE9", "name": "cart", "tasks": [{"id": "t01", "title": "Push"}]}'


@pytest.fixture
def plans(repo: Repo) -> Repo:
    repo.write(".auto-claude/specs/001-shop/implementation_plan.json", SPEC)
    repo.write(".auto-claude/specs/002-unplanned/spec.md", "# Later\n")
    repo.write(".rafa/plans/aB3dE9-cart/plan.json", RAFA)
    return repo


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("001", "s1"),
        ("001-shop", "s1"),
        ("shop", "s1"),
        (".auto-claude/specs/001-shop", "s1"),
        (".auto-claude/specs/001-shop/implementation_plan.json", "s1"),
        ("aB3dE9", "t01"),
        ("cart", "t01"),
        ("aB3dE9-cart", "t01"),
        (".rafa/plans/aB3dE9-cart/plan.json", "t01"),
    ],
)
def test_a_spec_or_rafa_plan_is_found_by_each_of_its_names(
    plans: Repo, cli: Cli, name: str, task: str
) -> None:
    listed = cli("plan", "list", name)
    assert listed.code == 0, listed.err
    assert task in listed.out


def test_a_name_that_two_plans_bear_is_refused_with_both(plans: Repo, cli: Cli) -> None:
    plans.write(".rafa/plans/zzzzzz-shop/plan.json", RAFA)
    refused = cli("plan", "list", "shop")
    assert refused.code == 2
    assert ".auto-claude/specs/001-shop or .rafa/plans/zzzzzz-shop" in refused.err


def test_a_file_of_that_name_comes_first(plans: Repo, cli: Cli) -> None:
    plans.write("shop", "not a plan")
    assert "not a plan Holdfast knows" in cli("plan", "list", "shop").err


def test_a_spec_that_is_not_planned_says_so(plans: Repo, cli: Cli) -> None:
    refused = cli("plan", "list", "002")
    assert refused.code == 2
    assert "planning is not done" in refused.err


def test_a_name_that_nothing_bears_is_no_plan(plans: Repo, cli: Cli) -> None:
    refused = cli("plan", "list", "003")
    assert refused.code == 2
    assert "no such file or directory" in refused.err
