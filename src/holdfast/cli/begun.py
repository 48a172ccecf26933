"""Has this plan been begun before? What `--resume` demands, and what a run says first."""

from holdfast.engine.flight import Flight, read_flight
from holdfast.engine.observe import without_marks
from holdfast.engine.place import PlanPlace, read_plan
from holdfast.engine.refuse import idea_not_committed
from holdfast.engine.source import in_tree
from holdfast.errors import UsageError
from holdfast.model.plan import Plan, Status
from holdfast.system.git import Git
from holdfast.workspaces.base import Workspace


def require_begun(git: Git, place: PlanPlace, plan: Plan) -> None:
    if _begun(git, place, plan):
        return
    if _has_state_file(place):
        raise UsageError(
            f"Resume requested but no state file found: {_state_file(place)}",
            fix="Did you mean to start a new epic execution? Then run without --resume",
        )
    raise UsageError(
        f"resume requested, but nothing has been done for {place.path} yet",
        fix="start it without --resume",
    )


def require_idea_committed(git: Git, place: PlanPlace) -> None:
    """Of an idea whose run begins in a tree of its own: what is not committed would not be there.

    Marks alone are no edit: another tool may have left them.
    """
    changed = set(git.dirt().paths) & set(place.files)
    if changed - {place.path} or (changed and _says_something_else(git, place)):
        raise idea_not_committed(place)


def _says_something_else(git: Git, place: PlanPlace) -> bool:
    data = in_tree(git.root, place.path)
    committed = git.file_in("HEAD", place.path)
    if data is None or committed is None:
        return True
    return without_marks(read_plan(place, data)) != without_marks(read_plan(place, committed))


def opening_words(git: Git, place: PlanPlace, plan: Plan, *, auto_continue: bool) -> str:
    """In the words that users of the plan's own tool know; "" where the first line of a run says enough."""
    begun = _begun(git, place, plan)
    if _has_state_file(place):
        return _resuming(git, place, plan) if begun else f"Starting new epic execution: {plan.name}"
    return "Auto-continue: Resuming existing build..." if auto_continue and begun else ""


def _begun(git: Git, place: PlanPlace, plan: Plan) -> bool:
    """A state file is written with the first finished task: one in flight before that counts as well."""
    if any(task.status.settled for task in plan.tasks) or _state_is_there(git, place):
        return True
    flight = read_flight(Workspace(git, "").tree_state)
    return isinstance(flight, Flight) and flight.plan == place.path


def _resuming(git: Git, place: PlanPlace, plan: Plan) -> str:
    source = f" from state file: {_state_file(place)}" if _state_is_there(git, place) else f": {plan.name}"
    statuses = [task.status for task in plan.tasks]
    completed, failed = statuses.count(Status.COMPLETED), statuses.count(Status.FAILED)
    pending = sum(not status.settled for status in statuses) - failed
    return f"Resuming epic{source} (completed: {completed}, pending: {pending}, failed: {failed})"


def _has_state_file(place: PlanPlace) -> bool:
    return _state_file(place) != place.path


def _state_is_there(git: Git, place: PlanPlace) -> bool:
    return _has_state_file(place) and in_tree(git.root, _state_file(place)) is not None


def _state_file(place: PlanPlace) -> str:
    return place.dialect.marks_in(place.path)
