"""Secrets kept out of what we write: logs, journal, prompts, commit messages.

Known by how they look, or because a variable of ours that is named like a secret holds them. What looks like
nothing in particular (a password in prose) is not recognised.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

MARK = "[redacted]"
SHORTEST_VALUE = 8
"""Shorter values of variables are words and numbers that mean something elsewhere too."""
HELD_BACK = 4096
"""Bytes of an unfinished line that a stream waits with, so that no secret is seen in halves only."""

_SECRET_NAMES = ("_KEY", "_TOKEN", "_SECRET")
# What every match must contain: looking for these first costs a flood of output next to nothing.
_HINTS = ("sk-", "ghp_", "gho_", "ghs_", "github_pat_", "AKIA", "earer ")
# A key stands at the beginning of a word. A line break that JSON writes as \\n, and the end of a colour, look
# like letters of the same word and are none.
_AFTER = r"(?<=\\[nrtbf])|(?<=\dm)"
_SHAPES = (
    rf"(?:(?<![\w-])|{_AFTER})sk-(?=[\w-]*\d)[\w-]{{20,}}"
    rf"|(?:(?<!\w)|{_AFTER})(?:gh[pos]_\w{{20,}}|github_pat_\w{{20,}}|AKIA[0-9A-Z]{{16}}(?!\w))"
    r"|(?<=[Bb]earer )[\w.~+/-]{16,}=*"
)
_BREAK = re.compile(rb"[^\w.~+/=-]")


class Secrets(NamedTuple):
    values: tuple[str, ...]
    """The longest first, so that none is cut in two by another that it contains."""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Secrets":
        held = {
            value
            for name, value in environment.items()
            if name.endswith(_SECRET_NAMES)
            and not name.startswith("HOLDFAST_")
            and len(value) >= SHORTEST_VALUE
        }
        held |= {form for value in held for form in _in_json(value)}
        return cls(tuple(sorted(held, key=lambda value: (-len(value), value))))

    def redacted(self, text: str) -> str:
        for value in self.values:
            text = text.replace(value, MARK)
        if any(hint in text for hint in _HINTS):
            text = re.sub(_SHAPES, MARK, text, flags=re.ASCII)
        return text

    def stream(self) -> "RedactedStream":
        return RedactedStream(self)


class RedactedStream:
    """The same for bytes that come in chunks; what is no UTF-8 comes through as it is."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._signs = tuple(text.encode("utf-8", "surrogateescape") for text in (*secrets.values, *_HINTS))
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        data = self._held + chunk
        end = _safe_end(data)
        self._held = data[end:]
        return self._redacted(data[:end])

    def rest(self) -> bytes:
        data, self._held = self._held, b""
        return self._redacted(data)

    def _redacted(self, data: bytes) -> bytes:
        if not any(sign in data for sign in self._signs):
            return data
        text = data.decode("utf-8", "surrogateescape")
        return self._secrets.redacted(text).encode("utf-8", "surrogateescape")


def _in_json(value: str) -> tuple[str, str]:
    """As it stands in an agent's events: quotes and backslashes escaped, and perhaps foreign letters."""
    import json  # slow to load, and only a run needs it

    return json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]


def _safe_end(data: bytes) -> int:
    """Where no secret can be cut in two: after a line; in a long line after what cannot be part of one."""
    newline = data.rfind(b"\n") + 1
    if len(data) - newline <= HELD_BACK:
        return newline
    breaks = [found.end() for found in _BREAK.finditer(data, len(data) - HELD_BACK)]
    return breaks[-1] if breaks else len(data)
