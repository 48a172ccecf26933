"""Epics in Markdown: the one block of TOML in it says `[epic]` and `[[tickets]]`."""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from holdfast.errors import PlanError
from holdfast.plans.epic_values import Value, refuse_unwritable
from holdfast.plans.lines import OPENS, QUOTED, Line, is_box_item, scan_lines

_OPENING = re.compile(r"[ ]{0,3}(`{3,}|~{3,})[ \t]*toml[ \t]*$", re.IGNORECASE)
_EPIC = re.compile(r"[ \t]*\[[ \t]*epic[ \t]*\]")
_TICKET = re.compile(r"[ \t]*\[\[[ \t]*tickets[ \t]*\]\]")
_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)")
_FIX = "write the epic as one ```toml block with [epic] and [[tickets]]"


class _Block(NamedTuple):
    line: int
    """Of its opening fence."""
    texts: tuple[str, ...]


def looks_like_toml_epic(data: bytes, *, named_epic: bool) -> bool:
    """A file by another name is an epic only when it is no task list as well: those are plain plans."""
    if b"[[" not in data or b"toml" not in data.lower():
        return False
    lines = scan_lines(data, "").lines
    epics = [block for block in _blocks(lines) if _has_headers(block)]
    return len(epics) == 1 and (named_epic or not _has_tasks(lines))


def read_toml(data: bytes, path: str) -> Value:
    scan = scan_lines(data, path)
    blocks = _blocks(scan.lines)
    if len(blocks) != 1:
        found = "no block of TOML" if not blocks else f"{len(blocks)} blocks of TOML"
        line = blocks[1].line if blocks else 0
        raise PlanError(path, line, f"the epic has {found}: there must be one", fix=_FIX)
    block = blocks[0]
    if scan.unclosed == block.line:
        raise PlanError(path, block.line, "the block of TOML is never closed", fix="close it with a ``` line")
    return _parsed(block, path)


def _blocks(lines: Sequence[Line]) -> list[_Block]:
    return [_block(lines, index) for index, line in enumerate(lines) if _opens(line)]


def _opens(line: Line) -> bool:
    return line.kind is OPENS and _OPENING.match(line.text) is not None


def _block(lines: Sequence[Line], opening: int) -> _Block:
    inside = list(takewhile(lambda line: line.kind is QUOTED, lines[opening + 1 :]))
    closed = inside and not inside[-1].text.strip().strip(lines[opening].text.strip()[0])
    texts = [line.text for line in (inside[:-1] if closed else inside)]
    return _Block(lines[opening].number, tuple(texts))


def _has_headers(block: _Block) -> bool:
    return all(any(header.match(text) for text in block.texts) for header in (_EPIC, _TICKET))


def _has_tasks(lines: Sequence[Line]) -> bool:
    return any(line.kind not in (OPENS, QUOTED) and is_box_item(line.text) for line in lines)


def _parsed(block: _Block, path: str) -> Value:
    import tomllib  # only these epics need it

    try:
        table = tomllib.loads("\n".join(block.texts))
    except tomllib.TOMLDecodeError as error:
        at = _AT_LINE.search(str(error))
        line = block.line + (int(at[1]) if at else len(block.texts))
        reason = str(error).partition(" (at ")[0]
        raise PlanError(path, line, f"not TOML: {reason}", fix="correct the TOML there") from error
    except RecursionError:
        raise PlanError(path, block.line, "the TOML is nested too deep", fix="write it flatter") from None
    return _with_ticket_lines(_value(table, path, block.line), block)


def _value(found: object, path: str, line: int) -> Value:
    if isinstance(found, dict):
        return Value(line, members={name: _value(member, path, line) for name, member in found.items()})
    if isinstance(found, list):
        return Value(line, items=tuple([_value(item, path, line) for item in found]))
    refuse_unwritable(str(found), path, line)
    return Value(line, text=str(found))


def _with_ticket_lines(value: Value, block: _Block) -> Value:
    """The parser keeps no lines; the headers of the tickets are easily found again."""
    members = dict(value.members or {})
    tickets = members.get("tickets", value).items or ()
    lines = [block.line + row for row, text in enumerate(block.texts, 1) if _TICKET.match(text)]
    if not tickets or len(lines) != len(tickets):
        return value
    placed = [_at_line(ticket, line) for ticket, line in zip(tickets, lines, strict=True)]
    members["tickets"] = Value(value.line, items=tuple(placed))
    return value._replace(members=members)


def _at_line(ticket: Value, line: int) -> Value:
    members = {name: member._replace(line=line) for name, member in (ticket.members or {}).items()}
    return ticket._replace(line=line, members=members if ticket.members is not None else None)
