"""How an attempt of an agent that speaks ACP ended. Only an answered prompt can be a success.

What counts is the reason the agent gives for its end, or the error it answers with. Errors of the service
have no form of their own in the protocol: their status is looked for where agents are known to put it, in the
error alone. An exit status says nothing once the turn is over, for many have to be ended by force then.
"""

import re
from typing import NamedTuple

from holdfast.agents import wire
from holdfast.agents.acp_permission import touched
from holdfast.agents.base import Ending, Outcome, OutcomeKind
from holdfast.agents.endings import by_claim, by_status, ended_by_force, ended_early
from holdfast.agents.printable import one_line
from holdfast.agents.tags import read_claim, read_criteria, suggested_message

AUTH_REQUIRED = -32000
MOST_DENIALS = 10

_BY_STOP = {
    "refusal": (OutcomeKind.REFUSED, "the model refuses to go on"),
    "max_tokens": (OutcomeKind.FAILED, "the model's answer was cut off at its longest"),
    "max_turn_requests": (OutcomeKind.OUT_OF_TURNS, "the agent has asked the model as often as it may"),
    "cancelled": (OutcomeKind.INTERRUPTED, "the turn was cancelled"),
}
_STATUS_KEYS = ("status", "statusCode", "status_code", "http_status", "httpStatus")
_STATUS = re.compile(r"^(?:\W*error\W+)?\[?(?:API Error: |HTTP )?([45]\d\d)\b", re.IGNORECASE)
# goose ends the turn as usual and tells what went wrong as a last message of its own, in these words. A model
# that says the same is asked again, a few times at most; a tool that says so is not heard here.
_GOOSE = (
    (r"Ran into this error: Rate limit exceeded\b.*", OutcomeKind.LIMITED),
    (r"Ran into this error: (?:Server|Network) error\b.*", OutcomeKind.API_ERROR),
    (r"Ran into this error: Authentication\b.*", OutcomeKind.UNAUTHORISED),
    (r"Ran into this error: .*", OutcomeKind.FAILED),
    (r"Network error: .*Please resend your message to try again\.", OutcomeKind.API_ERROR),
    (r"The model returned an empty response\. Please resend .*", OutcomeKind.API_ERROR),
    (r".* credits.*, then resend your message to continue\.", OutcomeKind.OUT_OF_BUDGET),
    (r"I've reached the maximum number of actions I can do without user input\..*", OutcomeKind.OUT_OF_TURNS),
)
_TOLD = {"goose": [(re.compile(words, re.DOTALL), kind) for words, kind in _GOOSE]}


class Facts(NamedTuple):
    agent: str = ""
    session: str = ""
    resumed: bool = False
    final: str = ""
    """What the agent itself said last."""
    ended: wire.Object = {}  # noqa: RUF012 (never changed)
    """The answer to the prompt."""
    error: wire.Object = {}  # noqa: RUF012 (never changed)
    gone: wire.Object = {}  # noqa: RUF012 (never changed)
    denied: tuple[str, ...] = ()
    stuck: bool = False
    """Nothing has come since a call was denied: neither words nor another call."""
    cost_usd: float | None = None
    tokens_in: int = 0
    tokens_out: int = 0


def judged(facts: Facts, ending: Ending, log_in: str) -> Outcome:
    kind, reason = ended_by_force(ending) or _verdict(facts, ending)
    claim = read_claim(facts.final) if facts.ended else None
    final = facts.final if facts.ended else ""
    return Outcome(
        kind,
        reason,
        message=suggested_message(final),
        success_note=claim.text if claim and claim.succeeded else "",
        tail="",
        feedback=_denials(facts.denied),
        fix=f"{log_in}, then run the same command again" if kind is OutcomeKind.UNAUTHORISED else "",
        cost_usd=facts.cost_usd,
        tokens_in=facts.tokens_in,
        tokens_out=facts.tokens_out,
        session=facts.session,
        criteria=read_criteria(final),
    )


def _verdict(facts: Facts, ending: Ending) -> tuple[OutcomeKind, str]:
    if facts.ended:
        return _by_stop(facts)
    if facts.error:
        return _by_error(facts.error)
    code, number = wire.number(facts.gone, "exit_code"), wire.number(facts.gone, "signal")
    if number is not None:
        killed = Ending(None, int(number), None, 0)
        return ended_by_force(killed) or (OutcomeKind.CRASHED, "")
    status = (ending.exit_code or 0) if code is None else int(code)
    return ended_early(status, "before its turn was over", ending.stderr)


def _by_stop(facts: Facts) -> tuple[OutcomeKind, str]:
    stop = wire.text(facts.ended, "stopReason")
    if stop != "end_turn":
        return _BY_STOP.get(stop, (OutcomeKind.FAILED, f'the turn ended with "{one_line(stop)}"'))
    if facts.stuck:
        return OutcomeKind.FAILED, f"its turn ended at a call that was not permitted: {facts.denied[-1]}"
    for words, kind in _TOLD.get(facts.agent, ()):
        if words.fullmatch(facts.final):
            return kind, one_line(facts.final)
    return by_claim(0, read_claim(facts.final))


def _by_error(error: wire.Object) -> tuple[OutcomeKind, str]:
    code, told = wire.count(error, "code"), _told(error)
    reason = f"{wire.text(error, 'during')}: {told}"
    if wire.text(error, "during") == "session/cancel":
        return OutcomeKind.INTERRUPTED, f"somebody stopped it: {told}"
    if code == AUTH_REQUIRED:
        return OutcomeKind.UNAUTHORISED, reason
    status = _status(error, code, told)
    return (by_status(status) if status else OutcomeKind.FAILED), reason


def _told(error: wire.Object) -> str:
    """The error in words: "Internal error" alone says nothing, its details do."""
    data = wire.inner(error, "data")
    details = wire.text(data, "details") or wire.text(data, "message") or wire.text(error, "data")
    return one_line(details or wire.text(error, "message") or f"error {wire.count(error, 'code')}")


def _status(error: wire.Object, code: int, told: str) -> int:
    data = wire.inner(error, "data")
    given = [code, *(wire.count(data, key) for key in _STATUS_KEYS)]
    if found := _STATUS.search(told):
        given.append(int(found[1]))
    return next((status for status in given if 400 <= status < 600), 0)


def _denials(denied: tuple[str, ...]) -> str:
    if not denied:
        return ""
    calls = [f"- {call}" for call in denied[:MOST_DENIALS]]
    more = [f"and {len(denied) - MOST_DENIALS} more"] if len(denied) > MOST_DENIALS else []
    return "These tool calls were not permitted, so do without them:\n" + "\n".join((*calls, *more))


def in_words(call: wire.Object) -> tuple[str, str]:
    """What a tool call is called, and what it is about where its title does not say so."""
    given = wire.inner(call, "rawInput")
    title = one_line(wire.text(call, "title") or wire.text(call, "kind") or "tool")
    about = next((text for text in (wire.text(given, "command"), *touched(call)) if text), "")
    known = about.rpartition("/")[2] in title
    return title, "" if known else one_line(about)
