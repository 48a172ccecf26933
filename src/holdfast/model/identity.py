"""Which task of an edited plan is which task of the plan before: by title first, then by id."""

from typing import NamedTuple

from holdfast.errors import PlanError
from holdfast.model.plan import Plan, Task


class Matches(NamedTuple):
    pairs: dict[str, str]
    """Id in the old plan to id in the new one."""
    gone: tuple[str, ...]
    added: tuple[str, ...]


def match_tasks(old: Plan, new: Plan) -> Matches:
    """PlanError when the edit leaves tasks that neither title nor id can tell apart."""
    pairs = by_title(old, new)
    taken = set(pairs.values())
    free = {task.id for task in new.tasks if task.id not in taken}
    pairs |= {task.id: task.id for task in old.tasks if task.id not in pairs and task.id in free}
    gone = tuple(task.id for task in old.tasks if task.id not in pairs)
    return Matches(pairs, gone, _added(new, set(pairs.values())))


def by_title(old: Plan, new: Plan) -> dict[str, str]:
    """Id in the old plan to id in the new one, of tasks that still have their title; several tasks of one
    title are told apart by their ids. PlanError where they cannot be."""
    was, now = by_key(old), by_key(new)
    pairs: dict[str, str] = {}
    for key in was.keys() & now.keys():
        pairs |= _within_key(was[key], now[key], new)
    return pairs


def same_in(plan: Plan, task: Task) -> Task | None:
    """The task of that title, of several the one that also has the id."""
    same = [known for known in plan.tasks if known.key == task.key]
    return min(same, key=lambda known: known.id != task.id, default=None)


def by_key(plan: Plan) -> dict[str, list[Task]]:
    """Several tasks may have one title."""
    groups: dict[str, list[Task]] = {}
    for task in plan.tasks:
        groups.setdefault(task.key, []).append(task)
    return groups


def _within_key(was: list[Task], now: list[Task], new: Plan) -> dict[str, str]:
    """Tasks of one title: equal ids belong together, and then at most one may be left on each side.

    Ids may be positions: where one id stands at another place among its equals, a task has been put in
    above them, and nobody knows whether the id or the place tells the truth.
    """
    same = {task.id for task in was} & {task.id for task in now}
    left = [task for task in was if task.id not in same]
    right = [task for task in now if task.id not in same]
    if not left or not right:
        return {task_id: task_id for task_id in same}
    if len(left) > 1 or len(right) > 1 or was.index(left[0]) != now.index(right[0]):
        raise _ambiguous(left, right, new)
    return {task_id: task_id for task_id in same} | {left[0].id: right[0].id}


def _ambiguous(left: list[Task], right: list[Task], new: Plan) -> PlanError:
    before, after = (" and ".join(task.id for task in tasks) for tasks in (left, right))
    message = f'"{right[0].title}" was task {before} and is now task {after}: which is which cannot be told'
    fix = "give tasks with the same title different titles, or put their ids back"
    return PlanError(new.path, right[0].line, message, fix=fix)


def _added(new: Plan, matched: set[str]) -> tuple[str, ...]:
    return tuple(task.id for task in new.tasks if task.id not in matched)
