"""What an agent says about its own work, read from its final message only.

A tag is a claim and never evidence: files the agent read and printed can contain one too. The last claim
counts, a suggested commit message is cleaned before anybody can commit it, and nothing here ever raises.
"""

import re
from typing import NamedTuple

from holdfast.agents.printable import printable

# As the prompt shows them. An agent that prints its prompt back has claimed nothing.
SUCCESS_EXAMPLE = "<SUCCESS>task implemented: what you did</SUCCESS>"
FAILURE_EXAMPLE = "<FAILURE>why</FAILURE>"
APPROVE_EXAMPLE = "<SUCCESS>approved: why</SUCCESS>"
FINDINGS_EXAMPLE = "<FAILURE>what you found, one finding a line</FAILURE>"
MESSAGE_KEYWORD = "SUGGESTED_COMMIT_MESSAGE:"

MET_EXAMPLE = "CRITERION 1: met"
UNMET_EXAMPLE = "CRITERION 2: not met: why"

CLAIM_LIMIT = 2000
MESSAGE_LIMIT = 8 * 1024

_FENCE = re.compile(r"(`{3,}|~{3,})\s*[\w-]*$")
_MESSAGE_END = re.compile(r"\s*<(SUCCESS|FAILURE)>|END_COMMIT_MESSAGE\s*$")
# git takes blanks before the separator, any case, and other separators when configured to.
_CRITERION = re.compile(
    r"[ \t]*(?:[-*][ \t]+)?CRITERION (\d{1,4}):[ \t]*(met|not met)\b[:.]?(.*)", re.IGNORECASE
)
_OUR_TRAILER = re.compile(r"\s*holdfast-[\w-]*\s*[:=#]", re.IGNORECASE)


class Claim(NamedTuple):
    succeeded: bool
    text: str


class Reported(NamedTuple):
    """What the agent says about one acceptance criterion."""

    number: int
    met: bool
    note: str


def read_criteria(final_message: str) -> tuple[Reported, ...]:
    """The last word on each criterion it speaks of, by number."""
    found = (_CRITERION.fullmatch(line) for line in printable(final_message).split("\n"))
    spoken = [Reported(int(m[1]), m[2].lower() == "met", m[3].strip()[:CLAIM_LIMIT]) for m in found if m]
    return tuple({reported.number: reported for reported in spoken}.values())


def read_claim(final_message: str) -> Claim | None:
    """The last SUCCESS or FAILURE tag; an opening or closing tag alone is none."""
    spoken = printable(final_message)
    for example in (SUCCESS_EXAMPLE, FAILURE_EXAMPLE, APPROVE_EXAMPLE, FINDINGS_EXAMPLE):
        spoken = spoken.replace(example, " ")
    success, success_at = _last_tag(spoken, "SUCCESS")
    failure, failure_at = _last_tag(spoken, "FAILURE")
    if success_at == failure_at:
        return None
    succeeded = success_at > failure_at
    return Claim(succeeded, (success if succeeded else failure)[:CLAIM_LIMIT])


def suggested_message(final_message: str) -> str:
    """The last suggested commit message, cleaned; "" when there is none worth using."""
    lines = printable(final_message).split("\n")
    starts = [number for number, line in enumerate(lines) if line.startswith(MESSAGE_KEYWORD)]
    if not starts:
        return ""
    start = starts[-1]
    rest = [lines[start].removeprefix(MESSAGE_KEYWORD), *lines[start + 1 :]]
    fence_before = _fence(lines[start - 1]) if start else ""
    return clean_message(_without_backticks("\n".join(_message_lines(rest, fence_before))))


def clean_message(message: str) -> str:
    """A message fit to commit: no control characters, no trailer of ours, bounded."""
    lines = (line.rstrip() for line in printable(message).split("\n"))
    kept = "\n".join(line for line in lines if not _OUR_TRAILER.match(line)).strip()
    return kept.encode()[:MESSAGE_LIMIT].decode("utf-8", "ignore").rstrip()


def _last_tag(text: str, name: str) -> tuple[str, int]:
    """The text of the last complete tag and where it ends; -1 for none."""
    opening, closing = f"<{name}>", f"</{name}>"
    start = text.rfind(opening, 0, max(text.rfind(closing), 0))
    if start < 0:
        return "", -1
    start += len(opening)
    end = text.index(closing, start)
    return text[start:end].strip(), end


def _message_lines(lines: list[str], fence: str) -> list[str]:
    if not fence:
        lines, fence = _step_into_fence(lines)
    for number, line in enumerate(lines):
        if _MESSAGE_END.match(line) or (fence and _closes(line, fence)):
            return lines[:number]
    return lines


def _step_into_fence(lines: list[str]) -> tuple[list[str], str]:
    """When the message is wrapped in a fence: the lines after its opening, and the fence."""
    for number, line in enumerate(lines):
        if line.strip():
            fence = _fence(line)
            return (lines[number + 1 :], fence) if fence else (lines, "")
    return lines, ""


def _fence(line: str) -> str:
    found = _FENCE.match(line.strip())
    return found.group(1) if found else ""


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return bare.startswith(fence) and not bare.strip(fence[0])


def _without_backticks(message: str) -> str:
    bare = message.strip()
    inner = bare.strip("`")
    wrapped = bare.startswith("`") and bare.endswith("`") and "`" not in inner
    return inner if wrapped else message
