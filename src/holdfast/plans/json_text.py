"""JSON bytes to values that know where they stand.

Objects and arrays that somebody will look into are opened here; all below is left to the standard library's
scanner, which is fast. The text is looked at as Latin-1, one character a byte, so that every position is one
in the file. Nothing is repaired: what is not JSON goes to `json_faults` for a line and a reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from holdfast.plans.json_faults import fault_in
from holdfast.plans.lines import decode

BOM = b"\xef\xbb\xbf"


class Node(NamedTuple):
    """A value between two byte positions. What is not opened has its plain `value`."""

    at: int
    end: int
    value: object = None
    members: dict[str, Member] | None = None
    items: tuple[Node, ...] | None = None

    def get(self, key: str) -> Node | None:
        """The member of that name, None where there is none or this is no opened object."""
        member = self.members.get(key) if self.members else None
        return member.node if member else None


class Member(NamedTuple):
    key_at: int
    key_end: int
    node: Node


class _Text(NamedTuple):
    data: bytes
    raw: str
    opened: Mapping[str, int]
    trusted: bool
    """Known to be JSON without a key twice, so that nobody has to look again."""

    @property
    def decoder(self) -> json.JSONDecoder:
        return _TRUSTING if self.trusted else _STRICT


_BLANK = re.compile(r"[ \t\r\n]*")
_KEY = re.compile(r'[ \t\r\n]*("[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*")[ \t\r\n]*:[ \t\r\n]*')


def parse(data: bytes, path: str, opened: Mapping[str, int]) -> Node:
    """The whole file, or PlanError with line, column and what was expected.

    The outermost value is opened, and what stands under a key of `opened`, that many levels deep.
    """
    decode(data, path)
    text = _Text(data, data.decode("latin-1"), opened, trusted=False)
    try:
        return _whole(text)
    except (ValueError, RecursionError):
        raise fault_in(data, path) from None


def object_at(data: bytes, at: int, before: int) -> Node:
    """The object that begins there, opened, in text that `parse` has accepted; it ends somewhere `before`."""
    part = data[at:before]
    node = _object(_Text(part, part.decode("latin-1"), {}, trusted=True), 0, 1)
    members = {key: _shifted(member, at) for key, member in (node.members or {}).items()}
    return Node(at, node.end + at, members=members)


def outermost(data: bytes) -> Node:
    """The members of the outermost object, in text made of what `parse` has accepted; deeper down it may be
    pieced together and have a key twice."""
    return _whole(_Text(data, data.decode("latin-1"), {}, trusted=True))


def plain(node: Node) -> object:
    """The value of a node, opened or not."""
    if node.members is not None:
        return {key: plain(member.node) for key, member in node.members.items()}
    return [plain(item) for item in node.items] if node.items is not None else node.value


def with_lines(data: bytes, nodes: Iterable[Node], line: int = 1, at: int = 0) -> Iterator[tuple[int, Node]]:
    """Nodes in the order of the file, each with its line; `line` is the one of the position `at`."""
    for node in nodes:
        line, at = line + data.count(b"\n", at, node.at), node.at
        yield line, node


def _shifted(member: Member, by: int) -> Member:
    node = member.node
    return Member(member.key_at + by, member.key_end + by, Node(node.at + by, node.end + by, node.value))


def _whole(text: _Text) -> Node:
    begin = len(BOM) if text.data.startswith(BOM) else 0
    node = _value(text, _skip(text.raw, begin), 1)
    if _skip(text.raw, node.end) != len(text.raw):
        raise ValueError("more than one value")
    return node


def _value(text: _Text, at: int, levels: int) -> Node:
    first = text.raw[at : at + 1]
    if levels and first == "{":
        return _object(text, at, levels)
    return _array(text, at, levels) if levels and first == "[" else _leaf(text, at)


def _object(text: _Text, at: int, levels: int) -> Node:
    members: dict[str, Member] = {}
    end = _skip(text.raw, at + 1)
    more = text.raw[end : end + 1] != "}"
    while more:
        key = _KEY.match(text.raw, end)
        name = _name(text, key) if key else ""
        if key is None or name in members:
            raise ValueError("no key, or one that was there before")
        node = _value(text, key.end(), max(text.opened.get(name, 0), levels - 1))
        members[name] = Member(key.start(1), key.end(1), node)
        end, more = _after(text.raw, node.end, "}")
    return Node(at, end + 1, members=members)


def _name(text: _Text, key: re.Match[str]) -> str:
    if "\\" in key[1] or not key[1].isascii():
        return str(_decoded(text, key.start(1), key.end(1)))
    return key[1][1:-1]


def _array(text: _Text, at: int, levels: int) -> Node:
    items: list[Node] = []
    end = _skip(text.raw, at + 1)
    more = text.raw[end : end + 1] != "]"
    while more:
        items.append(_value(text, _skip(text.raw, end), levels - 1))
        end, more = _after(text.raw, items[-1].end, "]")
    return Node(at, end + 1, items=tuple(items))


def _after(raw: str, at: int, close: str) -> tuple[int, bool]:
    """Past a comma, or at the closing bracket; and whether there is more."""
    at = _skip(raw, at)
    found = raw[at : at + 1]
    if found not in (",", close):
        raise ValueError("neither comma nor end")
    return (at + 1, True) if found == "," else (at, False)


def _leaf(text: _Text, at: int) -> Node:
    value, end = text.decoder.raw_decode(text.raw, at)
    if text.raw.isascii() or text.raw[at:end].isascii():
        return Node(at, end, value)
    return Node(at, end, _decoded(text, at, end))


def _decoded(text: _Text, at: int, end: int) -> object:
    return text.decoder.decode(text.data[at:end].decode())


def _skip(raw: str, at: int) -> int:
    found = _BLANK.match(raw, at)
    return found.end() if found else at


def _unique(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    listed = list(pairs)
    found = dict(listed)
    if len(found) != len(listed):
        raise ValueError("a key twice")
    return found


def _refuse(word: str) -> object:
    raise ValueError(f"{word} is not JSON")


_STRICT = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse)
_TRUSTING = json.JSONDecoder()
