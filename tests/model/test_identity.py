"""A plan edited between two runs: which task is which."""

import pytest

from holdfast.errors import PlanError
from holdfast.model.identity import Matches, match_tasks
from holdfast.model.plan import Plan, Status, Task


def plan(**titles: str) -> Plan:
    tasks = [
        Task(task_id, title, Status.PENDING, line) for line, (task_id, title) in enumerate(titles.items(), 1)
    ]
    return Plan("demo", "markdown", "plan.md", tuple(tasks))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (plan(a="One", b="Two"), plan(a="One", b="Two"), Matches({"a": "a", "b": "b"}, (), ())),
        (plan(a="One", b="Two"), plan(a="New", b="One", c="two "), Matches({"a": "b", "b": "c"}, (), ("a",))),
        (plan(a="One", b="Two"), plan(a="Uno", b="Two"), Matches({"a": "a", "b": "b"}, (), ())),
        (plan(a="One", b="Two"), plan(b="Two"), Matches({"b": "b"}, ("a",), ())),
        (plan(a="One", b="Two"), plan(a="Two", b="One"), Matches({"a": "b", "b": "a"}, (), ())),
        (plan(a="Test", b="Test"), plan(a="Test", c="Test"), Matches({"a": "a", "b": "c"}, (), ())),
        (plan(a="Test", b="Test"), plan(b="Test"), Matches({"b": "b"}, ("a",), ())),
        (plan(a="Test"), plan(a="Test", b="Test"), Matches({"a": "a"}, (), ("b",))),
    ],
)
def test_tasks_are_matched_by_title_then_by_id(old: Plan, new: Plan, expected: Matches) -> None:
    assert match_tasks(old, new) == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (plan(a="Test", b="Test"), plan(c="Test", d="Test")),
        (plan(a="Test", b="Test"), plan(c="Test")),
        (plan(a="Test"), plan(b="Test", c="Test")),
        (plan(a="Test", b="Test"), plan(a="New", b="Test", c="Test")),
    ],
)
def test_tasks_that_cannot_be_told_apart_stop_with_an_explanation(old: Plan, new: Plan) -> None:
    with pytest.raises(PlanError, match=r'"Test" was task .* cannot be told') as caught:
        match_tasks(old, new)
    assert caught.value.line in (1, 3)
    assert "titles" in caught.value.fix
