"""implementation_plan.json of Auto-Claude, read and written in the words and stamps it uses itself."""

import re
from collections.abc import Mapping

from holdfast.model.plan import Document, Plan, Status
from holdfast.plans.auto_claude_commits import read_commits, with_completion, with_landed
from holdfast.plans.auto_claude_history import read_history, with_attempts
from holdfast.plans.auto_claude_items import STAMPS, WORDS
from holdfast.plans.auto_claude_phases import OPENED, read_tasks
from holdfast.plans.base import Completion
from holdfast.plans.json_edit import Edit, put
from holdfast.plans.json_fields import said, told
from holdfast.plans.json_tasks import Frame, changed, frame_of, item_node
from holdfast.plans.json_text import Node, parse
from holdfast.plans.marks import index_of
from holdfast.plans.validate import refuse_duplicates

TITLES = ("feature", "spec_name", "title", "spec_id")
TOP_STAMPS = ("updated_at", "last_updated")
# Only these say that the build goes on. Whoever wrote `done`, `pr_created` or `error` had a reason.
WORKING = ("backlog", "queue", "pending", "in_progress", "")

_CHUNKS = re.compile(rb'"chunks"\s*:\s*\[\s*$')


def read(data: bytes, path: str, name: str, beside: Mapping[str, bytes], memory: tuple[str, str]) -> Document:
    root = parse(data, path, OPENED)
    spec = f"{path.rpartition('/')[0]}/spec.md".removeprefix("/")
    about = f"The specification of this build: {spec}"
    plan = Plan(name, "auto-claude", path, read_tasks(data, path, root), _title(root), about)
    refuse_duplicates(plan)
    _check_memory(beside, memory)
    return Document(data, plan, tuple(beside.items()))


def mark(document: Document, task_id: str, status: Status) -> Document:
    index = index_of(document, task_id)
    if document.plan.tasks[index].status is status:
        return document
    return _with_statuses(document, [index], status)


def complete(document: Document, done: Completion, memory: tuple[str, str]) -> Document:
    """Told again of a task that is marked, as its commit has become known, only what is missing is added."""
    index = index_of(document, done.task)
    again = document.plan.tasks[index].status is Status.COMPLETED
    marked = document if again else _completed(document, index, done)
    return _remember(marked, done, memory, again)


def finish(document: Document, landed: Mapping[str, Completion], memory: tuple[str, str]) -> Document:
    """A commit cannot name itself: the last task's is written down here, and every other one for good."""
    if not landed:
        return document
    path = memory[1]
    commits = with_landed(document.files.get(path, b""), path, landed, _item_noun(document))
    settled = _with_beside(document, {path: commits}) if commits else document
    frame = frame_of(settled)
    edits = _state(frame, settled.plan)
    stamps = _top_stamps(frame, max(done.at for done in landed.values())) if edits else []
    return changed(settled, [*edits, *stamps], {}) if edits else settled


def recover(document: Document) -> Document:
    """What was in progress when a run died is open again."""
    tasks = enumerate(document.plan.tasks)
    left = [index for index, task in tasks if task.status is Status.IN_PROGRESS]
    return _with_statuses(document, left, Status.PENDING) if left else document


def _completed(document: Document, index: int, done: Completion) -> Document:
    frame, after = frame_of(document), document.plan.with_status(done.task, Status.COMPLETED)
    word = _word(document, Status.COMPLETED)
    edits = [put(document.data, item_node(document, index), "status", word)]
    edits += [*_stamps(document, index, done), *_state(frame, after), *_top_stamps(frame, done.at)]
    return changed(document, edits, {index: Status.COMPLETED})


def _check_memory(beside: Mapping[str, bytes], memory: tuple[str, str]) -> None:
    """Before an agent works, not after it."""
    for path, check in zip(memory, (read_history, read_commits), strict=True):
        if path in beside:
            check(beside[path], path)


def _remember(document: Document, done: Completion, memory: tuple[str, str], again: bool) -> Document:
    files, noun = document.files, _item_noun(document)
    history, commits = memory
    return _with_beside(
        document,
        {
            history: with_attempts(files.get(history, b""), history, done, noun, again),
            commits: with_completion(files.get(commits, b""), commits, done, noun, again),
        },
    )


def _with_beside(document: Document, files: Mapping[str, bytes]) -> Document:
    return document._replace(beside=tuple({**dict(document.beside), **files}.items()))


def _title(root: Node) -> str:
    nodes = (root.get(key) for key in TITLES)
    texts = (said(told(node.value)) for node in nodes if node)
    return next((" ".join(text.split()) for text in texts if text), "")


def _with_statuses(document: Document, indexes: list[int], status: Status) -> Document:
    word = _word(document, status)
    edits = [put(document.data, item_node(document, index), "status", word) for index in indexes]
    return changed(document, edits, dict.fromkeys(indexes, status))


def _word(document: Document, status: Status) -> str:
    """The word this plan has for a status elsewhere, else the tool's own."""
    tasks = enumerate(document.plan.tasks)
    like = next((index for index, task in tasks if task.status is status), None)
    node = item_node(document, like).get("status") if like is not None else None
    return str(node.value) if node else WORDS[status][0]


def _stamps(document: Document, index: int, done: Completion) -> list[Edit]:
    """Times are written where this item has them, or an item that is completed already."""
    node, tasks = item_node(document, index), enumerate(document.plan.tasks)
    completed = next((i for i, task in tasks if i != index and task.status is Status.COMPLETED), index)
    known = {**(node.members or {}), **(item_node(document, completed).members or {})}
    times = dict.fromkeys(STAMPS, done.at) | {"started_at": done.attempts[0].started if done.attempts else ""}
    return [put(document.data, node, key, at) for key, at in times.items() if key in known and at]


def _state(frame: Frame, plan: Plan) -> list[Edit]:
    """Where the build stands, as the tool itself would say: once all is done its review comes next."""
    signoff = frame.value("qa_signoff")
    approved = isinstance(signoff, dict) and signoff.get("status") == "approved"
    review = "human_review" if approved else "ai_review"
    settled = all(task.status.settled for task in plan.tasks)
    status, plan_status = (review, "review") if settled else ("in_progress", "in_progress")
    return [
        frame.put(key, state)
        for key, state in (("status", status), ("planStatus", plan_status))
        if frame.value(key) in WORKING and frame.value(key) != state
    ]


def _top_stamps(frame: Frame, at: str) -> list[Edit]:
    return [frame.put(key, at) for key in TOP_STAMPS if frame.root.get(key)]


def _item_noun(document: Document) -> str:
    """What this plan calls an item; the files in memory/ follow it."""
    first = document.plan.tasks[0].at
    return "chunk" if _CHUNKS.search(document.data, max(0, first - 400), first) else "subtask"
