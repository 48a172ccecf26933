"""Marking replaces the characters in the boxes and nothing else."""

import pytest

from holdfast.errors import PlanError
from holdfast.model.plan import Document, Status
from holdfast.plans.i2code import I2code
from holdfast.plans.markdown import Markdown
from holdfast.plans.marks import restore_boxes

STEPS = """## Thread 1: t
- [{0}] **Task 1.1: a**
  - Steps:
    - [{1}] one
    1. [{2}] two
- [ ] **Task 1.2: b**
"""


def markdown(text: str) -> Document:
    return Markdown().read(text.encode(), "plan.md", "plan")


def i2code(boxes: str) -> Document:
    return I2code().read(STEPS.format(*boxes).encode(), "x-plan.md", "x")


@pytest.mark.parametrize(
    ("status", "box"), [(Status.COMPLETED, "x"), (Status.SKIPPED, "-"), (Status.PENDING, " ")]
)
@pytest.mark.parametrize("before", [" ", "x", "-"])
def test_a_mark_is_one_character(status: Status, box: str, before: str) -> None:
    text = "\ufeff# Größe\r\n\r\n* [{}] 🚀 a\r\n\t- [ ] step\r\n* [ ] b"
    marked = Markdown().mark(markdown(text.format(before)), "1.1", status)
    assert marked.data.decode() == text.format(box)
    assert marked == markdown(text.format(box))


def test_a_task_that_already_is_so_keeps_its_bytes() -> None:
    document = markdown("- [X] a\n")
    assert Markdown().mark(document, "1", Status.COMPLETED) is document


@pytest.mark.parametrize(
    ("before", "status", "after"),
    [
        ("   ", Status.COMPLETED, "xxx"),
        (" X ", Status.COMPLETED, "xXx"),
        (" -x", Status.COMPLETED, "x-x"),
        ("x  ", Status.COMPLETED, "x  "),
        ("xxx", Status.PENDING, "   "),
        ("Xx ", Status.PENDING, "   "),
        (" x ", Status.SKIPPED, "-x "),
        ("-x ", Status.PENDING, " x "),
        ("- x", Status.COMPLETED, "x x"),
    ],
)
def test_i2code_ticks_and_unticks_the_steps_with_the_task(before: str, status: Status, after: str) -> None:
    marked = I2code().mark(i2code(before), "1.1", status)
    assert marked == i2code(after)


@pytest.mark.parametrize("before", ["   ", " x ", " xX", "x  ", "xx ", "- x"])
def test_restoring_undoes_any_mark_exactly(before: str) -> None:
    document = i2code(before)
    for status in (Status.COMPLETED, Status.SKIPPED, Status.PENDING):
        marked = I2code().mark(document, "1.1", status)
        assert restore_boxes(marked, document, "1.1") == document


def test_restoring_leaves_other_tasks_alone() -> None:
    document = i2code(" x ")
    both = I2code().mark(I2code().mark(document, "1.1", Status.COMPLETED), "1.2", Status.COMPLETED)
    assert restore_boxes(both, document, "1.1") == I2code().mark(document, "1.2", Status.COMPLETED)


def test_a_box_that_is_not_where_it_was_read_is_not_overwritten() -> None:
    document = markdown("- [ ] a\n")
    moved = document._replace(data=b"# new\n- [ ] a\n")
    with pytest.raises(PlanError, match="not where they were read"):
        Markdown().mark(moved, "1", Status.COMPLETED)


def test_an_unknown_task_cannot_be_marked() -> None:
    with pytest.raises(PlanError, match="no task 7"):
        Markdown().mark(markdown("- [ ] a\n"), "7", Status.COMPLETED)


def test_a_box_has_no_character_for_a_failure() -> None:
    with pytest.raises(ValueError, match="cannot say failed"):
        Markdown().mark(markdown("- [ ] a\n"), "1", Status.FAILED)
