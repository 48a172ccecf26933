"""Documents whose tasks are JSON objects in a list: `Task.at` is where its object begins."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from holdfast.model.plan import Document, Status, Task
from holdfast.plans.json_edit import Edit, applied, put
from holdfast.plans.json_text import Node, object_at, outermost, plain


class Frame(NamedTuple):
    """What stands around the tasks, without them: ten thousand would take a while to parse."""

    data: bytes
    root: Node
    first: int
    gap: int

    def put(self, key: str, value: object) -> Edit:
        """Like `json_edit.put`, as an edit of the whole file."""
        edit = put(self.data, self.root, key, value)
        return edit if edit.at <= self.first else Edit(edit.at + self.gap, edit.end + self.gap, edit.new)

    def value(self, key: str) -> object:
        node = self.root.get(key)
        return plain(node) if node else None


def item_node(document: Document, index: int) -> Node:
    """The object of one task, with the places of its members."""
    tasks = document.plan.tasks
    following = tasks[index + 1].at if index + 1 < len(tasks) else len(document.data)
    return object_at(document.data, tasks[index].at, following)


def changed(document: Document, edits: Sequence[Edit], statuses: Mapping[int, Status]) -> Document:
    """The document with these edits made and these tasks' statuses as they then read."""
    tasks = list(document.plan.tasks)
    for index, status in statuses.items():
        tasks[index] = tasks[index]._replace(status=status)
    plan = document.plan._replace(tasks=_moved(document.data, tasks, edits))
    return document._replace(data=applied(document.data, edits), plan=plan)


def frame_of(document: Document) -> Frame:
    """From the first task to the end of the last brackets are balanced: the rest is JSON too, with the first
    half of one phase and the second half of another for all of them."""
    first, last = document.plan.tasks[0].at, item_node(document, len(document.plan.tasks) - 1).end
    data = document.data[:first] + document.data[last:]
    return Frame(data, outermost(data), first, last - first)


def _moved(data: bytes, tasks: Sequence[Task], edits: Sequence[Edit]) -> tuple[Task, ...]:
    """The tasks where they are after the edits. Both come in the order of the file."""
    waiting = sorted(edits, key=lambda edit: edit.at, reverse=True)
    moved, further, lower = [], 0, 0
    for task in tasks:
        while waiting and waiting[-1].at <= task.at:
            edit = waiting.pop()
            further += len(edit.new) - (edit.end - edit.at)
            lower += edit.new.count(b"\n") - data.count(b"\n", edit.at, edit.end)
        moved.append(
            task._replace(at=task.at + further, line=task.line + lower) if further or lower else task
        )
    return tuple(moved)
