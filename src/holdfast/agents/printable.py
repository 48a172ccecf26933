"""Agent output made safe to show, to quote and to commit."""

import re

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # colours and cursor moves
    r"|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # titles and links
    r"|[@-Z\\-_])"
)
# Controls other than tab and newline, and the marks that make text read in another order than it is stored.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """The text without terminal escapes and control characters; lines end in \\n. Always encodable."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    plain = _CONTROLS.sub("", _ESCAPES.sub("", lines))
    return plain.encode("utf-8", "replace").decode("utf-8")


def one_line(text: str, limit: int = 300) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def last_bytes(text: str, limit: int) -> str:
    """The end of a text, at most `limit` bytes of UTF-8, cut between characters."""
    return text.encode("utf-8", "replace")[-limit:].decode("utf-8", "ignore")
