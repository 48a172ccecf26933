"""What the end of an agent means for its attempt, where that end alone decides."""

from typing import NamedTuple

from holdfast.agents.base import Outcome, OutcomeKind
from holdfast.engine.commit import Rejected
from holdfast.engine.site import Site, stopped
from holdfast.errors import AgentUnavailable


class Failure(NamedTuple):
    reason: str
    feedback: str
    final: bool = False
    """Another attempt would make no difference."""


class Postponed(NamedTuple):
    """The service kept the agent from working. That is not a failed attempt, as long as patience lasts."""

    outcome: Outcome


def stop_if_hopeless(site: Site, outcome: Outcome, when: str) -> None:
    """Neither a stop that was asked for nor an agent that nobody has logged in is an attempt."""
    if outcome.kind is OutcomeKind.INTERRUPTED and site.stops.requested:
        raise stopped(site, when)
    if outcome.kind is OutcomeKind.UNAUTHORISED:
        raise AgentUnavailable(
            f"the agent {site.tools.agent.name} cannot work: {outcome.reason}", fix=outcome.fix
        )


def not_finished(outcome: Outcome) -> Failure | Postponed:
    if outcome.kind in (OutcomeKind.LIMITED, OutcomeKind.API_ERROR, OutcomeKind.NO_CONVERSATION):
        return Postponed(outcome)
    return agent_failed(outcome)


def agent_failed(outcome: Outcome) -> Failure:
    output = f"The end of its output:\n{outcome.tail}" if outcome.tail else ""
    return Failure(outcome.reason, _paragraphs(outcome.reason, outcome.feedback, output))


def work_refused(rejected: Rejected, outcome: Outcome) -> Failure:
    return Failure(rejected.reason, _paragraphs(rejected.feedback, outcome.feedback), rejected.final)


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))
