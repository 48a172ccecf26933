import json

import pytest

from holdfast.errors import PlanError
from holdfast.model.plan import Document, Status
from holdfast.plans.base import Attempted, Completion, Found
from holdfast.plans.rafa import Rafa

RAFA = Rafa()
PATH = "p/abc123-x/plan.json"
LOG = "p/abc123-x/progress.log"
PLAN = """{
  "id": "abc123",
  "name": "shop \\u0026 co",
  "description": "Sell things",
  "sourceFile": "docs/shop.md",
  "createdAt": "2026-01-01T00:00:00.5-06:00",
  "status": "not_started",
  "tasks": [
    {
      "id": "t01",
      "title": "Add \\u003cb\\u003e",
      "description": "With \\u003cb\\u003e care",
      "acceptanceCriteria": [
        "it works"
      ],
      "status": "pending",
      "attempts": 0
    },
    {
      "id": "t02",
      "title": "Add c",
      "description": "",
      "acceptanceCriteria": null,
      "status": "failed",
      "attempts": 5
    }
  ]
}"""


def plan(text: str = PLAN, log: bytes | None = None) -> Document:
    return RAFA.read(text.encode(), PATH, "x", {} if log is None else {LOG: log})


def completion(task: str, minute: int, *errors: str, commit: str = "") -> Completion:
    """One attempt for each error, and one that held."""
    tries = [
        Attempted(n, f"2026-01-02T00:{minute:02}:{n}0Z", f"2026-01-02T00:{minute:02}:{n}5Z", error)
        for n, error in enumerate([*errors, ""], start=1)
    ]
    return Completion(
        task, f"2026-01-02T00:{minute:02}:59Z", "base", "main", attempts=tuple(tries), commit=commit
    )


def events(document: Document) -> list[tuple[str, dict[str, object]]]:
    """As rafa reads its log: one JSON object a line."""
    lines = document.files[LOG].decode().split("\n")
    assert lines.pop() == ""
    return [(entry["event"], entry["data"]) for entry in map(json.loads, lines)]


def test_tasks_are_read_as_written() -> None:
    document = plan()
    first, second = document.plan.tasks
    assert (document.plan.name, document.plan.title) == ("x", "shop & co")
    assert (first.id, first.title, first.status, first.line) == ("t01", "Add <b>", Status.PENDING, 9)
    assert first.acceptance == ("it works",)
    assert first.body == "With <b> care"
    assert document.plan.preamble == "What the plan is about: Sell things\nWritten from: docs/shop.md"
    assert (second.status, second.acceptance, second.line) == (Status.FAILED, (), 19)


def test_a_mark_is_the_word_of_rafa_and_nothing_else() -> None:
    marked = RAFA.mark(plan(), "t01", Status.COMPLETED)
    assert marked.data.decode() == PLAN.replace('"pending"', '"completed"')
    skipped = RAFA.mark(plan(), "t02", Status.SKIPPED)
    assert skipped.data.decode() == PLAN.replace('"failed"', '"skipped"')
    assert RAFA.mark(plan(), "t01", Status.PENDING).data.decode() == PLAN


def test_a_completed_task_has_its_attempts_and_begins_the_plan() -> None:
    done = RAFA.complete(plan(), completion("t01", 1, "tests fail", "again"))
    expected = PLAN.replace("not_started", "in_progress").replace('"pending"', '"completed"')
    assert done.data.decode() == expected.replace('"attempts": 0', '"attempts": 3')
    assert done.plan == plan(done.data.decode()).plan


def test_the_log_tells_the_attempts_in_order() -> None:
    done = RAFA.complete(plan(), completion("t01", 1, "tests fail"))
    assert events(done) == [
        ("plan_started", {"plan_id": "abc123"}),
        ("task_started", {"attempt": 1, "task_id": "t01"}),
        ("task_failed", {"attempt": 1, "task_id": "t01"}),
        ("task_started", {"attempt": 2, "task_id": "t01"}),
        ("task_completed", {"task_id": "t01"}),
    ]


def test_the_log_is_written_as_go_writes_it() -> None:
    text = PLAN.replace("abc123", "a\\u003c\\u2028")
    done = RAFA.complete(plan(text), completion("t01", 1))
    assert done.files[LOG].splitlines()[:2] == [
        b'{"timestamp":"2026-01-02T00:01:10Z","event":"plan_started","data":{"plan_id":"a\\u003c\\u2028"}}',
        b'{"timestamp":"2026-01-02T00:01:10Z","event":"task_started","data":{"attempt":1,"task_id":"t01"}}',
    ]


def test_the_last_task_completes_the_plan_in_the_same_change() -> None:
    first = RAFA.complete(plan(), completion("t01", 1))
    last = RAFA.complete(first, completion("t02", 3))
    assert json.loads(last.data)["status"] == "completed"
    assert not last.data.endswith(b"\n")
    assert events(last)[-3:] == [
        ("task_started", {"attempt": 1, "task_id": "t02"}),
        ("task_completed", {"task_id": "t02"}),
        ("plan_completed", {"duration_ms": 169_000, "succeeded_tasks": 2, "total_tasks": 2}),
    ]
    assert RAFA.finish(last, {"t01": completion("t01", 1), "t02": completion("t02", 3)}) is last


OPEN = b'{"timestamp":"2026-01-01T23:00:00.123456789-01:00","event":"plan_started","data":{"plan_id":"a"}}\n'
FAILED = b'{"timestamp":"2026-01-02T00:00:01Z","event":"plan_failed","data":{"attempts":5,"task_id":"t01"}}\n'


def test_a_plan_that_is_under_way_in_the_log_is_not_started_again() -> None:
    done = RAFA.complete(plan(log=OPEN), completion("t01", 1))
    assert done.files[LOG].startswith(OPEN)
    assert [name for name, _ in events(done)].count("plan_started") == 1
    last = RAFA.complete(done, completion("t02", 2))
    assert events(last)[-1][1]["duration_ms"] == 178_877


def test_a_plan_that_had_failed_is_started_again() -> None:
    done = RAFA.complete(plan(log=OPEN + FAILED), completion("t01", 1))
    assert [name for name, _ in events(done)][:4] == [
        "plan_started",
        "plan_failed",
        "plan_started",
        "task_started",
    ]


def test_a_torn_last_line_stays_and_ends_before_ours() -> None:
    done = RAFA.complete(plan(log=OPEN + b'{"timest'), completion("t01", 1))
    assert done.files[LOG].startswith(OPEN + b'{"timest\n{"timestamp":')


def test_a_task_told_twice_is_in_the_log_once() -> None:
    done = RAFA.complete(plan(), completion("t01", 1))
    assert RAFA.complete(done, completion("t01", 1, commit="c" * 40)).files == done.files


def test_a_lost_log_is_told_again() -> None:
    done = RAFA.complete(plan(), completion("t01", 1))
    told = RAFA.complete(done._replace(beside=()), completion("t01", 1, commit="c" * 40))
    assert told.files == done.files


def test_attempts_that_nobody_remembers_are_not_made_up() -> None:
    done = RAFA.complete(plan(), Completion("t02", "2026-01-02T00:00:00Z", "base", "main"))
    assert json.loads(done.data)["tasks"][1]["attempts"] == 5
    assert [name for name, _ in events(done)] == ["plan_started", "task_completed"]


def test_a_plan_whose_last_task_was_skipped_is_finished_apart() -> None:
    done = RAFA.mark(RAFA.complete(plan(), completion("t01", 1)), "t02", Status.SKIPPED)
    finished = RAFA.finish(done, {"t01": completion("t01", 1)})
    assert json.loads(finished.data)["status"] == "completed"
    assert events(finished)[-1] == (
        "plan_completed",
        {"duration_ms": 49_000, "succeeded_tasks": 1, "total_tasks": 2},
    )
    assert RAFA.finish(finished, {}) is finished


def test_an_unfinished_plan_is_not_finished() -> None:
    document = plan()
    assert RAFA.finish(document, {}) is document


def test_a_finished_plan_without_times_gets_no_made_up_log() -> None:
    text = PLAN.replace('"pending"', '"completed"').replace('"failed"', '"completed"')
    finished = RAFA.finish(plan(text), {})
    assert json.loads(finished.data)["status"] == "completed"
    assert LOG not in finished.files


def test_a_reset_task_that_is_done_again_is_in_the_log_twice() -> None:
    done = RAFA.complete(plan(), completion("t01", 1))
    again = RAFA.complete(RAFA.mark(done, "t01", Status.PENDING), completion("t01", 5))
    assert [name for name, _ in events(again)].count("task_completed") == 2


def test_messages_bear_the_name_of_rafa() -> None:
    document = plan()
    assert RAFA.message(document.plan.tasks[0]) == "[rafa] Complete task t01: Add <b>"
    assert RAFA.finish_message(document) == "[rafa] Complete plan: shop & co (2 tasks)"
    assert RAFA.preset == {"mode": "trunk", "max_attempts": 5}
    assert RAFA.keeps(PATH) == (LOG,)
    assert RAFA.keeps("plan.json") == ("progress.log",)


def test_a_plan_is_recognised_by_its_file() -> None:
    home = "/repo/.rafa/plans/abc123-my-shop"
    directory = RAFA.recognise(Found(home, ("output.log", "plan.json", "run.lock"), None))
    file = RAFA.recognise(Found(f"{home}/plan.json", None, b"{"))
    assert directory == ("plan.json", "my-shop")
    assert file == ("", "my-shop")
    assert RAFA.recognise(Found("/repo/plans", ("plan.json",), None)) == ("plan.json", "plans")
    assert RAFA.recognise(Found("/repo/plans", ("plan.md",), None)) is None
    assert RAFA.recognise(Found("/repo/other.json", None, b"{}")) is None


def test_a_plan_directory_without_its_plan_says_what_is_missing() -> None:
    with pytest.raises(PlanError, match=r"planning is not done: there is no plan\.json"):
        RAFA.recognise(Found("/repo/.rafa/plans/abc123-x", ("progress.log",), None))


REFUSED = {
    "no object": ("[]", 1, "this is no rafa plan"),
    "no tasks": ('{"id": "a"}', 1, 'no list of "tasks"'),
    "another schema": ('{"phases": []}', 1, 'no list of "tasks"'),
    "tasks are none": ('{"tasks": []}', 1, "planning is not done"),
    "tasks are an object": ('{"tasks": {}}', 1, "tasks: this should be a list"),
    "a task is a string": ('{"tasks": [\n"a"]}', 2, "tasks[0]: this should be an object, not a string"),
    "no id": ('{"tasks": [\n{"title": "x"}]}', 2, "tasks[0]: it has no id"),
    "an id that is a list": ('{"tasks": [{"id": [], "title": "x"}]}', 1, "neither a word nor a number"),
    "an id with a line break": (
        '{"tasks": [{"id": "a\\nb", "title": "x"}]}',
        1,
        "neither a word nor a number",
    ),
    "no title": ('{"tasks": [{"id": "a", "title": " "}]}', 1, "does not say what is to be done"),
    "a title that is a number": ('{"tasks": [{"id": "a", "title": 7}]}', 1, "title: this should be a string"),
    "an unknown status": (
        '{"tasks": [{"id": "a", "title": "x"},\n{"id": "b", "title": "y", "status": "started"}]}',
        2,
        "tasks[1].status: a status that is not known: 'started'",
    ),
    "a status that is true": ('{"tasks": [{"id": "a", "title": "x", "status": true}]}', 1, "not known: True"),
    "attempts in words": ('{"tasks": [{"id": "a", "title": "x", "attempts": "two"}]}', 1, "whole number"),
    "criteria in one string": (
        '{"tasks": [{"id": "a", "title": "x", "acceptanceCriteria": "works"}]}',
        1,
        "acceptanceCriteria: this should be a list of strings",
    ),
    "an id twice": (
        '{"tasks": [{"id": "a", "title": "x"},\n{"id": "a", "title": "y"}]}',
        2,
        "two tasks cannot be told apart: a is on line 1 and on line 2",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_plan_that_cannot_be_read_is_refused_with_its_place(case: str) -> None:
    text, line, words = REFUSED[case]
    with pytest.raises(PlanError) as caught:
        plan(text)
    assert words in caught.value.message
    assert caught.value.line == line
    assert caught.value.fix


def test_odd_but_readable_values_are_read() -> None:
    text = '{"tasks": [{"id": 1, "title": "a\\u0000b\\nmore", "description": "cut \\ud83d"}]}'
    task = plan(text).plan.tasks[0]
    assert (task.id, task.title, task.status) == ("1", "ab", Status.PENDING)
    assert task.body == "cut \ufffd"


def test_a_task_without_a_status_gets_one_when_it_is_marked() -> None:
    document = plan('{"tasks": [{"id": "a", "title": "x"}]}')
    marked = RAFA.mark(document, "a", Status.COMPLETED)
    assert marked.data == b'{"tasks": [{"id": "a", "title": "x", "status": "completed"}]}'
    assert marked == plan(marked.data.decode())


def test_a_task_that_is_not_there_cannot_be_marked() -> None:
    with pytest.raises(PlanError, match="no task t9"):
        RAFA.mark(plan(), "t9", Status.COMPLETED)
