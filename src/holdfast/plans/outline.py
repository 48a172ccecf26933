"""Cuts a plain Markdown plan into headings, tasks and what belongs to each task."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from holdfast.plans.boxes import Item, item_on, refuse_odd_box
from holdfast.plans.lines import BLANK, OPENS, QUOTED, Line
from holdfast.plans.titles import strip_emphasis

_HEADING = re.compile(r"[ \t]?(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")


class Outline(NamedTuple):
    title: str
    blocks: list["Block"]


class Block(NamedTuple):
    """One task as found: its first line, the lines below it, and where it stands in the plan."""

    line: Line
    item: Item
    section: str
    position: str
    """The id it has when none is written."""
    body: list[Line]


def read_outline(lines: Iterable[Line], path: str) -> Outline:
    cutter = _Cutter(path)
    for line in lines:
        cutter.take(line)
    return Outline(cutter.title, cutter.blocks)


class _Cutter:
    """Cuts a plan into tasks: the one place that knows where a task begins and ends."""

    def __init__(self, path: str) -> None:
        self.title = ""
        self.blocks: list[Block] = []
        self._path = path
        self._section = ""
        self._sections = 0
        self._headed = False
        self._items = 0
        self._parent = -1
        """Indentation of the top-level item we are below, -1 outside of any list."""
        self._body: list[Line] | None = None
        self._after_blank = True

    def take(self, line: Line) -> None:
        if line.kind is BLANK or line.kind is QUOTED or self._is_nested(line):
            self._add(line)
        elif line.kind is OPENS:
            self._open_quote(line)
        elif line.indent < 2 and (heading := _HEADING.match(line.text)):
            self._start_section(heading)
        elif self._is_top_level(line) and (item := item_on(line)):
            self._start_item(line, item)
        elif self._ends_list(line):
            self._leave_list()
        else:
            self._add(line)
        self._after_blank = line.kind is BLANK

    def _add(self, line: Line) -> None:
        if self._body is not None:
            self._body.append(line)

    def _open_quote(self, line: Line) -> None:
        if line.indent == 0 and not line.text.startswith("<!--"):
            self._leave_list()
        self._add(line)

    def _start_section(self, heading: re.Match[str]) -> None:
        self._leave_list()
        self._section = strip_emphasis(heading[2])
        self._headed = True
        self._items = 0
        if len(heading[1]) == 1 and not self.title:
            self.title = self._section

    def _is_nested(self, line: Line) -> bool:
        """Two columns deeper than the item above is below it, though CommonMark wants three below `1.`."""
        return self._parent >= 0 and line.indent >= self._parent + 2

    def _is_top_level(self, line: Line) -> bool:
        """Four columns of indentation outside of a list are a code block."""
        return line.indent < 4 or self._parent >= 0

    def _start_item(self, line: Line, item: Item) -> None:
        self._leave_list()
        self._parent = line.indent
        refuse_odd_box(self._path, line, item)
        if item.box:
            self._body = []
            self.blocks.append(Block(line, item, self._section, self._next_position(), self._body))

    def _next_position(self) -> str:
        self._items += 1
        if not self._headed:
            return str(self._items)
        if self._items == 1:
            self._sections += 1
        return f"{self._sections}.{self._items}"

    def _ends_list(self, line: Line) -> bool:
        return line.indent == 0 and (self._after_blank or _is_rule(line.text))

    def _leave_list(self) -> None:
        self._parent = -1
        self._body = None


def _is_rule(text: str) -> bool:
    marks = "".join(text.split())
    return len(marks) >= 3 and marks[0] in "-*_" and not marks.strip(marks[0])
