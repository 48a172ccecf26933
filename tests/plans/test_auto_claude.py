import json

import pytest

from holdfast.engine.schedule import next_task, ready_tasks
from holdfast.errors import PlanError
from holdfast.model.plan import Document, Status
from holdfast.plans.auto_claude import AutoClaude
from holdfast.plans.base import Attempted, Completion, Found
from plans import json_plans
from plans.json_plans import PATHS, read

AUTO = AutoClaude()
ITEM = {"id": "1-1", "description": "Do it", "status": "pending"}


def plan(content: object) -> Document:
    return read("auto-claude", json.dumps(content, indent=2).encode())


def item(task_id: str, status: str = "pending", **more: object) -> dict[str, object]:
    return {"id": task_id, "description": f"Do {task_id}", "status": status, **more}


def phase(number: int, *items: dict[str, object], after: object = (), **more: object) -> dict[str, object]:
    return {"phase": number, "name": f"Phase {number}", "depends_on": after, "subtasks": list(items), **more}


def done(task: str, *errors: str) -> Completion:
    tries = [
        Attempted(number, f"2026-01-02T00:00:{number}0Z", f"2026-01-02T00:00:{number}5Z", error)
        for number, error in enumerate([*errors, ""], start=1)
    ]
    return Completion(task, "2026-01-02T00:00:59Z", "base", "main", attempts=tuple(tries))


def items_of(document: Document) -> dict[str, dict[str, object]]:
    return {found["id"]: found for found in json_plans.items_of(json.loads(document.data))}


SHAPES = {
    "numbered phases": {
        "spec_name": "Shop",
        "phases": [phase(1, item("a")), phase(2, item("b"), after=[1])],
    },
    "phases with ids": {
        "feature": "Shop",
        "phases": [
            {"id": "phase-1", "name": "Phase 1", "chunks": [item("a")]},
            {"id": "phase-2", "name": "Phase 2", "depends_on": ["phase-1"], "chunks": [item("b")]},
        ],
    },
    "ids and numbers": {
        "feature": "Shop",
        "phases": [
            phase(1, item("a"), id="setup"),
            phase(2, item("b"), after=["1"], id="rest"),
        ],
    },
}


@pytest.mark.parametrize("shape", SHAPES)
def test_phases_of_every_shape_order_their_items(shape: str) -> None:
    document = plan(SHAPES[shape])
    first, second = document.plan.tasks
    assert document.plan.title == "Shop"
    assert document.plan.preamble == "The specification of this build: s/001-x/spec.md"
    assert (first.id, first.title, first.section, first.depends_on) == ("a", "Do a", "Phase 1", ())
    assert (second.id, second.section, second.depends_on) == ("b", "Phase 2", ("a",))


@pytest.mark.parametrize("key", ["subtasks", "chunks"])
def test_a_plan_without_phases_is_a_list(key: str) -> None:
    document = plan({"spec_id": "011-x", key: [{"id": 1, "title": "One", "status": "done"}, item("2")]})
    assert [(task.id, task.title, task.status) for task in document.plan.tasks] == [
        ("1", "One", Status.COMPLETED),
        ("2", "Do 2", Status.PENDING),
    ]
    assert document.plan.title == "011-x"
    assert [task.line for task in document.plan.tasks] == [4, 9]


def test_an_item_waits_for_all_items_of_the_phases_before() -> None:
    document = plan({"phases": [phase(1, item("a"), item("b")), phase(2), phase(3, item("c"), after=[1, 2])]})
    assert document.plan.tasks[2].depends_on == ("a", "b")
    assert [task.id for task in ready_tasks(document.plan)] == ["a", "b"]
    half = AUTO.mark(document, "a", Status.COMPLETED)
    assert [task.id for task in ready_tasks(half.plan)] == ["b"]
    whole = AUTO.mark(half, "b", Status.COMPLETED)
    assert [task.id for task in ready_tasks(whole.plan)] == ["c"]


def test_a_phase_is_free_when_the_one_it_depends_on_is_empty() -> None:
    document = plan({"phases": [phase(1, item("a")), phase(2, after=[1]), phase(3, item("c"), after=[2])]})
    assert [task.id for task in ready_tasks(document.plan)] == ["a", "c"]


def test_phases_may_depend_on_later_ones() -> None:
    document = plan({"phases": [phase(1, item("a"), after=[2]), phase(2, item("b"))]})
    task = next_task(document.plan)
    assert task is not None
    assert task.id == "b"


def test_tasks_of_one_phase_share_what_they_wait_for() -> None:
    """Otherwise a plan of ten thousand items has a hundred million dependencies."""
    big = [item(f"{number}-{n}") for number in (1, 2) for n in range(300)]
    document = plan({"phases": [phase(1, *big[:300]), phase(2, *big[300:], after=[1])]})
    waiting = document.plan.tasks[300:]
    assert len(waiting[0].depends_on) == 300
    assert len({id(task.depends_on) for task in waiting}) == 1


STATUSES = {
    "pending": Status.PENDING,
    "not_started": Status.PENDING,
    "todo": Status.PENDING,
    "in_progress": Status.IN_PROGRESS,
    "in-progress": Status.IN_PROGRESS,
    "completed": Status.COMPLETED,
    "done": Status.COMPLETED,
    "complete": Status.COMPLETED,
    "blocked": Status.BLOCKED,
    "failed": Status.FAILED,
    "skipped": Status.SKIPPED,
}


@pytest.mark.parametrize("word", STATUSES)
def test_every_word_for_a_status_is_known(word: str) -> None:
    assert plan({"subtasks": [item("a", word)]}).plan.tasks[0].status is STATUSES[word]


@pytest.mark.parametrize(
    ("words", "status", "expected"),
    [
        (("todo", "todo", "done"), Status.COMPLETED, "done"),
        (("todo", "todo", "complete"), Status.COMPLETED, "complete"),
        (("todo", "todo", "todo"), Status.COMPLETED, "completed"),
        (("done", "todo", "done"), Status.PENDING, "todo"),
        (("done", "done", "done"), Status.PENDING, "pending"),
        (("todo", "todo", "done"), Status.SKIPPED, "skipped"),
    ],
)
def test_a_mark_uses_the_word_the_plan_uses(words: tuple[str, ...], status: Status, expected: str) -> None:
    document = plan({"subtasks": [item(str(n), word) for n, word in enumerate(words)]})
    marked = AUTO.mark(document, "0", status)
    assert marked.data == document.data.replace(f'"{words[0]}"'.encode(), f'"{expected}"'.encode(), 1)


def test_what_was_in_progress_is_open_again() -> None:
    content = {
        "phases": [phase(1, item("a", "in_progress"), item("b", "completed"), item("c", "in-progress"))]
    }
    recovered = AUTO.recover(plan(content))
    assert [i["status"] for i in items_of(recovered).values()] == ["pending", "completed", "pending"]
    assert recovered == read("auto-claude", recovered.data)
    assert AUTO.recover(recovered) is recovered


def test_failed_and_blocked_items_are_open() -> None:
    document = plan({"phases": [phase(1, item("a", "failed")), phase(2, item("b", "blocked"), after=[1])]})
    assert [task.id for task in ready_tasks(document.plan)] == ["a"]
    after = AUTO.mark(document, "a", Status.COMPLETED)
    assert [task.id for task in ready_tasks(after.plan)] == ["b"]


def test_an_item_is_told_to_the_agent_in_words() -> None:
    verification = {"type": "command", "command": "pytest -q", "expected": "All pass"}
    fields: dict[str, object] = {
        "title": "Cart",
        "service": "backend",
        "all_services": True,
        "files_to_modify": ["a.py", "b.py"],
        "files_to_create": ["c.py", "a.py"],
        "patterns_from": ["d.py"],
        "verification": verification,
        "notes": "Mind the\ngap",
        "session_id": 4,
        "actual_output": "a novel",
    }
    task = plan({"phases": [phase(1, item("a") | fields, parallel_safe=True)]}).plan.tasks[0]
    assert task.title == "Cart"
    assert task.files == ("a.py", "b.py", "c.py")
    assert task.evidence == ("pytest -q",)
    assert task.verify == ()
    assert task.parallel
    assert task.body == (
        "Do a\nService: backend\nFiles to modify:\n- a.py\n- b.py\nFiles to create:\n- c.py\n- a.py\n"
        "Patterns from:\n- d.py\nNotes:\nMind the\ngap\n"
        "Verification (command):\n  Command: pytest -q\n  Expected: All pass"
    )


VERIFICATIONS: dict[str, tuple[object, tuple[str, ...], str]] = {
    "run": ({"type": "command", "run": " make "}, ("make",), "Run: make"),
    "manual": (
        {"type": "manual", "run": "1. Open the app"},
        (),
        "Verification (manual):\n  Run: 1. Open the app",
    ),
    "api": (
        {"type": "api", "method": "POST", "url": "/x", "body": {"a": 1}, "expected_status": 201},
        (),
        "Verification (api):\n  Method: POST\n  Url: /x\n  Body: a: 1\n  Expected status: 201",
    ),
    "browser": ({"type": "browser", "checks": ["Opens", "Closes"]}, (), "  Checks:\n  - Opens\n  - Closes"),
    "without a type": ({"command": "make"}, (), "Verification (as described):\n  Command: make"),
    "empty command": ({"type": "command", "command": " "}, (), ""),
    "no command": ({"type": "command"}, (), ""),
    "prose": ("look at it", (), "Verification: look at it"),
    "none": (None, (), ""),
}


@pytest.mark.parametrize("case", VERIFICATIONS)
def test_only_a_command_that_says_so_can_be_run(case: str) -> None:
    verification, evidence, words = VERIFICATIONS[case]
    task = plan({"subtasks": [item("a", verification=verification)]}).plan.tasks[0]
    assert task.evidence == evidence
    assert words in task.body if words else not task.body


def test_a_long_description_gives_its_first_line_as_title() -> None:
    task = plan({"subtasks": [{"id": "a", "description": "First  line\nand\u0000 more \ud83d"}]}).plan.tasks[
        0
    ]
    assert task.title == "First line"
    assert task.body == "First  line\nand more \ufffd"


def test_completing_writes_the_times_that_the_plan_writes() -> None:
    stamps = {"started_at": "2025", "completed_at": "2025", "updated_at": "2025"}
    content = {"phases": [phase(1, item("a", "completed", **stamps), item("b"))], "updated_at": "2025"}
    document = AUTO.complete(plan(content), done("b", "no"))
    assert items_of(document)["b"] == item(
        "b",
        "completed",
        started_at="2026-01-02T00:00:10Z",
        completed_at="2026-01-02T00:00:59Z",
        updated_at="2026-01-02T00:00:59Z",
    )
    assert items_of(document)["a"] == item("a", "completed", **stamps)
    assert json.loads(document.data)["updated_at"] == "2026-01-02T00:00:59Z"
    assert read("auto-claude", document.data).plan == document.plan


def test_completing_adds_no_times_where_the_plan_has_none() -> None:
    content = {"phases": [phase(1, item("a", "completed"), item("b"))]}
    document = AUTO.complete(plan(content), done("b"))
    assert document.data == plan(content).data.replace(b'"pending"', b'"completed"')


STATES = [
    # status, planStatus, qa_signoff, status and planStatus when all is done
    ("in_progress", "in_progress", None, "ai_review", "review"),
    ("backlog", "pending", {"status": "rejected"}, "ai_review", "review"),
    ("queue", "in_progress", {"status": "approved"}, "human_review", "review"),
    ("pr_created", "pr_created", None, "pr_created", "pr_created"),
    ("done", "completed", None, "done", "completed"),
]


@pytest.mark.parametrize("state", STATES)
def test_the_state_of_the_build_follows_as_the_tool_has_it(state: tuple[str, str, object, str, str]) -> None:
    status, plan_status, signoff, *expected = state
    top = {"status": status, "planStatus": plan_status, "qa_signoff": signoff}
    half = AUTO.complete(plan({"subtasks": [item("a"), item("b")], **top}), done("a"))
    going = "in_progress" if status != expected[0] else status
    assert json.loads(half.data)["status"] == going
    whole = json.loads(AUTO.complete(half, done("b")).data)
    assert [whole["status"], whole["planStatus"]] == expected
    assert whole["qa_signoff"] == signoff


def test_a_plan_without_a_state_gets_none() -> None:
    document = AUTO.complete(plan({"subtasks": [ITEM]}), done("1-1"))
    assert json.loads(document.data) == {"subtasks": [ITEM | {"status": "completed"}]}


def test_both_lists_in_a_phase_are_one_when_they_name_the_same() -> None:
    both = phase(1, item("a"), item("b"), chunks=[item("a")])
    document = plan({"phases": [both]})
    assert [task.id for task in document.plan.tasks] == ["a", "b"]
    with pytest.raises(PlanError, match="subtasks and chunks name different items"):
        plan({"phases": [phase(1, item("a"), chunks=[item("z")])]})


def test_an_empty_list_gives_way_to_the_other() -> None:
    assert [task.id for task in plan({"phases": [phase(1, chunks=[item("a")])]}).plan.tasks] == ["a"]


REFUSED: dict[str, tuple[object, int, str]] = {
    "no object": ([], 1, "this is no plan: a plan is an object"),
    "no phases": ({"feature": "x"}, 1, "planning is not done"),
    "phases are none": ({"phases": []}, 1, "planning is not done"),
    "phases are null": ({"phases": None}, 1, "planning is not done"),
    "phases without items": ({"phases": [phase(1), {"phase": 2, "chunks": None}]}, 1, "planning is not done"),
    "no items at all": ({"subtasks": []}, 1, "planning is not done"),
    "phases are an object": ({"phases": {}}, 1, "phases: this should be a list of phases"),
    "a phase is a string": ({"phases": ["x"]}, 3, "phases[0]: this should be an object, not a string"),
    "items are an object": (
        {"phases": [phase(1) | {"subtasks": {"a": 1}}]},
        3,
        "phases[0].subtasks: this should be",
    ),
    "an item is a number": ({"subtasks": [1]}, 3, "subtasks[0]: this should be an object, not a number"),
    "no id": ({"phases": [phase(1, {"description": "x"})]}, 8, "phases[0].subtasks[0]: it has no id"),
    "an id that is true": ({"subtasks": [{"id": True, "title": "x"}]}, 3, "neither a word nor a number"),
    "no words": ({"subtasks": [{"id": "a"}]}, 3, "subtasks[0]: a task that does not say what is to be done"),
    "an unknown status": (
        {"subtasks": [item("a", "paused")]},
        3,
        "subtasks[0].status: a status that is not known",
    ),
    "files in one string": (
        {"subtasks": [item("a", files_to_modify="a.py")]},
        3,
        "files_to_modify: this should be",
    ),
    "dependencies in one string": (
        {"phases": [phase(1, item("a"), after="2")]},
        3,
        "phases[0].depends_on: this",
    ),
    "an id twice": (
        {"phases": [phase(1, item("a")), phase(2, item("a"))]},
        20,
        "two tasks cannot be told apart",
    ),
    "a phase twice": (
        {"phases": [phase(1, item("a")), phase(1, item("b"))]},
        15,
        "two phases cannot be told apart",
    ),
    "an unknown phase": (
        {"phases": [phase(1, item("a"), after=[7])]},
        3,
        "phase 1 depends on 7, which this plan",
    ),
    "a circle": (
        {"phases": [phase(1, item("a"), after=[2]), phase(2, item("b"), after=[1])]},
        3,
        "these phases wait for each other: 1 -> 2 -> 1",
    ),
    "a phase that waits for itself": ({"phases": [phase(1, item("a"), after=[1])]}, 3, "1 -> 1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_plan_that_cannot_be_read_is_refused_with_its_place(case: str) -> None:
    content, line, words = REFUSED[case]
    with pytest.raises(PlanError) as caught:
        plan(content)
    assert words in caught.value.message
    assert caught.value.line == line
    assert caught.value.fix


def test_a_plan_that_was_cut_off_is_never_another_plan() -> None:
    data = plan({"phases": [phase(1, item("a")), phase(2, item("b"), after=[1])]}).data
    for length in range(len(data)):
        with pytest.raises(PlanError) as caught:
            read("auto-claude", data[:length])
        assert caught.value.line


def test_a_spec_is_recognised_by_its_plan() -> None:
    home = "/repo/.auto-claude/specs/001-shop"
    assert AUTO.recognise(Found(home, ("implementation_plan.json", "spec.md"), None)) == (
        "implementation_plan.json",
        "001-shop",
    )
    assert AUTO.recognise(Found(f"{home}/implementation_plan.json", None, b"{")) == ("", "001-shop")
    assert AUTO.recognise(Found("/repo/other", ("spec.md",), None)) is None
    assert AUTO.recognise(Found("/repo/plan.json", None, b"{}")) is None


def test_a_spec_without_a_plan_says_that_it_is_not_planned() -> None:
    with pytest.raises(PlanError, match="planning is not done") as caught:
        AUTO.recognise(Found("/repo/.auto-claude/specs/001-shop", ("spec.md",), None))
    assert "planner" in caught.value.fix


def test_the_preset_is_the_tools_own() -> None:
    assert AUTO.preset == {
        "branch": "auto-claude/{name}",
        "order": "phases",
        "on_interrupt": "resume",
        "max_attempts": 3,
        "existing_build": "ask",
    }
    assert AUTO.keeps(PATHS["auto-claude"]) == (
        "s/001-x/memory/attempt_history.json",
        "s/001-x/memory/build_commits.json",
    )
