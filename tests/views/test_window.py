import pytest

from holdfast.model.plan import Plan, Status, Task
from holdfast.views.window import Progress


def progress(*statuses: Status) -> Progress:
    tasks = (Task(str(n), f"Title {n}", status, n) for n, status in enumerate(statuses, 1))
    return Progress.of(Plan("plan", "markdown", "plan.md", tuple(tasks)))


DONE, OPEN = Status.COMPLETED, Status.PENDING


def test_a_short_plan_is_shown_whole() -> None:
    window = progress(DONE, OPEN, OPEN).around(1, 3)
    assert [task.id for task in window.tasks] == ["1", "2", "3"]
    assert window.above == window.below == ""


def test_a_long_plan_is_cut_at_both_ends_and_says_so() -> None:
    window = progress(*[DONE] * 12, *[OPEN] * 38).around(12, 8)
    assert window.above == "… 10 done above"
    assert [task.id for task in window.tasks] == ["11", "12", "13", "14", "15", "16"]
    assert window.below == "… 34 more below"


def test_what_is_cut_off_is_counted_as_it_is() -> None:
    window = progress(*[DONE, OPEN] * 10).around(10, 5)
    assert window.above == "… 9 above, 5 done"
    assert window.below == "… 8 more below, 4 done"


@pytest.mark.parametrize("rows", [3, 4, 7, 20])
def test_the_task_that_matters_is_always_in_view_and_the_rows_are_kept(rows: int) -> None:
    plan = progress(*[DONE] * 20, *[OPEN] * 20)
    for index in range(40):
        window = plan.around(index, rows)
        assert str(index + 1) in [task.id for task in window.tasks]
        assert len(window.tasks) + bool(window.above) + bool(window.below) <= rows


def test_the_first_open_task_is_found_or_else_the_last() -> None:
    assert progress(DONE, Status.SKIPPED, OPEN).first_open() == 2
    assert progress(DONE, DONE).first_open() == 1
    assert progress(DONE, Status.SKIPPED, OPEN).settled == 2
