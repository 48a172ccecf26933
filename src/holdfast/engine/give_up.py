"""A task is given up and the run goes on: its work to rescue, its dependents blocked.

Where the plan says that nothing may stand without it, everything the plan's tasks did is taken back.
"""

from holdfast.engine import rescue
from holdfast.engine.begin import begin
from holdfast.engine.commit import Contents, prepare_index
from holdfast.engine.flight import Flight, read_flight
from holdfast.engine.land import drop_helpers, land
from holdfast.engine.landed import ANEW, landed_tasks
from holdfast.engine.marks import commit_state, seal_plan
from holdfast.engine.message import KEY, PLAN, RUN, STATUS, read_trailers
from holdfast.engine.schedule import blocked_by
from holdfast.engine.site import Site
from holdfast.engine.source import kept_files
from holdfast.errors import Refused, TaskFailure
from holdfast.model.events import Noticed, Rescued
from holdfast.model.plan import Document, Plan, Status, Task

TASKS, PLANS = "of a task", "of the plan"
ROLLBACK = Task("rollback", "take back what the plan's tasks did", Status.PENDING, 0)


def give_up(site: Site, tip: str, plan: Document, task: Task, reason: str) -> tuple[str, Document]:
    """The new tip, and the plan there with the task failed and its dependents blocked."""
    _clear_away(site, task)
    blocked = tuple(blocked_by(plan.plan, {task.id}))
    failed = site.plan.dialect.fail(plan, task.id, reason, blocked)
    tip, plan = commit_state(site, tip, plan, failed, f"[holdfast] Fail task {task.id}: {task.title}")
    for waiting in blocked:
        site.record(Noticed(f"blocked: it depends on {task.id}, which failed", waiting))
    return tip, plan._replace(plan=with_failure(plan.plan, task, blocked))


def with_failure(plan: Plan, task: Task, blocked: tuple[str, ...]) -> Plan:
    """Said also where the plan's own files have no word for it, for the rest of this run."""
    now = {task.id: Status.FAILED} | dict.fromkeys(blocked, Status.BLOCKED)
    tasks = [known._replace(status=now.get(known.id, known.status)) for known in plan.tasks]
    return plan._replace(tasks=tuple(tasks))


def _clear_away(site: Site, task: Task) -> None:
    flight = read_flight(site.workspace.tree_state)
    if isinstance(flight, Flight) and not site.git.dirt().clean:
        reason = f"work of task {task.id}, which failed"
        ref = rescue.snapshot(site.workspace, site.run, flight.key, reason)
        site.record(Rescued(ref, "the task failed", task.id))
        rescue.restore_start(site.workspace, flight.base)
    drop_helpers(site)


def end_after_critical_failure(site: Site, tip: str, plan: Document, task: Task) -> TaskFailure:
    """Decided by what the plan says, so that a run which was killed here does it the next time."""
    if not plan.plan.rollback_on_failure:
        return TaskFailure(
            f"critical task {task.id} failed: nothing that comes after it is started",
            fix=f"holdfast log {task.id} tells why; try again with: holdfast retry {task.id}",
        )
    baseline = _baseline(site, tip)
    if baseline != tip:
        _take_back(site, tip, plan, task, baseline)
    return TaskFailure(
        f"critical task {task.id} failed: what the plan's tasks did was taken back",
        fix="every commit of theirs is still in the history, below that one; "
        f"begin again with: holdfast run {plan.plan.path} --force-new",
    )


def _baseline(site: Site, tip: str) -> str:
    """The commit below the tasks' commits. Somebody else's commit among them must not be undone."""
    baseline = commit = tip
    while kind := _kind(site, commit):
        commit = site.git.text("rev-parse", f"{commit}^")
        baseline = commit if kind == TASKS else baseline
    if landed_tasks(site.git, site.plan.path, commit):
        raise Refused(
            f"what the plan's tasks did cannot be taken back: {commit[:12]} stands among their commits",
            fix=f"take back by hand what is not wanted: git log --grep '{PLAN}: {site.plan.path}'",
        )
    return baseline


def _kind(site: Site, commit: str) -> str:
    """Whose commit it is: a task's, one that changes the plan's own files alone, or ("") somebody else's."""
    trailers = read_trailers(site.git.text("log", "-1", "--format=%B", commit))
    if trailers.get(PLAN) != site.plan.path or trailers.get(STATUS) == ANEW:
        return ""
    if KEY in trailers and STATUS not in trailers:
        return TASKS
    changed = {change.path for change in site.git.changes_between(f"{commit}^", commit)}
    return PLANS if changed <= set(kept_files(site.plan)) else ""


def _take_back(site: Site, tip: str, plan: Document, task: Task, baseline: str) -> None:
    """As a commit on top: a branch that may be shared keeps its history, and nothing is lost."""
    ref = rescue.pin(site.git, site.run, "rolled-back", tip, f"before {task.id} failed")
    site.record(Rescued(ref, "the branch before it was rolled back", task.id))
    flight = begin(site, ROLLBACK, plan, tip, attempt=1)
    rescue.restore_start(site.workspace, baseline)
    reason = f"critical task {task.id} failed"
    after = site.plan.dialect.rolled_back(plan, reason)._replace(ignored=plan.ignored)
    prepare_index(site, tip)
    trailers = {PLAN: site.plan.path, RUN: site.run, STATUS: ANEW}
    message = f"[holdfast] Roll back {site.plan.name}: {reason}"
    sealed = seal_plan(site, Contents(tip, after, message, trailers, flight.token, before=plan))
    land(site, flight, sealed)
    site.record(Noticed(f"rolled back to {baseline[:12]} as {sealed.commit[:12]}", task.id))
