"""The whole order a run would take, where the scheduler only ever answers for the next step."""

from collections.abc import Sequence, Set
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from holdfast.engine.schedule import find_task, next_task, passed_over, up_to
from holdfast.model.plan import Plan, Status, Task
from holdfast.model.policy import Policy

_NONE: frozenset[str] = frozenset()


def running_order(plan: Plan, failed: Set[str] = _NONE, only: str = "", until: str = "") -> list[Task]:
    """Always the first in the document that is open, has not failed, and waits for none of the others."""
    if only:
        task = next_task(plan, failed, only=only)
        return [task] if task else []
    wanted = up_to(plan, find_task(plan, until)) if until else {task.id for task in plan.tasks}
    return _in_order([t for t in plan.tasks if not t.status.settled and t.id in wanted], failed)


def order_under(policy: Policy, plan: Plan) -> list[Task]:
    """What a run would do if every task succeeded."""
    return running_order(plan, passed_over(policy.on_failure, plan), policy.only, policy.until)


def why_nothing(plan: Plan) -> str:
    failed = [task.id for task in plan.tasks if task.status is Status.FAILED]
    if failed:
        return f": {', '.join(failed)} failed. Try again with: holdfast retry {failed[0]}"
    return f": all {len(plan.tasks)} tasks are done" if all(t.status.settled for t in plan.tasks) else ""


class _Wait:
    """Tasks that wait for the same others, by position. Those of one phase share their dependencies, and
    each names all of another phase: counted one by one they would be as many as the plan's length squared."""

    def __init__(self) -> None:
        self.left = 0
        self.tasks: list[int] = []


class _Links(NamedTuple):
    waits: list[_Wait]
    followers: list[list[_Wait]]
    """By position: what that task keeps waiting."""


def _in_order(tasks: Sequence[Task], failed: Set[str]) -> list[Task]:
    links = _linked(tasks)
    ready = [number for wait in links.waits if not wait.left for number in wait.tasks]
    heapify(ready)
    order = []
    while ready:
        number = heappop(ready)
        if tasks[number].id in failed:
            continue
        order.append(tasks[number])
        for wait in links.followers[number]:
            wait.left -= 1
            for freed in () if wait.left else wait.tasks:
                heappush(ready, freed)
    return order


def _linked(tasks: Sequence[Task]) -> _Links:
    position = {task.id: number for number, task in enumerate(tasks)}
    waits: dict[int, _Wait] = {}
    followers: list[list[_Wait]] = [[] for _ in tasks]
    for number, task in enumerate(tasks):
        key = id(task.depends_on)
        if key not in waits:
            waits[key] = _Wait()
            for wanted in {position[name] for name in task.depends_on if name in position}:
                waits[key].left += 1
                followers[wanted].append(waits[key])
        waits[key].tasks.append(number)
    return _Links(list(waits.values()), followers)
