"""Real plans of Auto-Claude and rafa: each is read as its own tool reads it, and marks can be taken back."""

import json
from pathlib import Path

import pytest

from holdfast.model.plan import Document, Status
from holdfast.plans.auto_claude import AutoClaude
from holdfast.plans.base import Attempted, Completion, Dialect
from holdfast.plans.rafa import Rafa
from plans.json_plans import items_of, without_marks

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"
SPECS = sorted((CORPUS / "auto-claude").glob("*.json"))
RAFA_PLANS = sorted((CORPUS / "rafa").glob("*/plan.json"))
PLANS = [*((AutoClaude(), path) for path in SPECS), *((Rafa(), path) for path in RAFA_PLANS)]

pytestmark = pytest.mark.skipif(not PLANS, reason="the corpus of real plans is not here")
every_plan = pytest.mark.parametrize(
    ("dialect", "path"), PLANS, ids=[f"{path.parent.name}/{path.name}" for _, path in PLANS]
)


def read(dialect: Dialect, path: Path) -> Document:
    name = "implementation_plan.json" if dialect.name == "auto-claude" else "plan.json"
    return dialect.read(path.read_bytes(), f"x/{name}", path.parent.name)


@every_plan
def test_a_real_plan_is_read_whole(dialect: Dialect, path: Path) -> None:
    document, content = read(dialect, path), json.loads(path.read_bytes())
    written = list(items_of(content))
    assert [task.id for task in document.plan.tasks] == [item["id"] for item in written]
    assert [task.title for task in document.plan.tasks] == [
        item.get("title", item.get("description")) for item in written
    ]
    assert [task.status.value for task in document.plan.tasks] == [item["status"] for item in written]
    for task, item in zip(document.plan.tasks, written, strict=True):
        lines = path.read_bytes().split(b"\n")
        assert lines[task.line - 1].strip() == b"{"
        files = [*item.get("files_to_modify", ()), *item.get("files_to_create", ())]
        assert task.files == tuple(dict.fromkeys(files))
        assert task.acceptance == tuple(item.get("acceptanceCriteria", ()))
        check = item.get("verification") or {}
        command = check.get("command", check.get("run", ""))
        assert task.evidence == ((command.strip(),) if check.get("type") == "command" else ())


@every_plan
def test_an_item_of_a_real_plan_waits_for_the_phases_its_own_depends_on(dialect: Dialect, path: Path) -> None:
    document, content = read(dialect, path), json.loads(path.read_bytes())
    phases = {phase.get("id", phase.get("phase")): phase for phase in content.get("phases", ())}
    waits = {
        item["id"]: [i["id"] for wanted in phase.get("depends_on", ()) for i in items_of(phases[wanted])]
        for phase in phases.values()
        for item in items_of(phase)
    }
    for task in document.plan.tasks:
        assert task.depends_on == tuple(waits.get(task.id, ()))


@every_plan
def test_marking_any_real_task_and_back_gives_the_original_bytes(dialect: Dialect, path: Path) -> None:
    document = read(dialect, path)
    for task in document.plan.tasks:
        for status in (Status.PENDING, Status.COMPLETED, Status.IN_PROGRESS, Status.FAILED, Status.SKIPPED):
            marked = dialect.mark(document, task.id, status)
            content, before = json.loads(marked.data), json.loads(document.data)
            next(item for item in items_of(before) if item["id"] == task.id)["status"] = status.value
            assert content == before
            assert dialect.mark(marked, task.id, task.status) == document
    last = document.plan.tasks[-1]
    marked = dialect.mark(document, last.id, Status.FAILED)
    assert marked == dialect.read(marked.data, document.plan.path, document.plan.name)


@every_plan
def test_a_real_plan_can_be_built_again_from_the_start(dialect: Dialect, path: Path) -> None:
    document = opened = read(dialect, path)
    for task in document.plan.tasks:
        opened = dialect.mark(opened, task.id, Status.PENDING)
    built = opened
    for task in document.plan.tasks:
        attempt = Attempted(1, "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z")
        done = Completion(task.id, "2026-01-01T00:00:02Z", "base", "main", attempts=(attempt,))
        built = dialect.complete(built, done)
    assert built == dialect.read(built.data, document.plan.path, document.plan.name, dict(built.beside))
    assert without_marks(built.data) == without_marks(document.data)
    assert {item["status"] for item in items_of(json.loads(built.data))} == {"completed"}
    assert document.data[-1:] == built.data[-1:]


@pytest.mark.parametrize("path", RAFA_PLANS, ids=lambda path: path.parent.name)
def test_a_rafa_plan_built_again_is_what_rafa_itself_would_write(path: Path) -> None:
    """Their plans ended with one attempt for each task: to run them once more gives the same bytes."""
    document = opened = read(Rafa(), path)
    for task in document.plan.tasks:
        opened = Rafa().mark(opened, task.id, Status.PENDING)
    for task in document.plan.tasks:
        attempt = Attempted(1, "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z")
        opened = Rafa().complete(
            opened, Completion(task.id, "2026-01-01T00:00:02Z", "b", "m", attempts=(attempt,))
        )
    assert opened.data == document.data


@pytest.mark.parametrize("path", RAFA_PLANS, ids=lambda path: path.parent.name)
def test_the_log_goes_on_in_the_form_it_has(path: Path) -> None:
    log, place = (path.parent / "progress.log").read_bytes(), "x/progress.log"
    document = Rafa().read(path.read_bytes(), "x/plan.json", "x", {place: log})
    task = document.plan.tasks[-1].id
    attempt = Attempted(2, "2026-02-01T00:00:00Z", "2026-02-01T00:00:01Z")
    done = Completion(task, "2026-02-01T00:00:02Z", "b", "m", attempts=(attempt,))
    new = Rafa().complete(Rafa().mark(document, task, Status.PENDING), done).files[place]
    assert new.startswith(log)
    theirs = {entry["event"]: set(entry["data"]) for entry in map(json.loads, log.splitlines())}
    for line in new[len(log) :].splitlines():
        entry = json.loads(line)
        assert list(entry) == ["timestamp", "event", "data"]
        assert set(entry["data"]) == theirs[entry["event"]]
