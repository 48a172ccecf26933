"""The whole story of a run. Read this first.

With the lock held: end what a dead run left alive and recover what it left behind; then, while a task is
ready, begin it, attempt it until an attempt holds, land it. One task, one commit, one compare-and-swap. Last,
what the plan's own files have to say about the whole.
"""

from holdfast.engine import rescue
from holdfast.engine.agent_commits import attempt_with_agents_commit
from holdfast.engine.agent_run import Try
from holdfast.engine.attempt import attempt, attempt_without_commit
from holdfast.engine.begin import begin, begin_without_commit, rest
from holdfast.engine.budget import stop_at_cap
from holdfast.engine.commit import Sealed
from holdfast.engine.finish import finish
from holdfast.engine.flight import Flight
from holdfast.engine.give_up import give_up
from holdfast.engine.land import land
from holdfast.engine.leftover import end_leftovers
from holdfast.engine.marks import mark_in_tree
from holdfast.engine.patience import bear, wait_on
from holdfast.engine.progress import given_up, likeness, stuck
from holdfast.engine.repair import Standing, recover
from holdfast.engine.schedule import next_task, passed_over
from holdfast.engine.site import Site, stopped
from holdfast.engine.source import plan_in_tree
from holdfast.engine.verdict import Failure, Postponed
from holdfast.errors import AgentUnavailable, GivenUp, Interrupted, LimitReached, TaskFailure
from holdfast.model import events
from holdfast.model.plan import Document, Plan, Task
from holdfast.model.policy import Commits, OnFailure
from holdfast.model.state import Conversation, State
from holdfast.system import clock
from holdfast.system.git import GitKilled, RefMoved

MOST_SURPRISES = 20
"""How often somebody may move the branch under a task, or kill a git call of ours, before we give up."""
STOPPED = "partial work of a stopped attempt"


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
    """Attempt the task until an attempt holds, then land it."""
    began = clock.monotonic()
    this = _first_try(site, history, plan, task, resumed)
    if not this.finished:
        wait_on(site, this, history.of(task).waiting)
    while True:
        _stop_if_asked(site)
        if not this.finished:
            stop_at_cap(site)
        flight = begin(site, task, plan, tip, this.number)
        result = _attempt(site, flight, this)
        if isinstance(result, Sealed):
            land(site, flight, result)
            if this.finished:
                site.record(events.Noticed("Recovery commit successful.", task.id))
            seconds = clock.monotonic() - began
            site.record(events.TaskLanded(task.id, task.title, result.commit, this.number, seconds))
            return result.commit, result.plan
        this = _next_try(site, flight, this, result)


def _first_try(site: Site, history: State, plan: Document, task: Task, resumed: Standing | None) -> Try:
    """Attempts that an earlier run used up without giving the task up still count.

    Where the partial work is gone, so is the conversation about it: the agent would believe it still there.
    """
    past = history.of(task)
    of = site.policy.max_attempts
    return Try(
        task,
        plan,
        number=min(past.attempts + 1, of),
        of=of,
        feedback=past.feedback,
        resumed=resumed is not None,
        finished=resumed is not None and resumed.finished,
        changed=site.git.dirt().paths if resumed else (),
        conversation=past.conversation if resumed else Conversation(),
        failures=past.failures,
    )


def _next_try(site: Site, flight: Flight, this: Try, result: Failure | Postponed) -> Try:
    """The same attempt again where it was the service that failed; otherwise the next one."""
    if isinstance(result, Failure):
        return _next_attempt(site, flight, this, result)
    rest(site, flight)
    borne = bear(site, this, result.outcome)
    return _next_attempt(site, flight, this, borne) if isinstance(borne, Failure) else borne


def _next_attempt(site: Site, flight: Flight, this: Try, failure: Failure) -> Try:
    """The work stays in the tree for the next attempt, which is told why this one failed."""
    last = this.number >= this.of or failure.final
    alike = "" if last else likeness(site, flight, failure)
    told = events.AttemptFailed(
        this.task.id, this.number, failure.reason, failure.feedback, this.task.title, alike
    )
    site.record(told)
    failures = (*this.failures, told)
    if last or stuck(failures, site.policy.stop_when_stuck):
        rest(site, flight)
        end = given_up(this, failure.reason, 0 if last else site.policy.stop_when_stuck)
        site.record(events.TaskFailed(this.task.id, this.task.title, end.reason))
        raise end
    number = this.number + 1
    return Try(this.task, this.plan, number, this.of, failure.feedback, False, False, failures=failures)


def _attempt(site: Site, flight: Flight, this: Try) -> Sealed | Failure | Postponed:
    try:
        if site.policy.commits is Commits.AGENT:
            return attempt_with_agents_commit(site, flight, this)
        return attempt(site, flight, this)
    except Interrupted:
        signal = events.Interrupted(this.task.id, this.number, f"signal {site.stops.signal_number}")
        site.record(signal)
        rest(site, flight)
        if not site.git.dirt().clean:
            ref = rescue.snapshot(site.workspace, site.run, flight.key, f"task {flight.task}: {STOPPED}")
            site.record(events.Rescued(ref, STOPPED, this.task.id))
        raise
    except (TaskFailure, AgentUnavailable, LimitReached):
        rest(site, flight)
        raise


def _run_without_commits(site: Site, history: State) -> Plan:
    """`--allow-dirty`: marks go to the plan file in the tree, and nothing is committed."""
    plan = plan_in_tree(site.git.root, site.plan)
    while task := next_task(plan.plan, only=site.policy.only, until=site.policy.until):
        this = _first_try(site, history, plan, task, None)
        wait_on(site, this, history.of(task).waiting)
        flight = begin_without_commit(site, task)
        stop_at_cap(site)
        while result := attempt_without_commit(site, flight, this):
            this = _next_try(site, flight, this, result)
            _stop_if_asked(site)
            stop_at_cap(site)
        plan = mark_in_tree(site, plan, task)
        site.record(events.TaskLanded(task.id, task.title, "", this.number, 0.0))
        _stop_if_asked(site)
    return plan.plan


def _stop_if_asked(site: Site) -> None:
    if site.stops.requested:
        raise stopped(site, "between two attempts")
