"""Laws of epics, over generated ones in every shape: marks can be taken back, events keep the file sound."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from epic_shape import TICKET_STATES, state_in
from holdfast.errors import PlanError
from holdfast.model.plan import Document, Status
from holdfast.plans.base import Completion
from holdfast.plans.buildspec import Buildspec

EPIC = Buildspec()
laws = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
SHAPES = [
    ("epic", "id", "depends_on"),
    ("name", "name", "dependencies"),
    ("title", "id", "dependencies"),
    ("toml", "id", "depends_on"),
]
words = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp", "Cn")), max_size=12).map(
    lambda text: f"w{text.strip()}"
)
ids = st.from_regex(r"[a-zA-Z0-9äß][a-zA-Z0-9äß._-]{0,8}", fullmatch=True)
indents: list[Any] = [None, 2, 4, "\t"]


@st.composite
def epics(draw: st.DrawFn) -> tuple[bytes, str, list[dict[str, Any]]]:
    """An epic's bytes, its path, and its tickets; JSON is YAML, so a JSON writer can quote every text."""
    title, name, needs = draw(st.sampled_from(SHAPES))
    tickets: list[dict[str, Any]] = []
    for ticket_id in draw(st.lists(ids, min_size=1, max_size=5, unique=True)):
        earlier = [ticket[name] for ticket in tickets]
        wanted = draw(st.lists(st.sampled_from(earlier), unique=True)) if earlier else []
        tickets.append({name: ticket_id, needs: wanted, "critical": draw(st.booleans())})
        if draw(st.booleans()):
            tickets[-1] |= {"description": draw(words), "acceptance_criteria": [draw(words)]}
    end = draw(st.sampled_from(["\n", "\r\n"]))
    bom = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    told = [{"id": ticket[name], "depends_on": ticket[needs]} for ticket in tickets]
    text = _toml(tickets) if title == "toml" else _yaml(title, draw(words), tickets)
    path = "e/shop/x.epic.md" if title == "toml" else "e/shop/x.epic.yaml"
    return bom + text.replace("\n", end).encode(), path, told


def _yaml(title: str, name: str, tickets: list[dict[str, Any]]) -> str:
    lines = [f"{title}: {_quoted(name)}", "tickets:"]
    for ticket in tickets:
        members = [f"{key}: {_quoted(value)}" for key, value in ticket.items()]
        lines += [f"  {'-' if not number else ' '} {member}" for number, member in enumerate(members)]
    return "\n".join([*lines, ""])


def _toml(tickets: list[dict[str, Any]]) -> str:
    lines = ["# Words", "```toml", "[epic]", 'name = "x"']
    for ticket in tickets:
        lines += ["", "[[tickets]]", *[f"{key} = {_quoted(value)}" for key, value in ticket.items()]]
    return "\n".join([*lines, "```", ""])


def _quoted(value: object) -> str:
    """Both languages read JSON's literals, but not its pairs of surrogates."""
    return json.dumps(value, ensure_ascii=False)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """An epic with a state file as the tool leaves it: open tickets are READY when they could start."""
    data, path, tickets = draw(epics())
    state: dict[str, str] = {}
    for ticket in tickets:
        can_start = all(state[wanted] == "COMPLETED" for wanted in ticket["depends_on"])
        opened = "READY" if can_start else "PENDING"
        state[ticket["id"]] = draw(st.sampled_from([opened, "COMPLETED", "FAILED", "BLOCKED"]))
    return EPIC.read(data, path, "shop", _beside(draw, data, path, state))


def _beside(draw: st.DrawFn, data: bytes, path: str, state: dict[str, str]) -> dict[str, bytes]:
    beside = {name: b"text" for name in EPIC.needs(data, path) if name.endswith(".md")}
    written = {name: _entry(draw, name, found) for name, found in state.items()}
    fields = {"schema_version": 1, "epic_id": "shop", "epic_branch": "epic/shop", "baseline_commit": None}
    text = json.dumps(
        fields | {"epic_state": "EXECUTING", "tickets": written, "more": draw(words)},
        indent=draw(st.sampled_from(indents)),
        ensure_ascii=draw(st.booleans()),
    )
    end, final = draw(st.sampled_from(["\n", "\r\n"])), draw(st.sampled_from(["", "\n", "\n\n"]))
    bom = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    return beside | {EPIC.marks_in(path): bom + (text + final).replace("\n", end).encode()}


def _entry(draw: st.DrawFn, name: str, state: str) -> dict[str, Any]:
    entry = {"id": name, "state": state, "failure_reason": draw(st.sampled_from([None, "é \n red"]))}
    return entry | {"note": {"state": "READY", "text": draw(words)}}


@laws
@given(documents(), st.data())
def test_any_mark_can_be_taken_back_to_the_byte(document: Document, data: st.DataObject) -> None:
    task = data.draw(st.sampled_from(document.plan.tasks))
    marked = EPIC.mark(document, task.id, data.draw(st.sampled_from(list(Status))))
    assert marked == EPIC.read(marked.data, marked.plan.path, "shop", dict(marked.beside))
    assert EPIC.mark(marked, task.id, task.status) == document


@laws
@given(documents(), st.data())
def test_a_mark_changes_that_status_and_no_other(document: Document, data: st.DataObject) -> None:
    task = data.draw(st.sampled_from(document.plan.tasks))
    status = data.draw(st.sampled_from(list(Status)))
    marked = EPIC.mark(document, task.id, status)
    assert marked.plan == document.plan.with_status(task.id, status)
    path = EPIC.marks_in(document.plan.path)
    old, new = (json.loads(dict(d.beside)[path].decode("utf-8-sig")) for d in (document, marked))
    for fields in (old, new):
        del fields["tickets"][task.id]["state"], fields["tickets"][task.id]["failure_reason"]
    assert old == new


@laws
@given(epics(), st.data())
def test_events_in_any_order_keep_the_file_sound(
    epic: tuple[bytes, str, list[dict[str, Any]]], data: st.DataObject
) -> None:
    written, path, tickets = epic
    texts = {name: b"text" for name in EPIC.needs(written, path) if name.endswith(".md")}
    document = EPIC.read(written, path, "shop", texts)
    names = [ticket["id"] for ticket in tickets]
    for _ in range(data.draw(st.integers(1, 8))):
        document = _happened(document, data.draw(st.sampled_from(names)), data)
        assert document == EPIC.read(written, path, "shop", dict(document.beside))
        if EPIC.marks_in(path) in document.files:
            state_in(document.files[EPIC.marks_in(path)])


def _happened(document: Document, name: str, data: st.DataObject) -> Document:
    event = data.draw(st.sampled_from(["complete", "fail", "mark", "recover", "finish", "roll back"]))
    done = Completion(name, "2026-03-01T10:00:00Z", "1" * 40, "epic/shop", commit="2" * 40)
    if event == "mark":
        settled = (Status.PENDING, Status.COMPLETED, Status.SKIPPED)
        return EPIC.mark(document, name, data.draw(st.sampled_from(settled)))
    if event == "roll back" and any(task.status is Status.FAILED for task in document.plan.tasks):
        return EPIC.rolled_back(document, "red")
    if event == "fail":
        return EPIC.fail(document, name, "red", _behind(document, name))
    if event == "complete":
        return EPIC.complete(document, done)
    return EPIC.finish(document, {name: done}) if event == "finish" else EPIC.recover(document)


def _behind(document: Document, name: str) -> tuple[str, ...]:
    behind = {name}
    for task in document.plan.tasks:
        if behind & set(task.depends_on):
            behind.add(task.id)
    waiting = (Status.PENDING, Status.BLOCKED)
    return tuple(t.id for t in document.plan.tasks if t.id in behind - {name} and t.status in waiting)


@pytest.mark.parametrize("path", ["e/shop/x.epic.yaml", "e/shop/x.epic.md"])
@laws
@given(
    st.one_of(
        st.binary(max_size=60),
        st.lists(st.sampled_from([*"[]{}:-&*!|>'\"#?%@`,~ \n\t", "tickets", "id", "a", "---", "<<"])).map(
            lambda parts: "".join(parts).encode()
        ),
    )
)
def test_any_bytes_are_an_epic_or_refused_with_what_to_do(path: str, data: bytes) -> None:
    for content in (data, b"```toml\n" + data + b"\n```\n"):
        try:
            texts = dict.fromkeys(EPIC.needs(content, path)[:-1], b"")
            document = EPIC.read(content, path, "shop", texts)
        except PlanError as error:
            assert error.exit_code == 2
            assert error.fix
        else:
            assert document.plan.tasks


@laws
@given(documents(), st.data())
def test_any_damage_to_the_state_file_is_read_or_refused(document: Document, data: st.DataObject) -> None:
    path = EPIC.marks_in(document.plan.path)
    whole = document.files[path]
    at = data.draw(st.integers(0, len(whole) - 1))
    damaged = whole[:at] + data.draw(st.binary(max_size=3)) + whole[at + 1 :]
    try:
        found = EPIC.read(document.data, document.plan.path, "shop", dict(document.beside) | {path: damaged})
    except PlanError as error:
        assert error.path == path
        assert error.fix
    else:
        assert {task.id for task in found.plan.tasks} == {task.id for task in document.plan.tasks}


def test_the_states_generated_here_are_all_there_are_but_those_of_a_run_at_work() -> None:
    at_work = {"BRANCH_CREATED", "IN_PROGRESS", "AWAITING_VALIDATION"}
    assert {*TICKET_STATES} - at_work == {"PENDING", "READY", "COMPLETED", "FAILED", "BLOCKED"}
