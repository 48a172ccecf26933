"""The whole story of a run. Read this first.

With the lock held: end what a dead run left alive, recover what it left behind; then, while a task is
ready, begin it, attempt it until it holds, land it. One task, one commit, one compare-and-swap.
"""

from holdfast.engine import rescue
from holdfast.engine.attempt import Failure, Try, attempt, attempt_without_commit, seal_as_it_is
from holdfast.engine.begin import begin
from holdfast.engine.commit import Sealed
from holdfast.engine.flight import Flight, read_flight
from holdfast.engine.land import land
from holdfast.engine.marks import mark_in_tree, plan_in_tree
from holdfast.engine.repair import Standing, recover
from holdfast.engine.schedule import next_task
from holdfast.engine.site import Site
from holdfast.errors import HoldfastError, Interrupted, TaskFailure
from holdfast.model import events
from holdfast.model.plan import Document, Plan, Status, Task
from holdfast.model.state import RunState
from holdfast.system import clock, leftovers
from holdfast.system.git import RefMoved

MOST_MOVES = 20
"""How often somebody may move the branch under a running task before we ask them to stop."""


def run(site: Site, history: RunState) -> Plan:
    """Carry the plan out, as far as `only` and `until` say; returns the plan as it then stands."""
    ended = leftovers.end_leftovers(site.token_prefix)
    if ended:
        site.record(events.Recovered(f"{ended} processes of a dead run were still alive", "ended them"))
    if site.policy.allow_dirty:
        return _run_without_commits(site, history)
    for _ in range(MOST_MOVES):
        try:
            return _run_to_the_end(site, history, recover(site))
        except RefMoved as moved:
            site.record(events.Noticed(f"{moved.message}: somebody else moved it; looking again"))
    raise TaskFailure("the branch keeps moving while tasks are in flight", fix="let one of the two work at a time")


def _run_to_the_end(site: Site, history: RunState, standing: Standing) -> Plan:
    plan, tip, resume = standing.plan, standing.tip, standing.resume
    while task := resume or next_task(plan.plan, only=site.policy.only, until=site.policy.until):
        sealed = _carry_out(site, history, plan, tip, task, standing if resume else None)
        plan = site.plan.dialect.mark(plan, task.id, Status.COMPLETED)
        tip, resume = sealed.commit, None
        _stop_if_asked(site)
    return plan.plan


def _carry_out(
    site: Site, history: RunState, plan: Document, tip: str, task: Task, resumed: Standing | None
) -> Sealed:
    """Attempt the task until an attempt holds, then land it."""
    began = clock.monotonic()
    used, feedback = history.attempts_used(task.key), history.feedback(task.key)
    of = site.policy.max_attempts
    first = min(used + 1, of)
    for number in range(first, of + 1):
        flight = _begin(site, task, tip, number, resumed)
        this = Try(task, plan, number, of, feedback, resumed=resumed is not None and number == first)
        skip_agent = resumed is not None and resumed.finished and number == first
        result = _attempt(site, flight, this, skip_agent=skip_agent)
        if isinstance(result, Sealed):
            land(site, flight, result)
            seconds = clock.monotonic() - began
            site.record(events.TaskLanded(task.id, task.title, result.commit, number, seconds))
            return result
        feedback = result.feedback
        site.record(events.AttemptFailed(task.id, number, result.reason, result.feedback))
    raise _failed(site, task, result)
