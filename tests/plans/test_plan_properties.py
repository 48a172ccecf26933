"""Laws that hold for every plan: reading is total, marks touch what they must and read back as returned."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.errors import PlanError
from holdfast.model.plan import Document, Status
from holdfast.plans.auto_claude import AutoClaude
from holdfast.plans.base import Attempted, Completion, Dialect
from holdfast.plans.buildspec import Buildspec
from holdfast.plans.i2code import I2code
from holdfast.plans.markdown import Markdown
from holdfast.plans.marks import restore_boxes
from holdfast.plans.rafa import Rafa
from plans import json_plans

BOXED: list[Dialect] = [Markdown(), I2code()]
DIALECTS: list[Dialect] = [*BOXED, AutoClaude(), Rafa(), Buildspec()]
laws = settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)

# No line ends, and nothing that could close a box or open a quote: those have their own places below.
words = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=20).map(
    lambda text: f"w{text.replace('```', '').replace('~~~', '').replace('<!--', '')}"
)
boxes = st.sampled_from(" xX-")
noise = st.sampled_from(
    ["", "  prose", "\ttabbed", "  - bullet", "  ```\n  - [ ] fenced\n  ```", "  <!-- x -->"]
)
steps = st.builds(
    lambda box, text, deep: f"{deep}- [{box}] {text}", boxes, words, st.sampled_from(["  ", "\t", "    "])
)
bodies = st.lists(st.one_of(noise, steps), max_size=4)
chunks = st.lists(
    st.one_of(st.sampled_from(["- [ ] ", "```", "~~~", "<!--", "-->", "\n", "\r\n", "  ", "\t"]), words)
)


@st.composite
def plans(draw: st.DrawFn, dialect: str) -> bytes:
    lines = [draw(st.sampled_from(["", "chatter", "# Plan: X"]))]
    for section in range(1, draw(st.integers(1, 3)) + 1):
        lines.append(f"## Thread {section}: {draw(words)}")
        for item in range(1, draw(st.integers(1, 3)) + 1):
            lines += _task(draw, dialect, f"{section}.{item}")
        lines.append(draw(st.sampled_from(["", "---", "prose", "```\n- [ ] **Task 9.9: no**\n```"])))
    lines.append(draw(st.sampled_from(["", "## Change History\n\n- not a task"])))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = "\n".join(lines).replace("\n", end)
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode()


def _task(draw: st.DrawFn, dialect: str, task_id: str) -> list[str]:
    box, title = draw(boxes), draw(words)
    written = f"**Task {task_id}: {title}**" if dialect == "i2code" else f"{task_id} {title}"
    return [f"- [{box}] {written}", *draw(bodies)]


@pytest.mark.parametrize("dialect", BOXED, ids=lambda dialect: dialect.name)
@laws
@given(st.data())
def test_a_mark_changes_boxes_only_and_reads_back_as_returned(dialect: Dialect, data: st.DataObject) -> None:
    document = _read(dialect, data.draw(plans(dialect.name)))
    task = data.draw(st.sampled_from(document.plan.tasks))
    status = data.draw(st.sampled_from([Status.PENDING, Status.COMPLETED, Status.SKIPPED]))
    marked = dialect.mark(document, task.id, status)
    changed = {at for at, (old, new) in enumerate(zip(document.data, marked.data, strict=True)) if old != new}
    mine = {task.at, *(step.at for step in task.steps)} if dialect.name == "i2code" else {task.at}
    assert changed <= mine
    assert (task.at in changed) == (status is not task.status)
    assert marked == _read(dialect, marked.data)
    assert restore_boxes(marked, document, task.id) == document


@pytest.mark.parametrize("name", json_plans.DIALECTS)
@laws
@given(st.data())
def test_a_mark_in_json_changes_one_word_and_the_way_back_gives_the_bytes(
    name: str, data: st.DataObject
) -> None:
    dialect, document = json_plans.DIALECTS[name], json_plans.read(name, data.draw(json_plans.plans(name)))
    index = data.draw(st.integers(0, len(document.plan.tasks) - 1))
    task = document.plan.tasks[index]
    known = [Status.PENDING, Status.IN_PROGRESS, Status.COMPLETED, Status.FAILED, Status.SKIPPED]
    marked = dialect.mark(document, task.id, data.draw(st.sampled_from(known)))
    words = [_statuses(document), _statuses(marked)]
    assert [one == other for one, other in zip(*words, strict=True)].count(False) == (marked != document)
    assert marked.data in _with_one_replaced(document.data, words[0][index], words[1][index])
    assert marked == json_plans.read(name, marked.data)
    assert dialect.mark(marked, task.id, task.status) == document


@pytest.mark.parametrize("name", json_plans.DIALECTS)
@laws
@given(st.data())
def test_completing_in_json_keeps_every_word_and_reads_back_as_returned(
    name: str, data: st.DataObject
) -> None:
    dialect, document = json_plans.DIALECTS[name], json_plans.read(name, data.draw(json_plans.plans(name)))
    completed = document
    for task in document.plan.tasks:
        attempt = Attempted(1, "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z")
        done = Completion(task.id, "2026-01-01T00:00:02Z", "base", "main", attempts=(attempt,))
        completed = dialect.complete(completed, done)
    assert completed == json_plans.read(name, completed.data, dict(completed.beside))
    assert completed.plan.count(Status.COMPLETED) == len(completed.plan.tasks)
    assert json_plans.without_marks(completed.data) == json_plans.without_marks(document.data)
    assert _line_ends(completed.data) == _line_ends(document.data)


@pytest.mark.parametrize("dialect", BOXED, ids=lambda dialect: dialect.name)
@laws
@given(st.data())
def test_every_generated_task_is_found_at_its_box(dialect: Dialect, data: st.DataObject) -> None:
    document = _read(dialect, data.draw(plans(dialect.name)))
    for task in document.plan.tasks:
        line = document.data.split(b"\n")[task.line - 1]
        assert document.data[task.at - 1 : task.at + 2] in line
        assert document.data[task.at - 1 : task.at + 2] in (b"[ ]", b"[x]", b"[X]", b"[-]")
        for step in task.steps:
            assert document.data[step.at - 3 : step.at + 2].startswith(b"- [")


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@laws
@given(st.one_of(st.binary(max_size=60), chunks.map(lambda parts: "".join(parts).encode())))
def test_any_bytes_are_read_or_refused(dialect: Dialect, data: bytes) -> None:
    try:
        document = dialect.read(data, "plan.md", "plan")
    except PlanError as error:
        assert error.exit_code == 2
        assert error.fix
    else:
        assert document.plan.tasks
        assert document.data == data


def _statuses(document: Document) -> list[str]:
    """As written, in the order of the tasks, by somebody else's parser."""
    return [item["status"] for item in json_plans.items_of(json.loads(document.data))]


def _with_one_replaced(data: bytes, old: str, new: str) -> list[bytes]:
    """What the plan can look like when one of its words was changed and nothing else."""
    parts, before, after = data.split(f'"{old}"'.encode()), f'"{old}"'.encode(), f'"{new}"'.encode()
    return [after.join([before.join(parts[:n]), before.join(parts[n:])]) for n in range(1, len(parts))]


def _line_ends(data: bytes) -> tuple[bool, bool]:
    return b"\r\n" in data, b"\n" in data.replace(b"\r\n", b"")


def _read(dialect: Dialect, data: bytes) -> Document:
    return dialect.read(data, "x-plan.md", "x")
