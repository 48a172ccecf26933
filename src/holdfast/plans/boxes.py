"""List items with a box, as both Markdown dialects write them: `- [ ] text`, `1. [x] text`."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.errors import PlanError
from holdfast.model.plan import Status, Step
from holdfast.plans.lines import BLANK, TEXT, Line

STATUS_OF = {" ": Status.PENDING, "x": Status.COMPLETED, "X": Status.COMPLETED, "-": Status.SKIPPED}

_ITEM = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+(?:\[([ xX-])\](?:[ \t]+|$))?(.*)")
_ODD_BOX = r"\[(?:[ \t]{2,}|[^\w\s\[\]`]|)\](?:\s|$)|\[[ xX-]\][\w\"'*`]"


class Item(NamedTuple):
    box: str
    """The character in the box, "" for an item without one."""
    text: str
    at: int
    """Byte offset of that character."""


def item_on(line: Line) -> Item | None:
    found = _ITEM.match(line.text)
    if not found:
        return None
    # Everything before the box is ASCII, so characters and bytes count alike.
    return Item(found[1] or "", found[2].strip(), line.at + found.start(1) if found[1] else -1)


def refuse_odd_box(path: str, line: Line, item: Item) -> None:
    """`- [~] title` or `- []` is somebody's task; passing over it could end in a false "all done"."""
    if item.text.startswith("[") and not item.box and (odd := re.match(_ODD_BOX, item.text)):
        message = f"this box cannot be read: {item.text[: odd.end()].strip()}"
        fix = "write `- [ ] title` (open), `- [x] title` (done) or `- [-] title` (skipped)"
        raise PlanError(path, line.number, message, fix=fix)


def steps_in(body: Sequence[Line]) -> tuple[Step, ...]:
    steps = []
    for line in body:
        if line.indent >= 2 and line.kind is TEXT and "[" in line.text:
            found = _ITEM.match(line.text)
            if found and found[1]:
                steps.append(Step(found[2].strip(), found[1] != " ", line.number, line.at + found.start(1)))
    return tuple(steps)


def body_text(body: Sequence[Line]) -> str:
    """The lines without their common indentation. Line n of it is line n below the task's own."""
    if not body:
        return ""
    margin = _common_margin([line.text for line in body if line.kind is not BLANK])
    text = "\n".join(["", *(line.text for line in body)])
    return text.replace(f"\n{margin}", "\n")[1:].rstrip()


def _common_margin(texts: Sequence[str]) -> str:
    margins = [text[: len(text) - len(text.lstrip(" \t"))] for text in texts if text]
    least, most = min(margins, default=""), max(margins, default="")
    while not most.startswith(least):
        least = least[:-1]
    return least
