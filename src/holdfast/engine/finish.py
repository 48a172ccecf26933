"""The end of a run: what the plan's own files say once every task is settled, or one has failed for good."""

from holdfast.engine.give_up import end_after_critical_failure
from holdfast.engine.landed import by_task, completion, landed_tasks
from holdfast.engine.marks import commit_state
from holdfast.engine.schedule import critical_failure
from holdfast.engine.site import Site
from holdfast.errors import TaskFailure
from holdfast.model.plan import Document, Status
from holdfast.model.policy import OnFailure
from holdfast.plans.base import Completion


def finish(site: Site, tip: str, plan: Document) -> Document:
    """The plan as it then stands. Raises when a failure was passed over: an incomplete plan is no success."""
    if site.policy.on_failure is OnFailure.CONTINUE:
        _tell_failures(site, tip, plan)
    if not site.plan.dialect.keeps(site.plan.path) or not all(t.status.settled for t in plan.plan.tasks):
        return plan
    finished = site.plan.dialect.finish(plan, _landed(site, tip, plan))
    return commit_state(site, tip, plan, finished, site.plan.dialect.finish_message(finished))[1]


def _landed(site: Site, tip: str, plan: Document) -> dict[str, Completion]:
    """Oldest first: two may have been made within one second, and only their order tells which came last."""
    newest_first = by_task(plan.plan, landed_tasks(site.git, site.plan.path, tip))
    branch = site.lands_on.removeprefix("refs/heads/")
    return {
        task: completion(landed, task, branch, site.attempts(task))
        for task, landed in reversed(newest_first.items())
        if landed.status is Status.COMPLETED
    }


def _tell_failures(site: Site, tip: str, plan: Document) -> None:
    if critical := critical_failure(plan.plan):
        raise end_after_critical_failure(site, tip, plan, critical)
    failed = [task.id for task in plan.plan.tasks if task.status is Status.FAILED]
    blocked = [task.id for task in plan.plan.tasks if task.status is Status.BLOCKED]
    if failed:
        waiting = f"; blocked by that: {', '.join(blocked)}" if blocked else ""
        raise TaskFailure(
            f"{'task' if len(failed) == 1 else 'tasks'} {', '.join(failed)} failed{waiting}",
            fix=f"holdfast log {failed[0]} tells why; try again with: holdfast retry {failed[0]}",
        )
