"""Which task comes next, and why another one cannot."""

import pytest

from holdfast.engine.schedule import blocked_by, find_task, next_task, ready_tasks, startable, waiting_for
from holdfast.errors import UsageError
from holdfast.model.plan import Plan, Status, Task
from holdfast.model.policy import Order


def plan(*tasks: str) -> Plan:
    """Each as `id status dependencies`: "b ok a" is done, "c .. a,b" is open and needs a and b."""
    return Plan(
        "demo", "markdown", "plan.md", tuple(_task(n, *task.split()) for n, task in enumerate(tasks, 1))
    )


def _task(line: int, task_id: str, state: str = "..", needs: str = "") -> Task:
    status = {"..": Status.PENDING, "ok": Status.COMPLETED, "--": Status.SKIPPED, "!!": Status.FAILED}[state]
    return Task(task_id, f"Title {task_id}", status, line, depends_on=tuple(filter(None, needs.split(","))))


def ids(tasks: tuple[Task, ...]) -> list[str]:
    return [task.id for task in tasks]


DIAMOND = plan("a", "b .. a", "c .. a", "d .. b,c", "e")


@pytest.mark.parametrize(
    ("tasks", "failed", "expected"),
    [
        (DIAMOND, set(), ["a", "e"]),
        (DIAMOND, {"a"}, ["e"]),
        (plan("a ok", "b .. a", "c .. a", "d .. b,c"), set(), ["b", "c"]),
        (plan("a ok", "b -- a", "c ok a", "d .. b,c"), set(), ["d"]),
        (plan("b .. z", "z"), set(), ["z"]),
        (plan("a !!", "b"), set(), ["a", "b"]),
        (plan("a ok", "b --"), set(), []),
    ],
)
def test_ready_is_what_is_open_and_waits_for_nothing_in_document_order(
    tasks: Plan, failed: set[str], expected: list[str]
) -> None:
    assert ids(ready_tasks(tasks, failed)) == expected
    first = next_task(tasks, failed)
    assert (first.id if first else None) == next(iter(expected), None)


@pytest.mark.parametrize(
    ("tasks", "only", "expected"),
    [
        (DIAMOND, "e", "e"),
        (DIAMOND, "d", None),
        (plan("a", "b ok"), "b", None),
        (plan("a", "b"), "B", "b"),
    ],
)
def test_only_leaves_one_candidate(tasks: Plan, only: str, expected: str | None) -> None:
    found = next_task(tasks, only=only)
    assert (found.id if found else None) == expected


@pytest.mark.parametrize(
    ("tasks", "until", "expected"),
    [
        (plan("a ok", "b", "c", "d"), "c", "b"),
        (plan("a ok", "b ok", "c", "d"), "c", "c"),
        (plan("a ok", "b ok", "c ok", "d"), "c", None),
        (plan("a", "b ok", "c ok"), "b", "a"),
        (plan("a .. z", "b", "y", "z"), "a", "z"),
        (plan("a .. z", "b", "y", "z ok"), "a", "a"),
    ],
)
def test_until_ends_behind_a_task_and_includes_what_it_needs(
    tasks: Plan, until: str, expected: str | None
) -> None:
    found = next_task(tasks, until=until)
    assert (found.id if found else None) == expected


def test_a_failed_task_until_is_not_offered_again() -> None:
    assert next_task(plan("a", "b"), failed={"a"}, until="a") is None


def test_a_failure_blocks_everything_downstream() -> None:
    tasks = plan("a", "b .. a", "c .. b", "x", "d .. c,x", "y ok a", "z .. y")
    assert blocked_by(tasks, {"a", "x"}) == {"b": ("a",), "c": ("a",), "d": ("a", "x")}
    assert blocked_by(tasks, frozenset()) == {}


def test_a_task_waits_for_its_unsettled_dependencies() -> None:
    tasks = plan("a ok", "b --", "c", "d .. a,b,c")
    assert waiting_for(tasks, find_task(tasks, "d")) == ("c",)
    assert waiting_for(tasks, find_task(tasks, "a")) == ()


def test_a_task_is_found_by_id_in_any_case_or_by_key() -> None:
    tasks = plan("T001", "t001", "T002")
    assert find_task(tasks, "t001").line == 2
    assert find_task(tasks, "T002").line == find_task(tasks, "t002").line == 3
    assert find_task(tasks, tasks.tasks[2].key).line == 3


def test_an_unknown_task_is_refused_with_near_ids() -> None:
    with pytest.raises(UsageError) as caught:
        find_task(plan("T001", "T002", "X"), "T01")
    assert "no task T01 in demo; did you mean T001" in caught.value.message
    assert "holdfast plan list plan.md" in caught.value.fix
    with pytest.raises(UsageError, match=r"no task zzz in demo$"):
        next_task(plan("T001"), only="zzz")


# -- several at once -------------------------------------------------------------------------------------


def many(*tasks: str) -> Plan:
    """As `plan`, with `P` for parallel and `in:SECTION`, `file:NAME` behind: "b .. a P file:x"."""
    found = []
    for line, words in enumerate((task.split() for task in tasks), start=1):
        tags = [word for word in words if word == "P" or word[:3] == "in:" or word[:5] == "file:"]
        task = _task(line, *[word for word in words if word not in tags])
        files = tuple(tag[5:] for tag in tags if tag[:5] == "file:")
        section = next((tag[3:] for tag in tags if tag[:3] == "in:"), "")
        found.append(task._replace(parallel="P" in tags, files=files, section=section))
    return Plan("demo", "markdown", "plan.md", tuple(found))


@pytest.mark.parametrize(
    ("tasks", "order", "running", "expected"),
    [
        (many("a", "b", "c"), Order.DOCUMENT, set(), ["a"]),
        (many("a ok", "b", "c"), Order.DOCUMENT, {"b"}, []),
        (many("a", "b", "c"), Order.DEPENDENCIES, {"a"}, ["b", "c"]),
        (many("a ok", "b .. P", "c .. P", "d"), Order.DOCUMENT, set(), ["b", "c"]),
        (many("a", "b .. P", "c .. P"), Order.DOCUMENT, set(), ["a"]),
        (many("a ok", "b", "c .. a"), Order.DOCUMENT, {"b"}, ["c"]),
        (many("a .. P file:x", "b .. P file:x", "c .. P file:y"), Order.DOCUMENT, set(), ["a", "c"]),
        (many("a .. P file:x", "b .. P file:x"), Order.DOCUMENT, {"a"}, []),
    ],
)
def test_tasks_start_beside_each_other_where_the_plan_lets_them(
    tasks: Plan, order: Order, running: set[str], expected: list[str]
) -> None:
    assert ids(startable(tasks, order, running)) == expected


def test_items_of_a_phase_that_is_safe_run_at_once() -> None:
    phases = many("a .. in:1 P", "b .. in:1 P", "c .. in:2", "d .. in:2", "e .. in:3", "f .. a,b in:3")
    assert ids(startable(phases, Order.PHASES)) == ["a", "b", "c", "e"]


def test_what_only_stands_behind_a_failed_task_is_not_kept_by_it() -> None:
    assert ids(startable(many("a !!", "b", "c .. a"), Order.DOCUMENT, failed={"a"})) == ["b"]


def test_only_and_until_bound_what_may_start() -> None:
    tasks = many("a .. P", "b .. P", "c .. P")
    assert ids(startable(tasks, Order.DOCUMENT, only="b")) == ["b"]
    assert ids(startable(tasks, Order.DOCUMENT, until="b")) == ["a", "b"]
