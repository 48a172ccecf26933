"""The whole story of a run. Read this first.

With the lock held: end what a dead run left alive and recover what it left behind; then, while a task is
ready, begin it, attempt it until an attempt holds, land it. One task, one commit, one compare-and-swap. Where
several may be worked on at once, `side_by_side` does the same with a tree for each. Last, what the plan's own
files have to say about the whole.
"""

from holdfast.engine.attempt import attempt_without_commit
from holdfast.engine.begin import begin_without_commit
from holdfast.engine.budget import stop_at_cap
from holdfast.engine.complete import complete, first_try, next_try, stop_if_asked
from holdfast.engine.finish import finish
from holdfast.engine.give_up import give_up
from holdfast.engine.leftover import end_leftovers
from holdfast.engine.marks import mark_in_tree
from holdfast.engine.patience import wait_on
from holdfast.engine.repair import Standing, recover
from holdfast.engine.schedule import next_task, passed_over
from holdfast.engine.side_by_side import needs_crew, work_side_by_side
from holdfast.engine.site import Site
from holdfast.engine.source import plan_in_tree
from holdfast.errors import GivenUp, TaskFailure
from holdfast.model import events
from holdfast.model.plan import Document, Plan, Task
from holdfast.model.policy import OnFailure
from holdfast.model.state import State
from holdfast.system import clock
from holdfast.system.git import GitKilled, RefMoved

MOST_SURPRISES = 20
"""How often somebody may move the branch under a task, or kill a git call of ours, before we give up."""


def run(site: Site, history: State) -> Plan:
    """Carry the plan out as far as the policy's `only` and `until` say; returns it as it then stands."""
    end_leftovers(site)
    if site.policy.allow_dirty:
        return _run_without_commits(site, history)
    for _ in range(MOST_SURPRISES):
        try:
            return _run_to_the_end(site, history, recover(site))
        except (RefMoved, GitKilled) as surprise:
            site.record(events.Noticed(f"{surprise.message}; looking again"))
    raise TaskFailure(
        "somebody keeps moving the branch or killing git calls under the run",
        fix="find out who (the notes above say what happened), then run again",
    )


def _run_to_the_end(site: Site, history: State, standing: Standing) -> Plan:
    plan, tip = standing.plan, standing.tip
    if standing.resume:
        tip, plan = _carry_out(site, history, plan, tip, standing.resume, standing)
    if needs_crew(site):
        tip, plan = work_side_by_side(site, history, tip, plan)
    while task := _next(site, plan.plan):
        tip, plan = _carry_out(site, history, plan, tip, task)
    return finish(site, tip, plan).plan


def _next(site: Site, plan: Plan) -> Task | None:
    policy = site.policy
    return next_task(plan, passed_over(policy.on_failure, plan), policy.only, policy.until)


def _carry_out(
    site: Site, history: State, plan: Document, tip: str, task: Task, resumed: Standing | None = None
) -> tuple[str, Document]:
    """Land the task, or give it up and go on where the policy says so: the new tip, and the plan there."""
    try:
        return _complete(site, history, plan, tip, task, resumed)
    except GivenUp as failure:
        if site.policy.on_failure is OnFailure.STOP:
            raise
        return give_up(site, tip, plan, task, failure.reason)


def _complete(
    site: Site, history: State, plan: Document, tip: str, task: Task, resumed: Standing | None
) -> tuple[str, Document]:
    began = clock.monotonic()
    this = first_try(site, history, plan, task, resumed)
    done = complete(site, this, tip, history.of(task).waiting)
    if this.finished:
        site.record(events.Noticed("Recovery commit successful.", task.id))
    seconds = clock.monotonic() - began
    site.record(events.TaskLanded(task.id, task.title, done.commit, done.attempt, seconds))
    return done.commit, done.plan


def _run_without_commits(site: Site, history: State) -> Plan:
    """`--allow-dirty`: marks go to the plan file in the tree, and nothing is committed."""
    plan = plan_in_tree(site.git.root, site.plan)
    while task := next_task(plan.plan, only=site.policy.only, until=site.policy.until):
        this = first_try(site, history, plan, task, None)
        wait_on(site, this, history.of(task).waiting)
        flight = begin_without_commit(site, task)
        stop_at_cap(site)
        while result := attempt_without_commit(site, flight, this):
            this = next_try(site, flight, this, result)
            stop_if_asked(site)
            stop_at_cap(site)
        plan = mark_in_tree(site, plan, task)
        site.record(events.TaskLanded(task.id, task.title, "", this.number, 0.0))
        stop_if_asked(site)
    return plan.plan
