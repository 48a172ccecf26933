"""Plans as a user reads and edits them: independent of how the product reads them."""

import re
from typing import NamedTuple

_ITEM = re.compile(r"- \[(.)\] (?:(T\d+) )?(\w+)")
OPEN, DONE, SKIPPED = " ", "x", "-"


class Item(NamedTuple):
    mark: str
    id: str
    """As written, "" where the position has to serve."""
    title: str
    body: str

    @property
    def text(self) -> str:
        written = f"{self.id} {self.title}" if self.id else self.title
        return f"- [{self.mark}] {written}\n{self.body}"


def items_of(text: str) -> list[Item]:
    """Everything from the first item on, in order."""
    found: list[Item] = []
    for line in text.splitlines(keepends=True):
        item = _ITEM.fullmatch(line.rstrip("\n"))
        if item:
            found.append(Item(item[1], item[2] or "", item[3], ""))
        elif found:
            found[-1] = found[-1]._replace(body=found[-1].body + line)
    return found


def text_of(items: list[Item]) -> str:
    return "# Plan\n\n" + "".join(item.text for item in items)


def marks_of(text: str) -> dict[str, str]:
    return {item.title: item.mark for item in items_of(text)}


def ids_of(text: str) -> dict[str, str]:
    """Without a written id the position serves; all tasks are in one section."""
    return {item.title: item.id or f"1.{number}" for number, item in enumerate(items_of(text), 1)}


def without_marks(text: str) -> str:
    return re.sub(r"^- \[.\]", "- [ ]", text, flags=re.MULTILINE)
