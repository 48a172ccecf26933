"""Which task comes next. Pure, and linear in the size of the plan."""

from collections.abc import Iterator, Set

from holdfast.errors import UsageError
from holdfast.model.plan import Plan, Status, Task
from holdfast.model.policy import OnFailure, Order

_NONE: frozenset[str] = frozenset()


def next_task(plan: Plan, failed: Set[str] = _NONE, only: str = "", until: str = "") -> Task | None:
    """The first task in document order that can start, None when nothing can.

    `only` leaves one candidate. `until` stops behind that task; what tasks up to there depend on is included.
    """
    ready = _ready(plan, failed)
    if only:
        wanted = find_task(plan, only).id
        return next((task for task in ready if task.id == wanted), None)
    if until:
        allowed = up_to(plan, find_task(plan, until))
        return next((task for task in ready if task.id in allowed), None)
    return next(ready, None)


def ready_tasks(plan: Plan, failed: Set[str] = _NONE) -> tuple[Task, ...]:
    """All tasks that could start now: neither settled nor failed, and all they depend on is settled."""
    return tuple(_ready(plan, failed))


def startable(
    plan: Plan,
    order: Order,
    running: Set[str] = _NONE,
    failed: Set[str] = _NONE,
    only: str = "",
    until: str = "",
) -> tuple[Task, ...]:
    """Tasks that may be worked on beside those that are `running`, in document order.

    A `failed` one is passed over: what depends on it waits, what only stands behind it does not.
    """
    allowed = _allowed(plan, only, until)
    free = {task.id for task in _in_turn(plan, order, failed)}
    taken = {path for task in plan.tasks if task.id in running for path in task.files}
    found = []
    for task in _ready(plan, failed):
        wanted = task.id in free and task.id not in running and (allowed is None or task.id in allowed)
        if wanted and taken.isdisjoint(task.files):
            taken.update(task.files)
            found.append(task)
    return tuple(found)


def _allowed(plan: Plan, only: str, until: str) -> set[str] | None:
    if only:
        return {find_task(plan, only).id}
    return up_to(plan, find_task(plan, until)) if until else None


def _in_turn(plan: Plan, order: Order, failed: Set[str]) -> Iterator[Task]:
    """Those that nothing unfinished stands before which they would have to wait for."""
    open_before: dict[str, bool] = {}
    """By section, or for the whole plan: does something unfinished stand before this place?"""
    open_before_group = False
    in_group = False
    for task in plan.tasks:
        where = task.section if order is Order.PHASES else ""
        waits = open_before.get(where, False)
        if task.parallel and not in_group:
            open_before_group = waits
        in_group = task.parallel
        tagged = task.parallel and (order is Order.PHASES or not open_before_group)
        if (
            order is Order.DEPENDENCIES
            or tagged
            or not waits
            or (task.depends_on and order is Order.DOCUMENT)
        ):
            yield task
        open_before[where] = waits or not (task.status.settled or task.id in failed)


def waiting_for(plan: Plan, task: Task) -> tuple[str, ...]:
    """The unsettled tasks that this one depends on itself."""
    settled = _settled(plan) if task.depends_on else set()
    return tuple(wanted for wanted in task.depends_on if wanted not in settled)


def blocked_by(plan: Plan, failed: Set[str]) -> dict[str, tuple[str, ...]]:
    """Tasks that cannot start because of failed ones, however far away, each with those failed ids."""
    dependents = _dependents(plan)
    blocked: dict[str, tuple[str, ...]] = {}
    for cause in (task.id for task in plan.tasks if task.id in failed):
        for task_id in _downstream(cause, dependents):
            blocked[task_id] = (*blocked.get(task_id, ()), cause)
    return {t.id: blocked[t.id] for t in plan.tasks if t.id in blocked and t.id not in failed}


def passed_over(on_failure: OnFailure, plan: Plan) -> Set[str]:
    """Tasks that are not tried unasked: failed ones where the run goes on without them, and all where
    nothing may be built upon such a failure. Otherwise the next run tries again what failed."""
    if on_failure is OnFailure.STOP:
        return _NONE
    critical = critical_failure(plan)
    return {task.id for task in plan.tasks if critical or task.status is Status.FAILED}


def critical_failure(plan: Plan) -> Task | None:
    """The failed task that nothing may be built upon."""
    return next((t for t in plan.tasks if t.critical and t.status is Status.FAILED), None)


def find_task(plan: Plan, wanted: str) -> Task:
    """By id, by id in another case, or by key."""
    folded = wanted.casefold()
    exact = plan.task(wanted)
    found = exact or next((task for task in plan.tasks if task.id.casefold() == folded), None)
    found = found or next((task for task in plan.tasks if task.key == folded), None)
    if found:
        return found
    raise UsageError(
        f"there is no task {wanted} in {plan.name}{_did_you_mean(plan, wanted)}", fix=_list_fix(plan)
    )


def _ready(plan: Plan, failed: Set[str]) -> Iterator[Task]:
    settled: set[str] | None = None
    met = {id(()): True}  # by tuple: the tasks of one phase share theirs, which names all of another phase
    for task in plan.tasks:
        if task.status.settled or task.id in failed:
            continue
        if id(task.depends_on) not in met:
            settled = _settled(plan) if settled is None else settled
            met[id(task.depends_on)] = settled.issuperset(task.depends_on)
        if met[id(task.depends_on)]:
            yield task


def _settled(plan: Plan) -> set[str]:
    return {task.id for task in plan.tasks if task.status.settled}


def up_to(plan: Plan, last: Task) -> set[str]:
    allowed: set[str] = set()
    by_id = {task.id: task for task in plan.tasks}
    todo = [task.id for task in plan.tasks[: plan.tasks.index(last) + 1]]
    while todo:
        task_id = todo.pop()
        if task_id not in allowed:
            allowed.add(task_id)
            todo.extend(by_id[task_id].depends_on)
    return allowed


def _dependents(plan: Plan) -> dict[str, list[str]]:
    dependents: dict[str, list[str]] = {}
    for task in plan.tasks:
        if not task.status.settled:
            for wanted in task.depends_on:
                dependents.setdefault(wanted, []).append(task.id)
    return dependents


def _downstream(cause: str, dependents: dict[str, list[str]]) -> set[str]:
    reached: set[str] = set()
    todo = list(dependents.get(cause, ()))
    while todo:
        task_id = todo.pop()
        if task_id not in reached:
            reached.add(task_id)
            todo.extend(dependents.get(task_id, ()))
    return reached


def _did_you_mean(plan: Plan, wanted: str) -> str:
    import difflib  # only a mistyped id pays for it

    near = difflib.get_close_matches(wanted, [task.id for task in plan.tasks], n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _list_fix(plan: Plan) -> str:
    return f"see the ids with `holdfast plan list {plan.path}`"
