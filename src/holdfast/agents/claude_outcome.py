"""How an attempt of Claude Code ended, judged by its own events and never by words it may have read.

Without a `result` event nothing is a success, whatever the exit status says: an interrupted `claude` exits
with 0. And a `result` of subtype "success" is a failure when it says `is_error`.
"""

from typing import NamedTuple

from holdfast.agents import wire
from holdfast.agents.base import Ending, Outcome, OutcomeKind
from holdfast.agents.endings import by_claim, by_status, ended_by_force, ended_early
from holdfast.agents.printable import one_line
from holdfast.agents.report import Report, Word, own_word

LOG_IN = "claude auth login (or set ANTHROPIC_API_KEY), then run the same command again"
MOST_DENIALS = 10

_BY_ERROR = {
    "authentication_failed": OutcomeKind.UNAUTHORISED,
    "billing_error": OutcomeKind.OUT_OF_BUDGET,
    "rate_limit": OutcomeKind.LIMITED,
    "server_error": OutcomeKind.API_ERROR,
    "overloaded": OutcomeKind.API_ERROR,
    "invalid_request": OutcomeKind.FAILED,
    "model_not_found": OutcomeKind.FAILED,
    "max_output_tokens": OutcomeKind.FAILED,
}
_BY_SUBTYPE = {
    "error_max_turns": OutcomeKind.OUT_OF_TURNS,
    "error_max_budget_usd": OutcomeKind.OUT_OF_BUDGET,
}
# What a tool call is about, by the first of these that its input has.
_SUBJECTS = (
    "file_path",
    "notebook_path",
    "command",
    "pattern",
    "url",
    "query",
    "path",
    "description",
    "skill",
)
_TOKENS_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class Facts(NamedTuple):
    """What the events said that matters for the end."""

    session: str = ""
    result: wire.Object = {}  # noqa: RUF012 (never changed)
    """The last `result` event: there can be two."""
    error: str = ""
    """The last error of the service, as Claude Code names it."""
    resets_at: float | None = None
    report: Report | None = None
    """The last it made with our tool."""


def judged(facts: Facts, ending: Ending) -> Outcome:
    word = own_word(wire.text(facts.result, "result"), facts.report)
    kind, reason = ended_by_force(ending) or _verdict(facts, word, ending.exit_code or 0, ending.stderr)
    usage = wire.inner(facts.result, "usage")
    return Outcome(
        kind,
        reason,
        message=word.message,
        success_note=word.success_note,
        tail="",
        feedback=_denials(facts.result),
        fix=LOG_IN if kind is OutcomeKind.UNAUTHORISED else "",
        resets_at=facts.resets_at if kind is OutcomeKind.LIMITED else None,
        cost_usd=wire.number(facts.result, "total_cost_usd"),
        tokens_in=sum(wire.count(usage, key) for key in _TOKENS_READ),
        tokens_out=wire.count(usage, "output_tokens"),
        session=facts.session,
        criteria=word.criteria,
        refusal=word.refusal,
    )


def _verdict(facts: Facts, word: Word, exit_code: int, stderr: str) -> tuple[OutcomeKind, str]:
    if not facts.result:
        return ended_early(exit_code, "and without a result", stderr)
    subtype = wire.text(facts.result, "subtype")
    if subtype in _BY_SUBTYPE:
        return _BY_SUBTYPE[subtype], _errors(facts.result) or subtype
    if subtype != "success":
        return ended_early(exit_code, "in the middle of its work", _errors(facts.result) or subtype)
    if facts.result.get("is_error") is not False:
        return _service_failed(facts)
    return by_claim(exit_code, word.claim)


def _service_failed(facts: Facts) -> tuple[OutcomeKind, str]:
    status = wire.number(facts.result, "api_error_status")
    kind = _BY_ERROR.get(facts.error) or by_status(None if status is None else int(status))
    return kind, one_line(wire.text(facts.result, "result")) or "an error of the service"


def _errors(result: wire.Object) -> str:
    errors = result.get("errors")
    words = [error for error in errors if isinstance(error, str)] if isinstance(errors, list) else []
    return one_line("; ".join(words))


def _denials(result: wire.Object) -> str:
    denied = wire.items(result, "permission_denials")
    if not denied:
        return ""
    calls = [_call(denial) for denial in denied[:MOST_DENIALS]]
    more = [f"and {len(denied) - MOST_DENIALS} more"] if len(denied) > MOST_DENIALS else []
    return "These tool calls were not permitted, so do without them:\n" + "\n".join((*calls, *more))


def _call(denial: wire.Object) -> str:
    about = one_line(subject(wire.inner(denial, "tool_input")))
    return "- " + ": ".join(filter(None, (wire.text(denial, "tool_name"), about)))


def subject(tool_input: wire.Object) -> str:
    """What a tool call is about: a file, a command."""
    return next((found for key in _SUBJECTS if (found := wire.text(tool_input, key))), "")
