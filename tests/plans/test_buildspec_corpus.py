"""Real epics: each is read whole, its old state file is refused as such, and marks can be taken back."""

import json
import re
from pathlib import Path

import pytest

from epic_shape import state_in
from holdfast.errors import PlanError
from holdfast.model.plan import Document, Status
from holdfast.plans.base import Completion, Found
from holdfast.plans.buildspec import Buildspec

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus" / "buildspec"
EPICS = sorted(CORPUS.glob("*/*.epic.yaml"))
EPIC = Buildspec()

pytestmark = pytest.mark.skipif(not EPICS, reason="the corpus of real epics is not here")
every_epic = pytest.mark.parametrize("path", EPICS, ids=lambda path: path.parent.name)


def place(path: Path) -> str:
    return path.relative_to(CORPUS).as_posix()


def files(path: Path) -> dict[str, bytes]:
    needed = EPIC.needs(path.read_bytes(), place(path))
    return {name: (CORPUS / name).read_bytes() for name in needed if (CORPUS / name).exists()}


def read(path: Path, state: bytes | None = None) -> Document:
    beside = files(path)
    del beside[EPIC.marks_in(place(path))]
    if state is not None:
        beside[EPIC.marks_in(place(path))] = state
    return EPIC.read(path.read_bytes(), place(path), path.parent.name, beside)


def brought_up_to_date(path: Path) -> bytes:
    """The epic's own old state file, its facts put into the shape of version 1 by hand."""
    old = json.loads((CORPUS / EPIC.marks_in(place(path))).read_bytes())
    tickets = {
        name: {
            "id": name,
            "path": found["path"],
            "title": found.get("title", name),
            "depends_on": found["depends_on"],
            "critical": found["critical"],
            "state": found["status"].upper(),
            "git_info": found.get("git_info"),
            "test_suite_status": None,
            "acceptance_criteria": [],
            "failure_reason": None,
            "blocking_dependency": None,
            "started_at": found.get("started_at"),
            "completed_at": found.get("completed_at"),
        }
        for name, found in old["tickets"].items()
    }
    fields = {"schema_version": 1, "epic_id": path.parent.name, "epic_branch": old["epic_branch"]}
    fields |= {"baseline_commit": old["baseline_commit"], "epic_state": "EXECUTING", "tickets": tickets}
    return json.dumps(fields, indent=2).encode()


@every_epic
def test_a_real_epic_is_read_whole(path: Path) -> None:
    written = re.findall(r"^  - (?:id|name): (.+)$", path.read_text(), re.MULTILINE)
    document = read(path)
    assert [task.id for task in document.plan.tasks] == written
    lines = path.read_text().split("\n")
    for task in document.plan.tasks:
        assert lines[task.line - 1].endswith(task.id)
        assert task.title
        assert (path.parent / "tickets" / f"{task.id}.md").read_text().strip() in task.body
    assert document.plan.preamble
    assert EPIC.recognise(Found(str(path.parent), tuple(p.name for p in path.parent.iterdir()), None))


@every_epic
def test_the_older_state_file_of_a_real_epic_is_refused_by_its_version(path: Path) -> None:
    with pytest.raises(PlanError, match=r"found none \(an older shape\), expected 1") as caught:
        EPIC.read(path.read_bytes(), place(path), path.parent.name, files(path))
    assert "--force-new" in caught.value.fix


@every_epic
@pytest.mark.parametrize("status", list(Status))
def test_marking_any_real_ticket_and_back_gives_the_original_bytes(path: Path, status: Status) -> None:
    document = read(path, brought_up_to_date(path))
    for task in document.plan.tasks:
        marked = EPIC.mark(document, task.id, status)
        assert (marked == document) == (status is task.status)
        assert EPIC.mark(marked, task.id, task.status) == document


@every_epic
def test_a_real_epic_can_be_carried_out_to_its_end(path: Path) -> None:
    document = read(path)
    for number, task in enumerate(document.plan.tasks):
        assert document.plan.tasks[number].status is Status.PENDING
        document = EPIC.complete(document, Completion(task.id, "2026-03-01T10:00:00Z", "1" * 40, "epic/x"))
    landed = {
        task.id: Completion(task.id, "2026-03-01T10:00:00Z", "1" * 40, "epic/x", commit="2" * 40)
        for task in document.plan.tasks
    }
    found = state_in(dict(EPIC.finish(document, landed).beside)[EPIC.marks_in(place(path))])
    assert found["epic_state"] == "FINALIZED"
    assert {ticket["git_info"]["final_commit"] for ticket in found["tickets"].values()} == {"2" * 40}
