"""i2code plans: threads, tasks and steps, and everything models write around them."""

import pytest

from holdfast.errors import PlanError
from holdfast.model.plan import Document, Status
from holdfast.plans.base import Found, Recognised
from holdfast.plans.i2code import I2code

PLAN = """Here is the plan you asked for.

# Implementation Plan: Greeter

## Overview
- [ ] **Task 9.9: An overview is not a thread**

## Steel Thread 1: Say hello
Intro prose.

### Tasks

### Task 1.1: Print a greeting

- [x] **Task 1.1: Print a `greeting`**
  - TaskType: OUTCOME
  - Entrypoint: `./greet World`
  - Observable: Hello, World
  - Evidence: `make test`
  - Steps:
    - [x] write a test
    - [ ] make it pass
      1. [ ] ordered

```
## Steel Thread 7: only an example
- [ ] **Task 7.1: only an example**
```

### Task 1.2: Say goodbye

- [ ] **Task 1.2: Say goodbye**   (later)
  - Entrypoint: `./greet` and look
  - Evidence: ``
---

## Thread 2: Polish
- [X] **Task 2.1:** Polish it
- [-] Task 2.2: Not bold
---

## Change History
- [ ] AC-1 a checklist
- [ ] **Task 5.1: not a task any more**
"""


def read(text: str) -> Document:
    return I2code().read(text.encode(), "x-plan.md", "x")


def test_tasks_are_the_box_items_inside_threads() -> None:
    plan = read(PLAN).plan
    assert [(task.id, task.title, task.status, task.section) for task in plan.tasks] == [
        ("1.1", "Print a `greeting`", Status.COMPLETED, "Steel Thread 1: Say hello"),
        ("1.2", "Say goodbye", Status.PENDING, "Steel Thread 1: Say hello"),
        ("2.1", "Polish it", Status.COMPLETED, "Thread 2: Polish"),
        ("2.2", "Not bold", Status.SKIPPED, "Thread 2: Polish"),
    ]
    assert (plan.name, plan.dialect, plan.path, plan.title) == ("x", "i2code", "x-plan.md", "Greeter")


def test_steps_body_and_commands_of_a_task() -> None:
    first, second, *_ = read(PLAN).plan.tasks
    assert [(step.text, step.done) for step in first.steps] == [
        ("write a test", True),
        ("make it pass", False),
        ("ordered", False),
    ]
    assert first.evidence == ("./greet World", "make test")
    assert first.body.startswith("  - TaskType: OUTCOME\n  - Entrypoint: `./greet World`\n")
    assert first.body.endswith("only an example**\n```")
    assert second.evidence == ()
    assert second.body == "- Entrypoint: `./greet` and look\n- Evidence: ``"


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("# Implementation Plan: X", "X"),
        ("# Plan: X", "X"),
        ("# X — Implementation Plan", "X"),
        ("# X", "X"),
        ("", ""),
    ],
)
def test_every_way_to_title_a_plan(heading: str, title: str) -> None:
    assert read(f"{heading}\n## Thread 1: t\n- [ ] **Task 1.1: a**\n").plan.title == title


def test_a_plan_without_threads_is_read_whole() -> None:
    assert [
        task.id for task in read("# X\n- [ ] **Task 1.1: a**\n## Y\n- [ ] **Task 1.2: b**\n").plan.tasks
    ] == [
        "1.1",
        "1.2",
    ]


THREADS = (
    "# X\n## Steel Thread 1: t\n- [ ] **Task 1.1: a**\n\n{inner}## Steel Thread 2: u\n- [ ] **Task 2.1: b**\n"
)


@pytest.mark.parametrize("fence", ["```markdown", "```md", "````markdown", "~~~markdown"])
@pytest.mark.parametrize("inner", ["", "```\nmake\n```\n", "```sh\nmake\n```\n"])
@pytest.mark.parametrize("chatter", ["", "Sure!\n\n"])
@pytest.mark.parametrize("closed", [True, False])
def test_a_plan_wrapped_in_a_fence_is_read_inside(fence: str, inner: str, chatter: str, closed: bool) -> None:
    end = fence.rstrip("markdown") if closed else ""
    text = f"{chatter}{fence}\n{THREADS.format(inner=inner)}{end}\n"
    assert [task.id for task in read(text).plan.tasks] == ["1.1", "2.1"]


@pytest.mark.parametrize(
    "example",
    [
        "- [ ] **Task 1.1: Title**\n",
        "## Steel Thread 1: T\n- [ ] **Task 1.1: x**\n",
        "- [ ] **Task 9.9: x**\n",
    ],
)
def test_an_example_in_a_fence_before_the_plan_is_not_the_plan(example: str) -> None:
    text = f"Format:\n```markdown\n{example}```\n{THREADS.format(inner='')}"
    assert [(task.id, task.title) for task in read(text).plan.tasks] == [("1.1", "a"), ("2.1", "b")]


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("**Task 1.1: a**", "a"),
        ("**Task 1.1: a** trailing **words**", "a"),
        ("**Task 1.1: a   **   ", "a"),
        ("**Task 1.1: glob `src/**/*.py` too**", "glob `src/**/*.py` too"),
        ("**Task 1.1: a stray ` tick**", "a stray ` tick"),
        ("**Task 1.1: never closed", "never closed"),
        ("**Task 1.1:** a", "a"),
        ("**Task 1.1 — a**", "a"),
    ],
)
def test_titles_as_models_write_them(written: str, title: str) -> None:
    (task,) = read(f"## Thread 1: t\n- [ ] {written}\n").plan.tasks
    assert (task.id, task.title) == ("1.1", title)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 0, "the plan is empty"),
        ("## Steel Thread 1: t\nprose\n", 0, "no list item has a box"),
        ("## Steel Thread 1: t\n```text\n[x] old\n    [x] older\n```\n", 3, "bare `[x] ...` lines"),
        ("Sorry:\n```\nAPI Error: socket closed\n```\n", 3, "API error message"),
        ("## Thread 1: t\n- [ ] a checklist\n", 2, "not written as tasks"),
        ("## Thread 1: t\n- [ ] **Task 1.1: a**\n- [ ] **Task 1.1: b**\n", 3, "on line 2 and on line 3"),
        ("## Thread 1: t\n- [~] **Task 1.1: a**\n", 2, "cannot be read: [~]"),
        (
            "## Thread 1: t\n- [ ] **Task 1.1: a**\n```\n- [ ] **Task 1.2: b**\n",
            3,
            "hides the task on line 4",
        ),
        ("## Thread 1: t\n<<<<<<< a\n- [ ] **Task 1.1: a**\n", 2, "merge conflict"),
    ],
)
def test_a_plan_that_cannot_be_run_is_refused_with_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(PlanError) as caught:
        read(text)
    assert caught.value.line == line
    assert message in caught.value.message
    assert caught.value.fix


def test_the_refusal_of_a_plan_without_tasks_shows_the_syntax() -> None:
    with pytest.raises(PlanError) as caught:
        read("## Thread 1: t\n")
    assert "- [ ] **Task 1.1: Title**" in caught.value.fix


def idea(*names: str) -> Found:
    return Found("/repo/docs/ideas/active/greet", names, None)


def test_an_idea_directory_is_recognised_and_its_committed_parts_are_named() -> None:
    found = idea("greet-plan.md", "greet-idea.txt", "greet-spec.md", "greet-design.md", "greet-discussion.md")
    assert I2code().recognise(found) == Recognised("greet-plan.md", "greet")
    assert I2code().companions(found) == (
        "greet-idea.txt",
        "greet-discussion.md",
        "greet-spec.md",
        "greet-plan.md",
    )


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        (("greet-plan.md",), "greet-idea.md (or .txt), greet-spec.md"),
        (("greet-idea.md", "greet-spec.md"), "greet-plan.md"),
        (("greet-idea.txt",), "greet-spec.md, greet-plan.md"),
        (("greet-plan.md", "greet-spec.md"), "greet-idea.md (or .txt)"),
    ],
)
def test_an_incomplete_idea_directory_is_refused_with_what_is_missing(
    names: tuple[str, ...], missing: str
) -> None:
    with pytest.raises(PlanError) as caught:
        I2code().recognise(idea(*names))
    assert caught.value.message.endswith(f"missing {missing}")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (idea("other-plan.md", "notes.md"), None),
        (Found("/r/greet-plan.md", None, b"x\r\n## Thread 1: t\r\n"), Recognised("", "greet")),
        (Found("/r/greet-plan.md", None, b"- [x] **Task 1.1: t**"), Recognised("", "greet")),
        (Found("/r/greet-plan.md", None, b"- [ ] T001 plain\n## Thread safety\n"), None),
        (Found("/r/greet-plan.md", None, b"\xff"), None),
        (Found("/r/greet.md", None, b"## Thread 1: t"), None),
    ],
)
def test_a_plan_file_is_ours_when_it_has_threads_or_bold_tasks(
    found: Found, expected: Recognised | None
) -> None:
    assert I2code().recognise(found) == expected
    assert I2code().companions(found) == ()
