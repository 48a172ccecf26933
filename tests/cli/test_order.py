from hypothesis import given
from hypothesis import strategies as st

from holdfast.cli.order import running_order
from holdfast.engine.schedule import next_task
from holdfast.model.plan import Plan, Status, Task


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


@given(plans())
def test_it_is_the_order_in_which_the_scheduler_hands_out_tasks(plan: Plan) -> None:
    expected = []
    left = plan
    while task := next_task(left):
        expected.append(task.id)
        left = left.with_status(task.id, Status.COMPLETED)
    assert [task.id for task in running_order(plan)] == expected
