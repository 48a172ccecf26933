"""Changing the boxes of one task in place: bytes are replaced one for one, nothing is parsed again."""

from collections.abc import Mapping

from holdfast.errors import PlanError
from holdfast.model.plan import Document, Status, Step, Task
from holdfast.plans.boxes import STATUS_OF

BOX_OF = {Status.PENDING: " ", Status.COMPLETED: "x", Status.SKIPPED: "-"}


def mark_box(document: Document, task_id: str, status: Status, *, with_steps: bool) -> Document:
    """Completing a task ticks its open steps, reopening it unticks them; only where `with_steps` says so."""
    if status not in BOX_OF:
        raise ValueError(f"a box cannot say {status}")
    index = index_of(document, task_id)
    task = document.plan.tasks[index]
    if task.status is status:
        return document
    changes = {task.at: BOX_OF[status]}
    if with_steps and Status.SKIPPED not in (status, task.status):
        done = status is Status.COMPLETED
        changes |= {step.at: BOX_OF[status] for step in task.steps if step.done is not done}
    return _written(document, index, changes)


def restore_boxes(document: Document, before: Document, task_id: str) -> Document:
    """The exact undo: the task's boxes, steps too, as they stand in `before`.

    Only `before` knows which steps were ticked before completing ticked them all. A step that was reworded
    since keeps the box it has.
    """
    index, earlier = index_of(document, task_id), index_of(before, task_id)
    task, old = document.plan.tasks[index], before.plan.tasks[earlier]
    pairs = [(task.at, old.at)]
    pairs += [
        (step.at, was.at) for step, was in zip(task.steps, old.steps, strict=False) if step.text == was.text
    ]
    return _written(document, index, {at: chr(before.data[was]) for at, was in pairs})


def index_of(document: Document, task_id: str) -> int:
    for index, task in enumerate(document.plan.tasks):
        if task.id == task_id:
            return index
    raise PlanError(document.plan.path, 0, f"there is no task {task_id} to mark")


def _written(document: Document, index: int, changes: Mapping[int, str]) -> Document:
    plan = document.plan
    task = plan.tasks[index]
    data = bytearray(document.data)
    for at, box in changes.items():
        _refuse_moved(document, task, at)
        data[at] = ord(box)
    tasks = (*plan.tasks[:index], _with_boxes(task, changes), *plan.tasks[index + 1 :])
    return Document(bytes(data), plan._replace(tasks=tasks))


def _refuse_moved(document: Document, task: Task, at: int) -> None:
    box = document.data[at - 1 : at + 2].decode("latin-1") if at > 0 else ""
    if len(box) != 3 or box[0] != "[" or box[1] not in STATUS_OF or box[2] != "]":
        message = f"the boxes of task {task.id} are not where they were read"
        raise PlanError(document.plan.path, task.line, message, fix="read the plan again before marking it")


def _with_boxes(task: Task, changes: Mapping[int, str]) -> Task:
    steps = tuple([_with_box(step, changes) for step in task.steps])
    body = task.body if len(changes) == 1 else _body_with_boxes(task, changes)
    return task._replace(status=STATUS_OF[changes[task.at]], steps=steps, body=body)


def _with_box(step: Step, changes: Mapping[int, str]) -> Step:
    return step._replace(done=changes[step.at] != " ") if step.at in changes else step


def _body_with_boxes(task: Task, changes: Mapping[int, str]) -> str:
    lines = task.body.split("\n")
    for step in task.steps:
        if step.at in changes:
            row = step.line - task.line - 1
            box = lines[row].index("[") + 1
            lines[row] = f"{lines[row][:box]}{changes[step.at]}{lines[row][box + 1 :]}"
    return "\n".join(lines)
