"""A task's fate changed by hand. A changed mark is a commit, so it outlives the journal."""

from holdfast.engine import rescue
from holdfast.engine.flight import Flight
from holdfast.engine.land import drop_helpers
from holdfast.engine.leftover import end_leftovers
from holdfast.engine.marks import commit_mark, commit_state
from holdfast.engine.observe import Sight, look, same_task
from holdfast.engine.recover import Action, Record, decide
from holdfast.engine.repair import REPAIRS, clear_dead_locks
from holdfast.engine.schedule import blocked_by, find_task
from holdfast.engine.site import Site
from holdfast.engine.slot import let_go_of_slots
from holdfast.errors import PlanError, Refused
from holdfast.model.events import Rescued, TaskChanged
from holdfast.model.plan import Document, Status, Task

SETTLING = (Action.REFUSE_NEWER, Action.SET_ASIDE, Action.REBUILD, Action.FINISH, Action.PUBLISH)
"""What recovery may do before we look at the task: it changes no byte of anybody's work. An edit of the plan
beside work in flight is taken in too, for letting go of that work would put it aside as well."""


def skip(site: Site, wanted: str) -> str:
    """Returns what was done, in words."""
    sight, plan, task = _settled(site, wanted)
    if task.status.settled:
        return f"task {task.id} is {task.status.value} already"
    return _let_go(site, sight, task) + _mark(site, sight, plan, task, Status.SKIPPED, "Skip")


def reset(site: Site, wanted: str) -> str:
    sight, plan, task = _settled(site, wanted)
    let_go = _let_go(site, sight, task)
    if task.status.settled:
        return let_go + _mark(site, sight, plan, task, Status.PENDING, "Reset")
    site.record(TaskChanged(task.id, "reset"))
    return let_go + f"task {task.id} is open; its attempts are counted anew"


def retry(site: Site, wanted: str) -> str:
    sight, plan, task = _settled(site, wanted)
    if task.status.settled:
        raise Refused(
            f"task {task.id} is {task.status.value}", fix=f"open it again with: holdfast reset {task.id}"
        )
    site.record(TaskChanged(task.id, "retry"))
    _open_again(site, sight, plan, task)
    return f"task {task.id} has all its attempts again"


def _open_again(site: Site, sight: Sight, plan: Document, task: Task) -> None:
    """Where the plan itself says that it failed, and that others wait for it, it must say so no longer."""
    if task.status not in (Status.FAILED, Status.BLOCKED):
        return
    waiting = blocked_by(plan.plan, {task.id})
    opened = plan
    for each in plan.plan.tasks:
        if each.id == task.id or (each.id in waiting and each.status is Status.BLOCKED):
            opened = site.plan.dialect.mark(opened, each.id, Status.PENDING)
    commit_state(site, sight.tip, plan, opened, f"[holdfast] Retry task {task.id}: {task.title}")


def _settled(site: Site, wanted: str) -> tuple[Sight, Document, Task]:
    """What a dead run left is brought to its end first, as far as that needs no decision."""
    end_leftovers(site)
    sight = look(site)
    clear_dead_locks(site, sight)
    while (action := decide(sight.observation)) in SETTLING or (action is Action.TAKE_EDIT and sight.flight):
        REPAIRS[action](site, sight)
        sight = look(site)
    if sight.at_tip is None:
        raise PlanError(
            site.plan.path, 0, "not committed on this branch", fix=f"git add {site.plan.path} && git commit"
        )
    return sight, sight.at_tip, find_task(sight.at_tip.plan, wanted)


def _let_go(site: Site, sight: Sight, task: Task) -> str:
    """The task's own partial work goes to rescue, so that the next task does not inherit it."""
    let_go_of_slots(site, sight.at_tip.plan if sight.at_tip else None, task)
    flight = sight.flight
    if flight is None:
        return ""
    if sight.observation.record is Record.BY_HAND or not _is_of(site, flight, sight, task):
        if sight.observation.record is not Record.BY_HAND and not sight.dirt.clean:
            raise Refused(
                f"task {flight.task} is in flight, with work in the tree",
                fix=f"finish it with: holdfast run {flight.plan}\n"
                f"or let go of it with: holdfast reset {flight.task}",
            )
        drop_helpers(site)
        return ""
    if sight.dirt.clean:
        drop_helpers(site)
        return ""
    ref = rescue.snapshot(site.workspace, site.run, flight.key, f"work of task {task.id}, let go of by hand")
    site.record(Rescued(ref, "let go of by hand", task.id))
    rescue.restore_start(site.workspace, sight.tip)
    drop_helpers(site)
    return f"the partial work of task {task.id} is kept as {ref}\n"


def _is_of(site: Site, flight: Flight, sight: Sight, task: Task) -> bool:
    return sight.at_tip is not None and same_task(site, sight.at_tip.plan, flight) == task


def _mark(site: Site, sight: Sight, plan: Document, task: Task, status: Status, verb: str) -> str:
    if site.plan.path in sight.dirt.paths and sight.flight is None:
        raise Refused(
            f"{site.plan.path} has edits that are not committed",
            fix=f"git commit -m 'Edit the plan' {site.plan.path}, or let `holdfast run` take them in",
        )
    commit = commit_mark(site, sight.tip, plan, task, status, verb)
    site.record(TaskChanged(task.id, verb.lower(), commit))
    return f"task {task.id} is {status.value} now: {commit[:12]}"
