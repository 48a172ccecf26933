"""Each event as one readable line. The one place that words them, for every view."""

from holdfast.model.events import (
    AgentEnded,
    AgentSession,
    AgentSpoke,
    AttemptFailed,
    AttemptStarted,
    BuildDiscarded,
    BuildMerged,
    CriterionReported,
    Event,
    GateFinished,
    Interrupted,
    Noticed,
    Queued,
    Recovered,
    Rescued,
    ReviewEnded,
    ReviewStarted,
    RunEnded,
    RunStarted,
    TaskChanged,
    TaskFailed,
    TaskLanded,
    Waiting,
)
from holdfast.views.text import duration, last_line, plain

OUTPUT = "  | "
"""What stands before a line that an agent or a gate wrote."""


def sentence(event: Event) -> str:
    """Without control characters; what the agent said keeps its indent."""
    if isinstance(event, AgentSpoke):
        return OUTPUT + plain(event.text)
    return plain(_about_run(event) or _about_task(event))


def usage(cost_usd: float | None, tokens_in: int, tokens_out: int) -> str:
    tokens = f"{tokens_in:,} tokens in, {tokens_out:,} out" if tokens_in or tokens_out else ""
    cost = f"${cost_usd:,.4f}" if cost_usd is not None else ""
    return ", ".join(filter(None, (tokens, cost)))


def short_commit(commit: str) -> str:
    return commit[:10]


def _about_run(event: Event) -> str:
    match event:
        case RunStarted():
            done = f"{event.settled} of {event.total} tasks done"
            return f"{event.plan}: {done}; branch {event.branch}, agent {event.agent}, {event.mode} mode"
        case Recovered():
            return f"recovered: {_task(event.task)}found {event.found}; {event.did}"
        case Rescued():
            return f"rescued: {_task(event.task)}{event.reason}{_kept_as(event.ref)}"
        case Noticed():
            return f"note: {_task(event.task)}{event.text}"
        case BuildMerged():
            return (
                f"merged: {event.branch} into {event.into}, {event.how}{_kept_as(short_commit(event.commit))}"
            )
        case BuildDiscarded():
            return f"discarded: {event.branch}{_kept_as(event.rescue)}"
        case RunEnded():
            return _ended(event)
    return ""


def _ended(event: RunEnded) -> str:
    spent = f"; {used}" if (used := usage(event.cost_usd, event.tokens_in, event.tokens_out)) else ""
    done = f"{event.settled} of {event.total} tasks done, {duration(event.seconds)}{spent}"
    if event.exit_code == 0:
        return f"finished: {event.reason + '; ' if event.reason else ''}{done}"
    return f"stopped: {event.reason or 'see above'}; {done} (exit {event.exit_code})"


def _about_task(event: Event) -> str:
    match event:
        case AttemptStarted():
            return f"{_task(event.task)}{event.title} (attempt {event.attempt} of {event.of})"
        case AgentEnded():
            took = f"after {duration(event.seconds)}"
            took += _kept_as(usage(event.cost_usd, event.tokens_in, event.tokens_out))
            return f"{_task(event.task)}{_agent_ended(event)} {took}"
        case Waiting():
            return f"{_task(event.task)}waiting {duration(event.seconds)} for the service: {event.reason}"
        case Queued():
            return f"{_task(event.task)}finished; waits for its turn to land"
        case AgentSession():
            return f"{_task(event.task)}agent session {event.session}"
        case CriterionReported():
            return f"{_task(event.task)}criterion {_with(event.verdict, event.note)}: {event.criterion}"
        case GateFinished():
            verdict = "passed" if event.passed else _with("refused", last_line(event.output))
            return f"{_task(event.task)}gate {event.gate} {verdict} ({duration(event.seconds)})"
        case ReviewStarted():
            return f"{_task(event.task)}review by {event.agent}"
        case ReviewEnded():
            return f"{_task(event.task)}{_review_ended(event)}"
        case AttemptFailed():
            return f"{_task(event.task)}attempt {event.attempt} failed: {event.reason}"
        case TaskLanded():
            took = duration(event.seconds)
            return f"{_task(event.task)}landed as {short_commit(event.commit)}: {event.title} ({took})"
        case TaskFailed():
            return f"{_task(event.task)}FAILED: {event.reason}"
        case TaskChanged():
            return f"{_task(event.task)}{event.action} by hand{_kept_as(short_commit(event.commit))}"
        case Interrupted():
            return f"{_task(event.task)}interrupted by {event.signal}; attempt {event.attempt} does not count"
    return ""


def _agent_ended(event: AgentEnded) -> str:
    code = "" if event.exit_code in (None, 0) else f" with exit code {event.exit_code}"
    return _with(f"agent {event.outcome.replace('_', ' ')}{code}", event.reason)


def _review_ended(event: ReviewEnded) -> str:
    verdict = {"approved": "approves", "findings": "objects"}.get(event.verdict, "gives no verdict")
    used = usage(event.cost_usd, event.tokens_in, event.tokens_out)
    words = _with(f"reviewer {event.agent} {verdict}", " ".join(event.reason.split()))
    return f"{words} after {duration(event.seconds)}{_kept_as(used)}"


def _with(statement: str, reason: str) -> str:
    return f"{statement}: {reason}" if reason else statement


def _kept_as(name: str) -> str:
    return f" ({name})" if name else ""


def _task(task: str) -> str:
    return f"task {task}: " if task else ""
