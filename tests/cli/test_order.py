from hypothesis import given
from hypothesis import strategies as st

from effort import calls
from holdfast.cli.order import order_under, running_order, why_nothing
from holdfast.engine.schedule import next_task
from holdfast.model.plan import Plan, Status, Task
from holdfast.model.policy import OnFailure, Policy


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Tasks depend on any that come before them in a shuffled order, so there is no cycle."""
    size = draw(st.integers(1, 12))
    ranks = draw(st.permutations(range(size)))
    tasks = []
    for number in range(size):
        lower = [f"T{other}" for other in range(size) if ranks[other] < ranks[number]]
        wanted = draw(st.lists(st.sampled_from(lower), max_size=3)) if lower else []
        status = draw(st.sampled_from((Status.PENDING, Status.PENDING, Status.COMPLETED, Status.SKIPPED)))
        tasks.append(Task(f"T{number}", f"Task {number}", status, number + 1, depends_on=tuple(wanted)))
    return Plan("plan", "markdown", "plan.md", tuple(tasks))


@given(plans(), st.data())
def test_it_is_the_order_in_which_the_scheduler_hands_out_tasks(plan: Plan, data: st.DataObject) -> None:
    ids = [task.id for task in plan.tasks]
    failed = data.draw(st.sets(st.sampled_from(ids), max_size=3))
    only, until = data.draw(st.sampled_from([("", ""), (ids[0], ""), ("", ids[-1]), ("", ids[0])]))
    expected = []
    left = plan
    while task := next_task(left, failed, only, until):
        expected.append(task.id)
        left = left.with_status(task.id, Status.COMPLETED)
    assert [task.id for task in running_order(plan, failed, only, until)] == expected


def test_long_phases_that_wait_for_each_other_take_work_in_proportion() -> None:
    def order(size: int) -> None:
        first = [Task(f"a{n}", "A", Status.PENDING, n) for n in range(size)]
        all_of_it = tuple([task.id for task in first])
        then = [Task(f"b{n}", "B", Status.PENDING, n, depends_on=all_of_it) for n in range(size)]
        assert len(running_order(Plan("p", "markdown", "p.md", (*first, *then)))) == 2 * size

    assert calls(lambda: order(800)) < 5 * calls(lambda: order(200))


FAILED_FIRST = (
    Task("a", "A", Status.FAILED, 1),
    Task("b", "B", Status.BLOCKED, 2, depends_on=("a",)),
    Task("c", "C", Status.PENDING, 3),
)


def test_a_failure_is_tried_again_unless_failures_are_passed_over() -> None:
    plan = Plan("p", "buildspec", "p.epic.yaml", FAILED_FIRST)
    passing_over = Policy(on_failure=OnFailure.CONTINUE)
    assert [task.id for task in order_under(Policy(), plan)] == ["a", "b", "c"]
    assert [task.id for task in order_under(passing_over, plan)] == ["c"]
    critical = plan._replace(tasks=(FAILED_FIRST[0]._replace(critical=True), *FAILED_FIRST[1:]))
    assert order_under(passing_over, critical) == []
    assert "holdfast retry a" in why_nothing(critical)
