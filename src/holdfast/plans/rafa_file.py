"""plan.json of rafa, read and written: tasks in strict order, each with a status and a count of attempts."""

from collections.abc import Mapping

from holdfast.model.plan import Document, Plan, Status, Task
from holdfast.plans.base import Completion
from holdfast.plans.json_edit import Edit, put
from holdfast.plans.json_fields import Spot, fields_of, id_in, said, status_in, strings_in, title_in
from holdfast.plans.json_tasks import Frame, changed, frame_of, item_node
from holdfast.plans.json_text import Node, parse, with_lines
from holdfast.plans.marks import index_of
from holdfast.plans.rafa_log import Totals, log_completion, log_end
from holdfast.plans.validate import validate

# rafa itself knows no `skipped`, and would run such a task; "completed" would be a lie.
STATUSES = {
    status.value: status
    for status in (Status.PENDING, Status.IN_PROGRESS, Status.COMPLETED, Status.FAILED, Status.SKIPPED)
}
EXAMPLE = '{"id": "t01", "title": "…", "status": "pending", "attempts": 0}'


def read(data: bytes, path: str, name: str, beside: Mapping[str, bytes]) -> Document:
    root = parse(data, path, {"tasks": 1})
    top = Spot(path, 1, "")
    nodes = enumerate(with_lines(data, _task_nodes(root, top)))
    tasks = [_task(node, Spot(path, line, f"tasks[{number}]")) for number, (line, node) in nodes]
    plan = Plan(name, "rafa", path, tuple(tasks), _text(root, "name"), _about(root))
    return Document(data, validate(plan), tuple(beside.items()))


def mark(document: Document, task_id: str, status: Status) -> Document:
    index = index_of(document, task_id)
    if document.plan.tasks[index].status is status:
        return document
    if status.value not in STATUSES:
        raise ValueError(f"rafa has no word for {status}")
    edit = put(document.data, item_node(document, index), "status", status.value)
    return changed(document, [edit], {index: status})


def complete(document: Document, done: Completion, log: str) -> Document:
    """The plan's own end is part of its last task's commit, as rafa has it. Told again of a task that is
    marked, as its commit has become known, only the log is looked after."""
    index = index_of(document, done.task)
    again = document.plan.tasks[index].status is Status.COMPLETED
    totals, frame = _totals(document.plan.with_status(done.task, Status.COMPLETED)), frame_of(document)
    lines = log_completion(document.files.get(log, b""), _plan_id(frame), done, totals, again)
    if again:
        return _with_log(document, log, lines)
    node, state = item_node(document, index), "completed" if totals.settled else "in_progress"
    edits = [put(document.data, node, "status", "completed"), *_plan_status(frame, state)]
    if done.attempts:
        edits.append(put(document.data, node, "attempts", done.attempts[-1].number))
    return _with_log(changed(document, edits, {index: Status.COMPLETED}), log, lines)


def finish(document: Document, landed: Mapping[str, Completion], log: str) -> Document:
    """Left to do where the last open task was skipped, or finished by a tool that died before it said so."""
    totals, frame = _totals(document.plan), frame_of(document)
    edits = _plan_status(frame, "completed")
    if not totals.settled or not edits or frame.value("status") == "completed":
        return document
    at = max((done.at for done in landed.values()), default="")
    lines = log_end(document.files.get(log, b""), _plan_id(frame), at, totals)
    return _with_log(changed(document, edits, {}), log, lines)


def _task_nodes(root: Node, top: Spot) -> tuple[Node, ...]:
    tasks = root.get("tasks")
    if tasks is None:
        raise top.wrong('this is no rafa plan: it has no list of "tasks"', f'write "tasks": [{EXAMPLE}]')
    if tasks.items is None:
        raise top.at("tasks").wrong("this should be a list", f"write [{EXAMPLE}]")
    if not tasks.items:
        raise top.at("tasks").wrong(
            "no tasks found: planning is not done", "make the plan with `rafa plan create`, then run again"
        )
    return tasks.items


def _task(node: Node, spot: Spot) -> Task:
    fields = fields_of(spot, node.value)
    attempts = fields.get("attempts", 0)
    if not isinstance(attempts, int) or isinstance(attempts, bool):
        raise spot.at("attempts").wrong("this should be a whole number", "write how often it was tried, or 0")
    title = title_in(spot, fields, ("title", "description"))
    description = said(str(fields.get("description") or "")).strip()
    return Task(
        id=id_in(spot, fields, ("id",)),
        title=title,
        status=status_in(spot, fields, STATUSES),
        line=spot.line,
        at=node.at,
        body=description if description != title else "",
        acceptance=strings_in(spot, fields, "acceptanceCriteria"),
    )


def _about(root: Node) -> str:
    """What rafa tells its agent about the plan as a whole."""
    labels = {"description": "What the plan is about", "sourceFile": "Written from"}
    return "\n".join(f"{label}: {text}" for key, label in labels.items() if (text := _text(root, key)))


def _text(root: Node, key: str) -> str:
    node = root.get(key)
    value = node.value if node else None
    return said(value).strip() if isinstance(value, str) else ""


def _plan_status(frame: Frame, status: str) -> list[Edit]:
    return [frame.put("status", status)] if frame.value("status") is not None else []


def _plan_id(frame: Frame) -> str:
    return said(str(frame.value("id") or ""))


def _totals(plan: Plan) -> Totals:
    settled = all(task.status.settled for task in plan.tasks)
    return Totals(settled, len(plan.tasks), plan.count(Status.COMPLETED))


def _with_log(document: Document, log: str, lines: bytes) -> Document:
    if not lines:
        return document
    files = dict(document.beside)
    return document._replace(beside=tuple((files | {log: files.get(log, b"") + lines}).items()))
