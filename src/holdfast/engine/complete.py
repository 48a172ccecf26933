"""One task, until an attempt at it holds: then it is landed on the branch of the tree it was worked on in."""

from typing import NamedTuple

from holdfast.engine import rescue
from holdfast.engine.agent_commits import attempt_with_agents_commit
from holdfast.engine.agent_run import Try
from holdfast.engine.attempt import attempt
from holdfast.engine.begin import begin, rest
from holdfast.engine.budget import stop_at_cap
from holdfast.engine.commit import Sealed
from holdfast.engine.flight import Flight
from holdfast.engine.land import land
from holdfast.engine.patience import bear, wait_on
from holdfast.engine.progress import given_up, likeness, stuck
from holdfast.engine.repair import Standing
from holdfast.engine.site import Site, stopped
from holdfast.engine.verdict import Failure, Postponed
from holdfast.errors import AgentUnavailable, Interrupted, LimitReached, TaskFailure
from holdfast.model import events
from holdfast.model.plan import Document, Task
from holdfast.model.policy import Commits
from holdfast.model.state import Conversation, State

STOPPED = "partial work of a stopped attempt"


class Done(NamedTuple):
    commit: str
    plan: Document
    """As that commit has it."""
    attempt: int


def complete(site: Site, this: Try, tip: str, waiting: events.Waiting | None = None) -> Done:
    """`waiting` is what an earlier run was waiting for when it ended."""
    if not this.finished:
        wait_on(site, this, waiting)
    while True:
        stop_if_asked(site)
        if not this.finished:
            stop_at_cap(site)
        flight = begin(site, this.task, this.plan, tip, this.number)
        result = _attempt(site, flight, this)
        if isinstance(result, Sealed):
            land(site, flight, result)
            return Done(result.commit, result.plan, this.number)
        this = next_try(site, flight, this, result)


def first_try(site: Site, history: State, plan: Document, task: Task, resumed: Standing | None) -> Try:
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


def next_try(site: Site, flight: Flight, this: Try, result: Failure | Postponed) -> Try:
    """The same attempt again where it was the service that failed; otherwise the next one."""
    if isinstance(result, Failure):
        return _next_attempt(site, flight, this, result)
    rest(site, flight)
    borne = bear(site, this, result.outcome)
    return _next_attempt(site, flight, this, borne) if isinstance(borne, Failure) else borne


def _next_attempt(site: Site, flight: Flight, this: Try, failure: Failure) -> Try:
    """The work stays in the tree for the next attempt, which is told why this one failed."""
    alike = likeness(site, flight, failure)
    told = events.AttemptFailed(
        this.task.id, this.number, failure.reason, failure.feedback, this.task.title, alike
    )
    site.record(told)
    failures = (*this.failures, told)
    last = this.number >= this.of or failure.final
    nowhere = site.policy.stop_when_stuck if stuck(failures, site.policy.stop_when_stuck) else 0
    if last or nowhere:
        rest(site, flight)
        end = given_up(this, failure.reason, nowhere, used_up=last)
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


def stop_if_asked(site: Site) -> None:
    if site.stops.requested:
        raise stopped(site, "between two attempts")
