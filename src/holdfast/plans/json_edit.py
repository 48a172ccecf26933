"""Changes single values of a JSON text in the text's own manner, and not one byte beside them."""

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.plans.json_text import BOM, Member, Node

_FIRST_INDENT = re.compile(rb"[\[{][ \t]*(\r?\n)([ \t]+)")
_FIRST_COLON = re.compile(rb'"[ \t]*:( ?)')
_GO_ESCAPE = re.compile(rb"\\u(?:003c|003e|0026)")
_PLAIN = re.compile(r"[\w .:+-]*", re.ASCII)
_GO_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


class Edit(NamedTuple):
    at: int
    end: int
    new: bytes


class Style(NamedTuple):
    newline: str
    indent: str
    """One level of it; "" for a text on one line."""
    colon: str
    comma: str
    ascii: bool
    go: bool
    """As Go writes: `<`, `>` and `&` are escaped."""


def applied(data: bytes, edits: Sequence[Edit]) -> bytes:
    parts, done = [], 0
    for edit in sorted(edits, key=lambda edit: edit.at):
        parts += [data[done : edit.at], edit.new]
        done = edit.end
    return b"".join([*parts, data[done:]])


def put(data: bytes, parent: Node, key: str, value: object) -> Edit:
    """The member gets this value; one that is not there yet comes last."""
    members = parent.members or {}
    if key in members:
        node = members[key].node
        return Edit(node.at, node.end, _written(data, value, node.at))
    if not members:
        return Edit(parent.at, parent.end, _written(data, {key: value}, parent.at))
    last = list(members.values())[-1]
    before = _before(data, parent, list(members.values()))
    colon = data[last.key_end : last.node.at]
    name = _written(data, key, last.key_at)
    return Edit(last.node.end, last.node.end, before + name + colon + _written(data, value, last.key_at))


def extend(data: bytes, parent: Node, values: Sequence[object]) -> Edit:
    """These values come last in the list."""
    items = parent.items or ()
    if not items:
        return Edit(parent.at, parent.end, _written(data, list(values), parent.at))
    before = _between(data, parent, [(item.at, item.end) for item in items])
    new = b"".join(before + _written(data, value, items[-1].at) for value in values)
    return Edit(items[-1].end, items[-1].end, new)


def replace(data: bytes, node: Node, value: object) -> Edit:
    return Edit(node.at, node.end, _written(data, value, node.at))


def style_of(data: bytes) -> Style:
    """Of the text as a whole, for what has no neighbour to be like."""
    found, spaced = _FIRST_INDENT.search(data), _is_spaced(data)
    newline, indent = (found[1].decode(), found[2].decode()) if found else ("", "")
    return Style(
        newline,
        indent,
        colon=": " if spaced else ":",
        comma=", " if spaced and not found else ",",
        ascii=data.removeprefix(BOM).isascii(),
        go=_GO_ESCAPE.search(data) is not None,
    )


def as_go(text: str) -> str:
    """JSON with the characters escaped that Go escapes, for they could end a script in a web page."""
    return text.translate(_GO_ESCAPES)


def _before(data: bytes, parent: Node, members: Sequence[Member]) -> bytes:
    return _between(data, parent, [(member.key_at, member.node.end) for member in members])


def _between(data: bytes, parent: Node, spans: Sequence[tuple[int, int]]) -> bytes:
    """What parts two neighbours here: comma, line break, indentation."""
    if len(spans) > 1:
        return data[spans[-2][1] : spans[-1][0]]
    lead = data[parent.at + 1 : spans[0][0]]
    if lead.strip(b" "):
        return b"," + lead
    return b", " if _is_spaced(data) else b","


def _is_spaced(data: bytes) -> bool:
    colon = _FIRST_COLON.search(data)
    return bool(colon and colon[1])


def _written(data: bytes, value: object, at: int) -> bytes:
    """The value as this text would write it, on the line of `at`."""
    if isinstance(value, str | int) and _PLAIN.fullmatch(str(value)):
        return json.dumps(value).encode()
    style = style_of(data)
    indent = style.indent or None
    text = json.dumps(value, indent=indent, separators=(style.comma, style.colon), ensure_ascii=style.ascii)
    text = as_go(text) if style.go else text
    return text.replace("\n", style.newline + _margin(data, at)).encode(errors="replace")


def _margin(data: bytes, at: int) -> str:
    line = data[data.rfind(b"\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(b" \t"))].decode()
