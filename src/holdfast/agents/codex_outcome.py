"""How an attempt of Codex ended. Only a `turn.completed` event is a success.

Errors come as text alone, so text it is; but only that of `turn.failed`, which Codex words itself, and never
a message of the model or the output of a tool.
"""

import re
import time
from typing import NamedTuple

from holdfast.agents import wire
from holdfast.agents.base import Ending, Outcome, OutcomeKind
from holdfast.agents.endings import by_claim, by_status, ended_by_force, ended_early
from holdfast.agents.printable import one_line
from holdfast.agents.report import Report, Word, own_word

LOG_IN = "codex login (or set the key its provider asks for), then run the same command again"

_STATUS = re.compile(r"^(?:unexpected status|exceeded retry limit, last status:) (\d{3})\b")
_BY_WORDS = (
    (re.compile(r"^You.ve hit your usage limit"), OutcomeKind.LIMITED),
    (re.compile(r"^Quota exceeded"), OutcomeKind.OUT_OF_BUDGET),
    (re.compile(r"^Missing environment variable|^Your access token could not be"), OutcomeKind.UNAUTHORISED),
    (
        re.compile(r"high demand|^stream disconnected|^Connection failed|^error sending"),
        OutcomeKind.API_ERROR,
    ),
)
# As in "try again at 5:01 AM." and "try again at Nov 19th, 2026 4:01 AM.", in local time.
_AGAIN = re.compile(r"try again at (?:(\w{3}) (\d{1,2})(?:st|nd|rd|th), (\d{4}) )?(\d{1,2}:\d{2} [AP]M)")
_DAY = 86_400


class Facts(NamedTuple):
    session: str = ""
    final: str = ""
    """The last message of the agent's own."""
    completed: bool = False
    failure: str | None = None
    """What `turn.failed` said."""
    usage: wire.Object = {}  # noqa: RUF012 (never changed)
    report: Report | None = None
    """The last it made with our tool."""


def judged(facts: Facts, ending: Ending, now: float) -> Outcome:
    word = own_word(facts.final, facts.report)
    kind, reason = ended_by_force(ending) or _verdict(facts, word, ending.exit_code or 0, ending.stderr)
    return Outcome(
        kind,
        reason,
        message=word.message,
        success_note=word.success_note,
        tail="",
        fix=LOG_IN if kind is OutcomeKind.UNAUTHORISED else "",
        resets_at=_reset_time(facts.failure or "", now) if kind is OutcomeKind.LIMITED else None,
        tokens_in=wire.count(facts.usage, "input_tokens"),
        tokens_out=wire.count(facts.usage, "output_tokens"),
        session=facts.session,
        criteria=word.criteria,
        refusal=word.refusal,
    )


def _verdict(facts: Facts, word: Word, exit_code: int, stderr: str) -> tuple[OutcomeKind, str]:
    if facts.failure is not None:
        return _by_text(facts.failure), one_line(facts.failure) or "the turn failed"
    if not facts.completed:
        return ended_early(exit_code, "before its turn was over", stderr)
    return by_claim(exit_code, word.claim)


def _by_text(failure: str) -> OutcomeKind:
    if found := _STATUS.search(failure):
        return by_status(int(found[1]))
    return next((kind for words, kind in _BY_WORDS if words.search(failure)), OutcomeKind.FAILED)


def _reset_time(failure: str, now: float) -> float | None:
    found = _AGAIN.search(failure)
    if found is None:
        return None
    month, day, year, hour = found.groups()
    local = time.localtime(now)
    date = f"{month} {day} {year}" if month else time.strftime("%b %d %Y", local)
    try:
        at = time.mktime(time.strptime(f"{date} {hour}", "%b %d %Y %I:%M %p"))
    except (ValueError, OverflowError):
        return None
    return at if month or at > now - 60 else at + _DAY  # a bare time that has passed is tomorrow's
