"""The first line of a plain Markdown task: an id if one is written, the parallel tag, the title."""

import re
from typing import NamedTuple

_ID = re.compile(
    r"(?:Task[ \t]+([A-Za-z]?[0-9]+(?:\.[0-9]+)*[a-z]?)(?:[:.)]|[ \t]+[-–—:])"
    r"|(T-?[0-9]+(?:\.[0-9]+)*[a-z]?|[0-9]+(?:\.[0-9]+)+)[:.)]?)(?=[ \t*_]|$)"
)
_SEPARATOR = re.compile(r"[ \t]*(?:[:.)]|[-–—](?=[ \t]))?[ \t]*")
_TAGS = r"(?:\[[A-Za-z0-9]+\][ \t]*)+"


class Title(NamedTuple):
    id: str
    """As written, "" where the position has to serve."""
    text: str
    parallel: bool


def parse_title(written: str) -> Title:
    text, early = _without_parallel(written)
    mark = text[:2] if text[:2] in ("**", "__") else ""
    found = _ID.match(text, len(mark))
    if not found:
        return Title("", strip_emphasis(text), early)
    task_id = found[1] or found[2]
    rest, late = _without_parallel(_after_id(text, mark, found.end()))
    return Title(task_id, strip_emphasis(rest) or task_id, early or late)


def strip_emphasis(text: str) -> str:
    """Without the emphasis around all of it, or around its bold beginning."""
    if text[:1] not in ("*", "_"):
        return text
    for mark in ("**", "__"):
        end = closing_mark(text, mark, 2) if text.startswith(mark) else -1
        if end > 2 and text[end + 2 : end + 3] in ("", " ", "\t", ":"):
            return (text[2:end] + text[end + 2 :]).strip()
    if len(text) > 2 and text[-1] == text[0] and text.count(text[0]) == 2:
        return text[1:-1].strip()
    return text


def closing_mark(text: str, mark: str, start: int) -> int:
    """Where emphasis ends: the first `mark` that is not inside inline code, -1 for none."""
    end = text.find(mark, start)
    while end >= 0 and text.count("`", 0, end) % 2:
        end = text.find(mark, end + len(mark))
    return end


def _without_parallel(text: str) -> tuple[str, bool]:
    tags = re.match(_TAGS, text) if "[P]" in text else None
    if not tags or "[P]" not in tags[0]:
        return text, False
    kept = " ".join(tags[0].replace("[P]", " ").split())
    return f"{kept} {text[tags.end() :]}".strip(), True


def _after_id(text: str, mark: str, end: int) -> str:
    """What follows the id, whether the emphasis closes right behind it or further on."""
    rest = text[end:]
    if mark and rest.startswith(mark):
        rest = rest[2:]
    elif mark and (close := closing_mark(text, mark, end)) >= 0:
        rest = text[end:close] + text[close + 2 :]
    return rest[_separator_end(rest) :].strip()


def _separator_end(rest: str) -> int:
    found = _SEPARATOR.match(rest)
    return found.end() if found else 0
