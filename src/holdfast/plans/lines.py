"""Plan bytes to lines that know where they stand, and whether they are structure or only quoted."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from holdfast.errors import PlanError

TEXT, BLANK, OPENS, QUOTED = "text", "blank", "opens", "quoted"
"""What a line is. OPENS starts a code fence or an HTML comment, QUOTED goes on: neither is structure."""


class Line(NamedTuple):
    number: int
    at: int
    """Byte offset of the line's first character."""
    text: str
    """Without line ending."""
    indent: int
    """Columns of white space before the text."""
    kind: str


class Scan(NamedTuple):
    lines: list[Line]
    unclosed: int
    """The line of a fence or comment that runs to the end of the file, 0 if there is none."""


class _Quote(NamedTuple):
    """An open code fence, or an HTML comment when `fence` is empty."""

    fence: str
    indent: int
    line: int


_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_BOX_ITEM = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+\[[ xX-]\](?:[ \t]|$)")


def scan_lines(data: bytes, path: str, unfenced: int = 0) -> Scan:
    """The lines of a plan. The line `unfenced` counts as quoted itself, but opens nothing."""
    texts = decode(data, path).replace("\r\n", "\n").split("\n")
    at = len(data) - len(data.removeprefix(b"\xef\xbb\xbf"))
    lines: list[Line] = []
    quote: _Quote | None = None
    for raw, text in zip(data[at:].split(b"\n"), texts, strict=True):
        line = _plain_line(len(lines) + 1, at, text)
        if quote:
            line, quote = _continued(line, quote)
        elif "```" in text or "~~~" in text or "<!--" in text:
            line, quote = _opening(line) if line.number != unfenced else (line._replace(kind=QUOTED), None)
        lines.append(line)
        at += len(raw) + 1
    if b"<<<<<<<" in data or b">>>>>>>" in data:
        refuse_conflict(path, _conflict_candidates(lines))
    return Scan(lines, quote.line if quote else 0)


def decode(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"the plan is not UTF-8: byte 0x{data[error.start]:02x} cannot stand here"
        raise PlanError(path, line, message, fix="save the file as UTF-8") from error


def refuse_hidden_tasks(scan: Scan, path: str) -> None:
    """A fence someone forgot to close must not make the open tasks below it look like none."""
    hidden = scan.lines[scan.unclosed :] if scan.unclosed else []
    task = next((line for line in hidden if is_box_item(line.text)), None)
    if task:
        message = (
            f"the code fence or comment opened here is never closed and hides the task on line {task.number}"
        )
        raise PlanError(path, scan.unclosed, message, fix="close it where it should end")


def refuse_conflict(path: str, numbered: Iterable[tuple[int, str]]) -> None:
    for number, text in numbered:
        if text.startswith(("<<<<<<<", ">>>>>>>")):
            message = f"an unresolved merge conflict ({text[:7]})"
            fix = "resolve the conflict, then run the same command again"
            raise PlanError(path, number, message, fix=fix)


def is_box_item(text: str) -> bool:
    return _BOX_ITEM.match(text) is not None


def _plain_line(number: int, at: int, text: str) -> Line:
    content = text.lstrip(" \t")
    if not content or content.isspace():
        return Line(number, at, text, 0, BLANK)
    indent = len(text) - len(content)
    if indent and "\t" in text[:indent]:
        indent = len(text[:indent].expandtabs(4))
    return Line(number, at, text, indent, TEXT)


def _continued(line: Line, quote: _Quote) -> tuple[Line, _Quote | None]:
    if _cut_short(quote, line):
        return _opening(line)
    return line._replace(kind=QUOTED), None if _closes(quote, line.text.strip()) else quote


def _cut_short(quote: _Quote, line: Line) -> bool:
    """A fence inside a list item ends with the item, closed or not; else it would swallow the next task."""
    return bool(quote.fence) and line.indent < quote.indent >= 2 and is_box_item(line.text)


def _closes(quote: _Quote, stripped: str) -> bool:
    if not quote.fence:
        return "-->" in stripped
    return stripped.startswith(quote.fence) and not stripped.strip(quote.fence[0])


def _opening(line: Line) -> tuple[Line, _Quote | None]:
    if line.text.lstrip(" \t").startswith("<!--"):
        quote = None if "-->" in line.text else _Quote("", line.indent, line.number)
        return line._replace(kind=OPENS), quote
    if fence := _FENCE.match(line.text):
        return line._replace(kind=OPENS), _Quote(fence[1], line.indent, line.number)
    return line, None


def _conflict_candidates(lines: list[Line]) -> Iterator[tuple[int, str]]:
    return ((line.number, line.text) for line in lines if line.kind is TEXT)
