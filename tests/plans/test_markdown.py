"""Plain Markdown: what is a task, what belongs to it, what it is called."""

import pytest

from holdfast.errors import PlanError
from holdfast.model.plan import Document, Status, Task
from holdfast.plans.base import Found, Recognised
from holdfast.plans.markdown import Markdown


def read(text: str) -> Document:
    return Markdown().read(text.encode(), "plan.md", "plan")


def tasks(text: str) -> tuple[Task, ...]:
    return read(text).plan.tasks


def ids(text: str) -> list[str]:
    return [task.id for task in tasks(text)]


def titles(text: str) -> list[str]:
    return [task.title for task in tasks(text)]


@pytest.mark.parametrize(
    ("written", "task_id", "title", "parallel"),
    [
        ("Add the parser", "1", "Add the parser", False),
        ("T001 Add it", "T001", "Add it", False),
        ("T001: Add it", "T001", "Add it", False),
        ("T001 - Add it", "T001", "Add it", False),
        ("T-12 Add it", "T-12", "Add it", False),
        ("T004 [P] Add it", "T004", "Add it", True),
        ("[P] T004 Add it", "T004", "Add it", True),
        ("[P] Add it", "1", "Add it", True),
        ("T004 [P] [US1] Add it", "T004", "[US1] Add it", True),
        ("T004 [US1] [P] Add it", "T004", "[US1] Add it", True),
        ("T004 [US1] Add it", "T004", "[US1] Add it", False),
        ("**T001** Add it", "T001", "Add it", False),
        ("1.2 Add it", "1.2", "Add it", False),
        ("1.2. Add it", "1.2", "Add it", False),
        ("**1.2** Add it", "1.2", "Add it", False),
        ("**1.2 Add it**", "1.2", "Add it", False),
        ("**1.2**: Add it", "1.2", "Add it", False),
        ("1.2.3 Add it", "1.2.3", "Add it", False),
        ("Task 3: Add it", "3", "Add it", False),
        ("Task 3 - Add it", "3", "Add it", False),
        ("**Task 1.1: Add it**", "1.1", "Add it", False),
        ("**Task 1.1:** Add it", "1.1", "Add it", False),
        ("**Task 1.1: Read `src/**/*.py` too** soon", "1.1", "Read `src/**/*.py` too soon", False),
        ("T001 --help prints usage", "T001", "--help prints usage", False),
        ("T001", "T001", "T001", False),
        ("**Add** it", "1", "Add it", False),
        ("**Add it**: now", "1", "Add it: now", False),
        ("*Add it*", "1", "Add it", False),
        ("_Add it_", "1", "Add it", False),
        ("__init__.py is empty", "1", "__init__.py is empty", False),
        ("`code` stays **as** it is", "1", "`code` stays **as** it is", False),
        ("Task 3 needs no colon to be prose", "1", "Task 3 needs no colon to be prose", False),
        ("3 blind mice", "1", "3 blind mice", False),
        ("1.5x faster", "1", "1.5x faster", False),
        ("HTTP2 support", "1", "HTTP2 support", False),
        ("Größe prüfen 🚀", "1", "Größe prüfen 🚀", False),
    ],
)
def test_the_first_line_gives_id_title_and_the_parallel_tag(
    written: str, task_id: str, title: str, parallel: bool
) -> None:
    (task,) = tasks(f"- [ ] {written}\n")
    assert (task.id, task.title, task.parallel) == (task_id, title, parallel)


@pytest.mark.parametrize("bullet", ["-", "*", "+", "1.", "12)"])
@pytest.mark.parametrize(
    ("box", "status"),
    [(" ", Status.PENDING), ("x", Status.COMPLETED), ("X", Status.COMPLETED), ("-", Status.SKIPPED)],
)
def test_every_kind_of_list_and_box_is_read(bullet: str, box: str, status: Status) -> None:
    (task,) = tasks(f"{bullet} [{box}] Add it")
    assert (task.title, task.status, task.line) == ("Add it", status, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- [ ] a\n- [ ] b\n", ["1", "2"]),
        ("# P\n## A\n- [ ] a\n- [ ] b\n## Notes\ntext\n## B\n- [ ] c\n", ["1.1", "1.2", "2.1"]),
        ("- [ ] before\n# A\n- [ ] a\n", ["1", "1.1"]),
        ("# A\n- [ ] T7 a\n- [ ] b\n", ["T7", "1.2"]),
        ("# A #\n- [ ] a\n\ntext between\n\n- [ ] b\n", ["1.1", "1.2"]),
    ],
)
def test_tasks_without_an_id_are_numbered_by_section_and_position(text: str, expected: list[str]) -> None:
    assert ids(text) == expected


def test_the_section_is_the_heading_above_and_the_title_is_the_first_top_heading() -> None:
    document = read("# My *Plan*\n\n## **Core**\n- [ ] a\n### Edge\n- [ ] b\n")
    assert document.plan.title == "My *Plan*"
    assert [task.section for task in document.plan.tasks] == ["Core", "Edge"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- [ ] a\n  - [ ] step\n- [ ] b\n", ["a", "b"]),
        ("- [ ] a\n\t- [ ] step\n- [ ] b\n", ["a", "b"]),
        ("1. [ ] a\n  - [ ] step\n2. [ ] b\n", ["a", "b"]),
        ("  - [ ] a\n  - [ ] b\n    - [ ] step\n", ["a", "b"]),
        ("- [ ] a\n - [ ] b\n", ["a", "b"]),
        ("- group\n  - [ ] nested\n- [ ] a\n", ["a"]),
        ("    - [ ] code block\n\n- [ ] a\n", ["a"]),
        ("- [ ] a\n```\n- [ ] example\n```\n- [ ] b\n", ["a", "b"]),
        ("- [ ] a\n  ~~~md\n- not closed\n  ~~~\n- [ ] b\n", ["a", "b"]),
        ("- [ ] a\n  ```sh\n  run\n- [ ] b\n", ["a", "b"]),
        ("- [ ] a\n- ```sh\n  - [ ] no\n  ```\n- [ ] b\n", ["a", "b"]),
        ("````\n```\n- [ ] no\n```\n````\n- [ ] a\n", ["a"]),
        ("<!--\n- [ ] hidden\n-->\n- [ ] a\n", ["a"]),
        ("<!-- note -->\n- [ ] a\n", ["a"]),
        ("- [ ] a ```inline``` code\n- [ ] b\n", ["a ```inline``` code", "b"]),
        ("- [link](x)\n- [1] Smith\n- [ ] a\n", ["a"]),
        ("Setext\n=======\n- [ ] a\n", ["a"]),
        ("> - [ ] quoted\n\n- [ ] a\n", ["a"]),
    ],
)
def test_only_top_level_boxes_outside_of_code_and_comments_are_tasks(text: str, expected: list[str]) -> None:
    assert titles(text) == expected


def test_the_body_is_what_stands_below_the_first_line_without_its_indentation() -> None:
    text = "- [ ] a\n  Some text.\n\n  ```sh\n  make\n\n  ```\n  - [x] one\n    1. [ ] two\n- [ ] b\n"
    first, second = tasks(text)
    assert first.body == "Some text.\n\n```sh\nmake\n\n```\n- [x] one\n  1. [ ] two"
    assert [(step.text, step.done, step.line) for step in first.steps] == [
        ("one", True, 8),
        ("two", False, 9),
    ]
    assert (second.body, second.steps) == ("", ())


@pytest.mark.parametrize(
    ("after", "body"),
    [
        ("- plain bullet\n  its text\n", ""),
        ("## Heading\n  text\n", ""),
        ("\ntext at the margin\n\n  indented\n", ""),
        ("---\n  text\n", ""),
        ("goes on lazily\n", "goes on lazily"),
        ("\n\n  later\n", "\n\nlater"),
        ("<!-- aside -->\n  text\n", "<!-- aside -->\n  text"),
        ("\tone\n\t\ttwo\n", "one\n\ttwo"),
    ],
)
def test_a_body_ends_where_the_list_ends(after: str, body: str) -> None:
    assert tasks(f"- [ ] a\n{after}")[0].body == body


@pytest.mark.parametrize(
    ("below", "expected"),
    [
        ("  depends: T1, T2\n", {"depends_on": ("T1", "T2")}),
        ("  - **Depends on:** `T1` and T2.\n", {"depends_on": ("T1", "T2")}),
        ("  - depends on: Task T1, Task T2\n", {"depends_on": ("T1", "T2")}),
        ("  depends:\n  - T1\n  - T2\n", {"depends_on": ("T1", "T2")}),
        ("  Depends: none\n", {"depends_on": ()}),
        ("  verify: `make test`\n  - VERIFY: ruff check .\n", {"verify": ("make test", "ruff check .")}),
        ("  verify: a `b` c\n  - a bullet\n", {"verify": ("a `b` c",)}),
        ("  critical: true\n", {"critical": True}),
        ("  critical: false\n", {"critical": False}),
        ("  - files: a.py, `b.py` c.py\n", {"files": ("a.py", "b.py", "c.py")}),
        ("  - Files:\n    - a.py\n    - b.py\n  - other\n", {"files": ("a.py", "b.py")}),
        ("  Acceptance: it works\n", {"acceptance": ("it works",)}),
        (
            "  Acceptance criteria:\n  - one\n    goes on\n\n  - [ ] two\n  - depends: T1\n",
            {"acceptance": ("one goes on", "two"), "depends_on": ("T1",)},
        ),
        ("  - **Acceptance Criteria**:\n    - one\n  - two\n", {"acceptance": ("one",)}),
        ("  ```\n  depends: T9\n  ```\n", {"depends_on": ()}),
        ("  - [ ] verify: by hand\n", {"verify": ()}),
    ],
)
def test_lines_in_the_body_say_more_about_the_task(below: str, expected: dict[str, object]) -> None:
    task = tasks(f"- [ ] T1 a\n- [ ] T2 b\n- [ ] T3 c\n{below}")[2]
    assert {name: getattr(task, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("text", "line", "message", "fix"),
    [
        ("", 0, "the plan is empty", "- [ ] Add the parser"),
        (" \n\n", 0, "the plan is empty", "- [ ]"),
        ("# Plan\n\nprose\n", 0, "no list item has a box", "- [ ]"),
        ("API Error: 529 overloaded\n", 1, "API error message", "- [ ]"),
        ("# P\n```text\n[x] one\n```\n", 3, "bare `[x] ...` lines", "- [ ]"),
        ("# P\n```\n- [ ] one\n```\n", 3, "inside a code fence", "- [ ]"),
        ("- group\n  - [ ] one\n", 2, "not written as tasks", "- [ ]"),
        ("- [ ] a\n- [ ]\n", 2, "without a title", "- [ ] Add the parser"),
        ("- [ ] a\n- [~] b\n", 2, "cannot be read: [~]", "- [x] title"),
        ("- [] a\n", 1, "cannot be read: []", "- [x] title"),
        ("- [ ]a\n", 1, "cannot be read: [ ]a", "- [x] title"),
        ("- [ ] a\n\n```sh\nmake\n- [ ] b\n", 3, "hides the task on line 5", "close it"),
        ("- [ ] a\n<!--\n- [ ] b\n", 2, "hides the task on line 3", "close it"),
        ("- [ ] a\n<<<<<<< HEAD\n- [ ] b\n=======\n- [ ] c\n>>>>>>> x\n", 2, "merge conflict", "resolve"),
        ("- [ ] a\n- [ ] b\n>>>>>>> x\n", 3, "merge conflict", "resolve"),
        ("- [ ] T1 a\n\n- [x] T1 b\n", 3, "T1 is on line 1 and on line 3", "id of its own"),
        ("# A\n- [ ] 1.2 a\n- [ ] b\n", 3, "1.2 is on line 2 and on line 3", "id of its own"),
        ("- [ ] T1 a\n- [ ] T2 b\n  depends: T3, T1, T4\n", 2, "T2 depends on T3, T4,", "dependency"),
        ("- [ ] T1 a\n  depends: T1\n", 1, "T1 -> T1", "remove one"),
        (
            "- [ ] T0 z\n  depends: T1\n- [ ] T1 a\n  depends: T3\n- [ ] T2 b\n  depends: T1\n"
            "- [ ] T3 c\n  depends: T2\n",
            3,
            "T1 -> T3 -> T2 -> T1",
            "remove one",
        ),
    ],
)
def test_a_plan_that_cannot_be_run_is_refused_with_line_and_fix(
    text: str, line: int, message: str, fix: str
) -> None:
    with pytest.raises(PlanError) as caught:
        read(text)
    assert caught.value.line == line
    assert message in caught.value.message
    assert caught.value.message.startswith(f"plan.md:{line}:" if line else "plan.md:")
    assert fix in caught.value.fix
    assert caught.value.exit_code == 2


def test_invalid_utf8_is_refused_with_its_line() -> None:
    with pytest.raises(PlanError, match="not UTF-8: byte 0xff") as caught:
        Markdown().read(b"- [ ] a\n- [ ] \xff\n", "plan.md", "plan")
    assert caught.value.line == 2


def test_a_long_chain_of_dependencies_is_no_cycle() -> None:
    links = "".join(f"- [ ] T{n} task\n  depends: T{n + 1}\n" for n in range(3000))
    assert len(tasks(f"{links}- [ ] T3000 last\n")) == 3001


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (Found("/r/todo.md", None, b"anything"), Recognised("", "todo")),
        (Found("/r/my.todo.markdown", None, b""), Recognised("", "my.todo")),
        (Found("/r/TODO.MD", None, b""), Recognised("", "TODO")),
        (Found("/r/todo.txt", None, b"x\n- [ ] a"), Recognised("", "todo")),
        (Found("/r/todo.txt", None, b"prose"), None),
        (Found("/r/plan.json", None, b"- [ ] a"), None),
        (Found("/r/dir.md", ("a.md",), None), None),
    ],
)
def test_markdown_files_are_recognised_by_name_and_text_files_by_content(
    found: Found, expected: Recognised | None
) -> None:
    assert Markdown().recognise(found) == expected
    assert Markdown().companions(found) == ()
