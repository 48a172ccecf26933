"""JSON plans of both dialects, made by chance."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import strategies as st

from holdfast.model.plan import Document
from holdfast.plans.auto_claude import AutoClaude
from holdfast.plans.base import Dialect
from holdfast.plans.rafa import Rafa
from plans.json_manners import manners, texts, unknown

DIALECTS: dict[str, Dialect] = {"auto-claude": AutoClaude(), "rafa": Rafa()}
PATHS = {"auto-claude": "s/001-x/implementation_plan.json", "rafa": "p/abc123-x/plan.json"}

MARKS = {"status", "planStatus", "attempts", "started_at", "completed_at", "updated_at", "last_updated"}
STAMPS: tuple[dict[str, object], ...] = ({}, {"completed_at": None}, {"started_at": "2025", "updated_at": ""})
stamps = st.sampled_from(STAMPS)
extras = st.dictionaries(texts.map(lambda text: f"x_{text}"), unknown, max_size=2)


def read(dialect: str, data: bytes, beside: Mapping[str, bytes] | None = None) -> Document:
    return DIALECTS[dialect].read(data, PATHS[dialect], "x", beside or {})


def without_marks(data: bytes) -> str:
    """All that a plan's author wrote, by somebody else's parser: neither statuses nor times."""
    content = json.loads(data)
    for part in (content, *items_of(content)):
        for key in MARKS & part.keys():
            del part[key]
    return json.dumps(content)


def items_of(content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for phase in content.get("phases", [content]):
        yield from phase.get("tasks", phase.get("subtasks", phase.get("chunks", ())))


@st.composite
def plans(draw: st.DrawFn, dialect: str) -> bytes:
    plan = draw(_auto_claude_plans()) if dialect == "auto-claude" else draw(_rafa_plans())
    return draw(manners).write(plan)


@st.composite
def _rafa_plans(draw: st.DrawFn) -> dict[str, object]:
    tasks = []
    for number in range(1, draw(st.integers(1, 4)) + 1):
        task = {
            "id": f"t{number:02}",
            "title": f"T{number} {draw(texts)}",
            "description": draw(texts),
            "acceptanceCriteria": draw(st.lists(texts, max_size=2)),
            "status": draw(st.sampled_from(["pending", "in_progress", "completed", "failed"])),
            "attempts": draw(st.integers(0, 5)),
        }
        tasks.append(draw(_shuffled({**task, **draw(extras)})))
    plan = {"id": "abc123", "name": "x", "status": "in_progress", "tasks": tasks}
    return draw(_shuffled({**plan, **draw(extras)}))


@st.composite
def _auto_claude_plans(draw: st.DrawFn) -> dict[str, object]:
    """All three shapes. Each status has one word in a plan, so that a mark can be taken back to the byte."""
    words = {
        "pending": draw(st.sampled_from(["pending", "pending", "not_started", "todo"])),
        "completed": draw(st.sampled_from(["completed", "completed", "done", "complete"])),
    }
    shape, items = draw(st.sampled_from("ABC")), draw(st.sampled_from(["subtasks", "chunks"]))
    top = {"feature": "x", "status": "in_progress", "planStatus": "in_progress", "updated_at": "2025-01-01"}
    if shape == "C":
        return draw(_shuffled({**top, items: draw(_items("1", words)), **draw(extras)}))
    phases = []
    for number in range(1, draw(st.integers(1, 3)) + 1):
        name, before = ("phase", number - 1) if shape == "A" else ("id", f"phase-{number - 1}")
        phase = {
            name: number if shape == "A" else f"phase-{number}",
            "name": f"Phase {number}",
            "depends_on": [before] if number > 1 and draw(st.booleans()) else [],
            items: draw(_items(str(number), words)),
        }
        phases.append(draw(_shuffled({**phase, **draw(extras)})))
    return draw(_shuffled({**top, "phases": phases, **draw(extras)}))


@st.composite
def _items(draw: st.DrawFn, phase: str, words: dict[str, str]) -> list[dict[str, object]]:
    items: list[dict[str, object]] = []
    for number in range(1, draw(st.integers(1, 3)) + 1):
        status = draw(st.sampled_from(["pending", "completed", "in_progress", "blocked", "failed"]))
        item: dict[str, object] = {
            draw(st.sampled_from(["id", "subtask_id"])): f"{phase}-{number}",
            draw(st.sampled_from(["title", "description"])): f"T{number} {draw(texts)}",
            "status": words.get(status, status),
            "files_to_modify": draw(st.lists(texts, max_size=2)),
        }
        items.append(draw(_shuffled({**item, **draw(stamps), **draw(extras)})))
    # Two of each, so that a plan still shows its word for a status when one of them is marked.
    for copy in "12":
        items += [
            {"id": f"{phase}-{word}-{copy}", "title": "Spare", "status": word} for word in words.values()
        ]
    return items


def _shuffled(plan: dict[str, object]) -> st.SearchStrategy[dict[str, object]]:
    return st.permutations(list(plan.items())).map(dict)
