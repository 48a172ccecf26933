"""Where the bytes of a plan come from: a commit, the working tree, or both.

What git tracks counts as the commit has it. A file that git ignores is in no commit: it counts as it lies in
the tree (or lay there when the task in flight began), and what the trailers of commits say is laid over it.
"""

import os
from collections.abc import Callable, Mapping, Sequence

from holdfast.engine.landed import Landed, by_task, completion, landed_tasks
from holdfast.engine.place import PlanPlace, read_plan
from holdfast.errors import PlanError
from holdfast.model.plan import Document, Status, Task
from holdfast.plans.base import Attempted
from holdfast.system.files import read_if_there
from holdfast.system.git import Git

Begun = Mapping[str, bytes | None]
"""Ignored files as they were when the task in flight began; None for one that was not there."""
Attempts = Callable[[str], tuple[Attempted, ...]]
"""Task id → what the journal knows of its attempts."""


def _no_attempts(task: str) -> tuple[Attempted, ...]:
    return ()


def plan_at(
    git: Git, place: PlanPlace, commit: str, begun: Begun | None = None, attempts: Attempts = _no_attempts
) -> Document | None:
    """None where there is no plan: neither in the commit nor, ignored by git, in the tree."""
    data = git.file_in(commit, place.path)
    if data is not None and not place.dialect.keeps(place.path):
        return read_plan(place, data, _beside(git, place, data, commit))
    return _read_with_ignored(git, place, commit, data, begun or {}, attempts)


def plan_in_tree(root: str, place: PlanPlace) -> Document:
    data = in_tree(root, place.path)
    if data is None:
        raise PlanError(place.path, 0, "no such file")
    found = {path: in_tree(root, path) for path in other_files(place, data)}
    return read_plan(place, data, _there(found))


def kept_files(place: PlanPlace) -> tuple[str, ...]:
    """Those that only Holdfast writes: the plan first."""
    return (place.path, *place.dialect.keeps(place.path))


def other_files(place: PlanPlace, data: bytes) -> tuple[str, ...]:
    dialect = place.dialect
    return tuple(dict.fromkeys((*dialect.needs(data, place.path), *dialect.keeps(place.path))))


def in_tree(root: str, path: str) -> bytes | None:
    """None for anything that is not a plain file: an agent can leave a directory, a link or a pipe there."""
    full = os.path.join(root, path)
    return read_if_there(full) if os.path.isfile(full) and not os.path.islink(full) else None


def _beside(git: Git, place: PlanPlace, data: bytes, commit: str) -> tuple[tuple[str, bytes], ...]:
    paths = other_files(place, data)
    return _there(git.files_in(commit, paths)) if paths else ()


def _read_with_ignored(
    git: Git, place: PlanPlace, commit: str, data: bytes | None, begun: Begun, attempts: Attempts
) -> Document | None:
    ignored = [] if data is not None else git.ignored([place.path])
    if data is None and ignored:
        data = _lying(git, place.path, begun)
    if data is None:
        return None
    paths = other_files(place, data)
    found = git.files_in(commit, paths)
    ignored += git.ignored([path for path in paths if found[path] is None])
    found |= {path: _lying(git, path, begun) for path in ignored if path != place.path}
    document = read_plan(place, data, _there(found))._replace(ignored=tuple(ignored))
    if place.dialect.marks_in(place.path) not in ignored:
        return document
    branch = (git.current_branch() or "").removeprefix("refs/heads/")
    return _as_committed(place, document, landed_tasks(git, place.path, commit), branch, attempts)


def _lying(git: Git, path: str, begun: Begun) -> bytes | None:
    return begun[path] if path in begun else in_tree(git.root, path)


def _there(found: Mapping[str, bytes | None]) -> tuple[tuple[str, bytes], ...]:
    return tuple((path, data) for path, data in found.items() if data is not None)


def _as_committed(
    place: PlanPlace, document: Document, landed: Sequence[Landed], branch: str, attempts: Attempts
) -> Document:
    ignored, told = document.ignored, by_task(document.plan, landed)
    for task in document.plan.tasks:
        last = told.get(task.id)
        if last and last.status is not task.status:
            document = _told(place, document, task, last, branch, attempts)
    return document._replace(ignored=ignored)


def _told(
    place: PlanPlace, document: Document, task: Task, last: Landed, branch: str, attempts: Attempts
) -> Document:
    if last.status is Status.COMPLETED:
        return place.dialect.complete(document, completion(last, task.id, branch, attempts(task.id)))
    return place.dialect.mark(document, task.id, last.status)
