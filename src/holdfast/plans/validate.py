"""What every plan must fulfil, whatever its dialect. Each refusal names file, line and fix."""

from collections.abc import Sequence

from holdfast.errors import PlanError
from holdfast.model.plan import Plan, Task


def validate(plan: Plan, noun: str = "task") -> Plan:
    """The plan itself, or PlanError. Dialects say in their own words why a plan has no tasks.

    `noun` is what these tasks are called: phases that depend on each other are checked here too.
    """
    if not plan.tasks:
        raise PlanError(plan.path, 0, "no tasks found", fix="write at least one task")
    by_id = refuse_duplicates(plan, noun)
    linked = [task for task in plan.tasks if task.depends_on]
    for task in linked:
        _refuse_unknown(plan, task, by_id, noun)
    _refuse_cycle(plan, linked, by_id, noun)
    return plan


def refuse_duplicates(plan: Plan, noun: str = "task") -> dict[str, Task]:
    """The tasks by their ids, or PlanError."""
    by_id: dict[str, Task] = {}
    for task in plan.tasks:
        first = by_id.setdefault(task.id, task)
        if first is not task:
            message = (
                f"two {noun}s cannot be told apart: {task.id} is on line {first.line} and on line {task.line}"
            )
            fix = f"give one of the two an id of its own in place of {task.id}"
            raise PlanError(plan.path, task.line, message, fix=fix)
    return by_id


def _refuse_unknown(plan: Plan, task: Task, by_id: dict[str, Task], noun: str) -> None:
    unknown = [wanted for wanted in task.depends_on if wanted not in by_id]
    if unknown:
        message = f"{noun} {task.id} depends on {', '.join(unknown)}, which this plan does not have"
        raise PlanError(
            plan.path, task.line, message, fix="depend on ids of this plan, or remove the dependency"
        )


def _refuse_cycle(plan: Plan, linked: Sequence[Task], by_id: dict[str, Task], noun: str) -> None:
    finished: set[str] = set()
    for task in linked:
        cycle = _cycle_from(task, by_id, finished)
        if cycle:
            message = f"these {noun}s wait for each other: {' -> '.join(cycle)}"
            raise PlanError(plan.path, by_id[cycle[0]].line, message, fix="remove one of these dependencies")


def _cycle_from(start: Task, by_id: dict[str, Task], finished: set[str]) -> tuple[str, ...]:
    """Depth first with a stack of its own: a chain of ten thousand tasks is deeper than Python recurses."""
    path = {start.id: iter(start.depends_on)}
    while path:
        current = next(reversed(path))
        wanted = next(path[current], None)
        if wanted is None:
            finished.add(current)
            del path[current]
        elif wanted in path:
            trail = list(path)
            return (*trail[trail.index(wanted) :], wanted)
        elif wanted not in finished:
            path[wanted] = iter(by_id[wanted].depends_on)
    return ()
