"""Real i2code plans: each is read or refused for a known reason, and marks can be taken back to the byte."""

from pathlib import Path

import pytest

from holdfast.errors import PlanError
from holdfast.model.plan import Document, Status
from holdfast.plans.base import Found
from holdfast.plans.i2code import I2code
from holdfast.plans.marks import restore_boxes

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus" / "i2code"
REFUSED = {
    "claude-code-command-dataclass-broken-plan.md": "API error message",
    "idea-to-code-command-plan.md": "bare `[x] ...` lines",
    "record-session-plan.md": "bare `[x] ...` lines",
}
PLANS = sorted(CORPUS.glob("*.md"))

pytestmark = pytest.mark.skipif(not PLANS, reason="the corpus of real plans is not here")


def read(path: Path) -> Document:
    return I2code().read(path.read_bytes(), path.name, path.stem)


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.name)
def test_a_real_plan_is_read_whole_or_refused_for_its_reason(path: Path) -> None:
    if path.name in REFUSED:
        with pytest.raises(PlanError) as caught:
            read(path)
        assert REFUSED[path.name] in caught.value.message
        return
    written = [
        line for line in path.read_text().splitlines() if line.startswith(("- [ ] **Task", "- [x] **Task"))
    ]
    document = read(path)
    assert [f"Task {task.id}: {task.title}**" for task in document.plan.tasks] == [
        line.partition("**")[2] for line in written
    ]
    assert [task.status is Status.COMPLETED for task in document.plan.tasks] == [
        "[x]" in w[:5] for w in written
    ]
    assert I2code().recognise(Found(f"/{path.name}", None, document.data))


@pytest.mark.parametrize("path", [p for p in PLANS if p.name not in REFUSED], ids=lambda path: path.name)
def test_marking_then_unmarking_any_real_task_gives_the_original_bytes(path: Path) -> None:
    document = read(path)
    for task in document.plan.tasks:
        status = Status.PENDING if task.status is Status.COMPLETED else Status.COMPLETED
        marked = I2code().mark(document, task.id, status)
        assert marked.data != document.data
        boxes = {task.at, *(step.at for step in task.steps)}
        changed = {at for at in range(len(document.data)) if document.data[at] != marked.data[at]}
        assert task.at in changed <= boxes
        assert restore_boxes(marked, document, task.id) == document


@pytest.mark.parametrize("path", [p for p in PLANS if p.name not in REFUSED], ids=lambda path: path.name)
def test_completing_then_reopening_a_real_task_with_open_steps_needs_no_memory(path: Path) -> None:
    document = read(path)
    for task in document.plan.tasks:
        if task.status is Status.PENDING and not any(step.done for step in task.steps):
            marked = I2code().mark(document, task.id, Status.COMPLETED)
            assert I2code().mark(marked, task.id, Status.PENDING) == document
