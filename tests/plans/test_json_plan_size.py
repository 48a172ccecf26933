"""Large plans: the work grows with the plan, not faster. Counted in calls, which no busy machine changes."""

import json

import pytest

from effort import calls
from holdfast.engine.schedule import next_task, ready_tasks
from holdfast.model.plan import Status
from holdfast.plans.base import Completion
from plans.json_plans import DIALECTS, read


def big_plan(dialect: str, tasks: int, phases: int = 4) -> bytes:
    items = [
        {"id": f"t{n}", "title": f"Task {n} é", "status": "pending", "attempts": 0} for n in range(tasks)
    ]
    if dialect == "rafa":
        return json.dumps({"id": "abc123", "status": "not_started", "tasks": items}, indent=2).encode()
    size = tasks // phases
    blocks = [
        {"phase": n, "depends_on": [n - 1] if n else [], "subtasks": items[n * size : (n + 1) * size]}
        for n in range(phases)
    ]
    return json.dumps({"phases": blocks, "status": "backlog"}, indent=2, ensure_ascii=False).encode()


@pytest.mark.parametrize("phases", [1, 4, 100])
@pytest.mark.parametrize("name", DIALECTS)
def test_reading_and_choosing_take_work_in_proportion(name: str, phases: int) -> None:
    small, large = (big_plan(name, tasks, phases) for tasks in (400, 1600))
    assert calls(lambda: read(name, large)) < 4.4 * calls(lambda: read(name, small))
    less, more = read(name, small).plan, read(name, large).plan
    assert calls(lambda: ready_tasks(more)) < 4.4 * calls(lambda: ready_tasks(less))


@pytest.mark.parametrize("name", DIALECTS)
def test_completing_one_task_does_not_parse_the_others(name: str) -> None:
    small, large = (read(name, big_plan(name, tasks)) for tasks in (400, 1600))
    done = Completion("t5", "2026-01-01T00:00:00Z", "base", "main")
    per_task = [calls(lambda d=d: DIALECTS[name].complete(d, done)) for d in (small, large)]  # type: ignore[misc]
    assert per_task[1] - per_task[0] < 8 * (1600 - 400)


@pytest.mark.parametrize("name", DIALECTS)
def test_a_plan_of_ten_thousand_tasks_is_read_and_marked(name: str) -> None:
    document = read(name, big_plan(name, 10_000, phases=10))
    assert len(document.plan.tasks) == 10_000
    marked = DIALECTS[name].mark(document, "t0", Status.COMPLETED)
    following = next_task(marked.plan)
    assert following is not None
    assert following.id == "t1"
    last = DIALECTS[name].mark(marked, "t9999", Status.COMPLETED)
    assert last == read(name, last.data)
