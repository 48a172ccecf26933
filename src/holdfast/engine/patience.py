"""An agent whose service keeps it from working: wait within bounds, then go on with the same attempt."""

from holdfast.agents.base import Outcome, OutcomeKind
from holdfast.engine.agent_run import Try
from holdfast.engine.site import Site, stopped
from holdfast.engine.verdict import Failure, agent_failed
from holdfast.errors import LimitReached
from holdfast.model.events import Noticed, Waiting
from holdfast.model.policy import Policy
from holdfast.model.state import Conversation
from holdfast.system import clock

LONGEST_PAUSE = 60.0
"""Between two errors of the service."""
AFTER_RESET = 1.0
"""The service's clock is not ours: asked in the very second of its reset, it may still refuse."""
LONGEST_NAP = 30.0
"""The clock may be set, or the machine sleep, while we wait."""


def bear(site: Site, this: Try, outcome: Outcome) -> Try | Failure:
    """The same attempt, once the service may be asked again; a failure when there is no patience left."""
    match outcome.kind:
        case OutcomeKind.NO_CONVERSATION:
            site.record(Noticed("the agent's conversation cannot be resumed; a new one begins", this.task.id))
            return this._replace(conversation=Conversation())
        case OutcomeKind.API_ERROR:
            return _after_error(site, this, outcome)
    return _after_limit(site, this, outcome)


def wait_on(site: Site, this: Try, waiting: Waiting | None) -> None:
    """For what is left of a wait in which an earlier run ended."""
    left = waiting.until - clock.now() if waiting else 0.0
    if waiting is None or left <= 0:
        return
    _require_patience(site, left, left, waiting.reason)
    _wait(site, this, left, waiting.reason)


def _after_error(site: Site, this: Try, outcome: Outcome) -> Try | Failure:
    errors = this.patience.errors
    if errors >= site.policy.max_errors:
        return agent_failed(outcome)
    _wait(site, this, min(site.policy.error_pause * 2.0**errors, LONGEST_PAUSE), outcome.reason)
    return _resumed(site, this, outcome)._replace(patience=this.patience._replace(errors=errors + 1))


def _after_limit(site: Site, this: Try, outcome: Outcome) -> Try:
    borne = this.patience
    seconds = limit_pause(site.policy, borne.limits, outcome.resets_at, clock.now())
    waited = borne.waited + seconds
    _require_patience(site, seconds, waited, outcome.reason)
    _wait(site, this, seconds, outcome.reason)
    patience = borne._replace(limits=borne.limits + 1, waited=waited)
    return _resumed(site, this, outcome)._replace(patience=patience)


def limit_pause(policy: Policy, limits: int, resets_at: float | None, now: float) -> float:
    """`limits` were met before this one. A reset that is always said to be past is not believed twice."""
    blind = policy.limit_pause * 2.0**limits
    if resets_at is None:
        return blind
    return max(resets_at - now + AFTER_RESET, blind if limits else AFTER_RESET)


def _require_patience(site: Site, seconds: float, altogether: float, reason: str) -> None:
    if altogether <= site.policy.max_wait:
        return
    at = clock.local_time(clock.now() + seconds)
    when = f"after {at}" if at else "later"
    raise LimitReached(
        f"the agent {site.tools.agent.name} has met a limit, and waiting for it would take longer than "
        f"max_wait allows ({site.policy.max_wait:g} s): {reason}",
        fix=f"run the same command again {when}, or let it wait longer: --max-wait SECONDS",
    )


def _wait(site: Site, this: Try, seconds: float, reason: str) -> None:
    if seconds <= 0:
        return
    until = clock.now() + seconds
    site.record(Waiting(this.task.id, this.number, until, seconds, reason))
    while (left := until - clock.now()) > 0:
        if site.stops.wait(min(left, LONGEST_NAP)):
            raise stopped(site, "while it waited for the agent's service")


def _resumed(site: Site, this: Try, outcome: Outcome) -> Try:
    """In the same conversation where there is one."""
    before = this.conversation
    talk = before if outcome.session in ("", before.session) else Conversation(outcome.session)
    spent = talk.spent.plus(outcome.cost_usd, outcome.tokens_in, outcome.tokens_out)
    changed = site.git.dirt().paths
    return this._replace(resumed=True, changed=changed, conversation=talk._replace(spent=spent))
