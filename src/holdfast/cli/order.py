"""The whole order a run would take, where the scheduler only ever answers for the next step."""

from heapq import heappop, heappush

from holdfast.model.plan import Plan, Task


def running_order(plan: Plan) -> list[Task]:
    """The open tasks: always the first in the document that waits for none of the others."""
    open_tasks = [task for task in plan.tasks if not task.status.settled]
    waits, followers = _links(open_tasks)
    ready = [number for number, count in enumerate(waits) if not count]
    order = []
    while ready:
        number = heappop(ready)
        order.append(open_tasks[number])
        for follower in followers[number]:
            waits[follower] -= 1
            if not waits[follower]:
                heappush(ready, follower)
    return order


def _links(open_tasks: list[Task]) -> tuple[list[int], list[list[int]]]:
    """For each task how many it waits for, and which ones wait for it, by position."""
    position = {task.id: number for number, task in enumerate(open_tasks)}
    waits = [0] * len(open_tasks)
    followers: list[list[int]] = [[] for _ in open_tasks]
    for number, task in enumerate(open_tasks):
        for wanted in {position[name] for name in task.depends_on if name in position}:
            waits[number] += 1
            followers[wanted].append(number)
    return waits, followers
