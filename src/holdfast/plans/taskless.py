"""Why a Markdown plan without tasks has none, in the words that help its author most."""

import re
from collections.abc import Sequence

from holdfast.errors import PlanError
from holdfast.plans.lines import OPENS, QUOTED, Line, is_box_item

_BARE_BOX = r"[ \t]*\[[ xX]\][ \t]+\S"


def no_tasks(path: str, lines: Sequence[Line], example: str) -> PlanError:
    line, message = _reason(lines)
    return PlanError(path, line, message, fix=f"write each task as a list item with a box: {example}")


def _reason(lines: Sequence[Line]) -> tuple[int, str]:
    if not any(line.text.strip() for line in lines):
        return 0, "no tasks found: the plan is empty"
    for line in lines:
        if "API Error:" in line.text:
            return line.number, "no tasks found: the file holds an API error message, not a plan"
        if re.match(_BARE_BOX, line.text):
            return line.number, "no tasks found: bare `[x] ...` lines are not list items"
        if line.kind in (OPENS, QUOTED) and is_box_item(line.text):
            return line.number, "no tasks found: the only boxes are inside a code fence or a comment"
        if is_box_item(line.text):
            return line.number, "no tasks found: the boxes here are not written as tasks"
    return 0, "no tasks found: no list item has a box"
