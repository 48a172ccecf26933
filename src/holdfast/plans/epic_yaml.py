"""Epics in YAML. Read as a stream of events, nothing constructed: a file cannot name a Python object.

Words stay as they are written, whatever version of YAML would make of them. The module is loaded where an
epic is read; no other plan pays for the parser.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import NoReturn

import yaml
from yaml.error import MarkedYAMLError
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from holdfast.errors import PlanError
from holdfast.plans.epic_values import Value, refuse_unwritable
from holdfast.plans.lines import decode, refuse_conflict

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml where PyYAML was built with it, which is some twenty times faster."""
MOST_VALUES = 200_000
"""Of a whole epic, aliases written out: a few lines of them can stand for more than a memory holds."""
DEEPEST = 50

_CORE = "tag:yaml.org,2002:"
_SCALARS = ("str", "int", "float", "bool", "null", "timestamp", "value")
_NOTHING = ("", "~", "null", "Null", "NULL")
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_UNCAUGHT = (OverflowError, ValueError)
"""What the parser in Python lets through where an escape is out of range."""
_FIX = "correct the YAML there"


def read_yaml(data: bytes, path: str) -> Value:
    text = decode(data, path)
    refuse_conflict(path, enumerate(text.split("\n"), 1))
    return _Reader(text, path).whole()


class _Reader:
    """Follows the events of one document. Recursion goes no deeper than DEEPEST."""

    def __init__(self, text: str, path: str) -> None:
        self.path = path
        self.breaks = [found.start() for found in re.finditer("\n", text)]
        self.anchors: dict[str, Value] = {}
        self.budget = iter(range(MOST_VALUES))
        if found := _UNPRINTABLE.search(text):
            self._refuse(self._line(found.start()), f"not YAML: the character U+{ord(found[0]):04X}", _FIX)
        self.events = self._parsed(text)

    def whole(self) -> Value:
        marks = (DocumentStartEvent, StreamEndEvent)
        documents = (event for event in self.events if isinstance(event, marks))
        if isinstance(next(documents), StreamEndEvent):
            raise PlanError(self.path, 0, "the epic is empty", fix="write a name and a list of tickets")
        value = self._value(next(self.events), DEEPEST)
        if not isinstance(second := next(documents), StreamEndEvent):
            self._refuse(self._at(second), "not YAML: a second document begins here", "write one epic a file")
        return value

    def _parsed(self, text: str) -> Iterator[Event]:
        reached = 1
        try:
            for event in yaml.parse(text, Loader=LOADER):
                reached = self._at(event)
                yield event
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            problem = error.problem or error.context or "it cannot be read"
            line = self._line(mark.index) if mark else reached
            raise PlanError(self.path, line, f"not YAML: {problem}", fix=_FIX) from error
        except (yaml.YAMLError, *_UNCAUGHT) as error:
            raise PlanError(self.path, reached, f"not YAML: {error}", fix=_FIX) from error

    def _value(self, event: Event, depth: int) -> Value:
        line = self._at(event)
        if isinstance(event, AliasEvent):
            return self._aliased(event, line, depth)
        self._spend(line, depth)
        if isinstance(event, MappingStartEvent):
            self._refuse_tag(event, line, ("map",))
            value = Value(line, members=self._members(depth - 1))
        elif isinstance(event, SequenceStartEvent):
            self._refuse_tag(event, line, ("seq",))
            value = Value(line, items=tuple([self._value(item, depth - 1) for item in self._inside()]))
        else:
            assert isinstance(event, ScalarEvent)
            value = self._scalar(event, line)
        if event.anchor:
            self.anchors[event.anchor] = value
        return value

    def _scalar(self, event: ScalarEvent, line: int) -> Value:
        self._refuse_tag(event, line, _SCALARS)
        refuse_unwritable(event.value, self.path, line)
        plain = event.implicit[0] and event.value in _NOTHING
        return Value(line, text=None if plain or event.tag == f"{_CORE}null" else event.value)

    def _members(self, depth: int) -> Mapping[str, Value]:
        members: dict[str, Value] = {}
        for event in self._inside():
            line, key = self._at(event), self._value(event, depth)
            name = event.value if isinstance(event, ScalarEvent) else key.text
            if name is None:
                self._refuse(line, "a key that is not a word", "write keys as plain words")
            if name == "<<" and isinstance(event, ScalarEvent) and event.implicit[0]:
                self._refuse(line, "merge keys (<<) are not read", "write the keys out")
            if name in members:
                message = f'the key "{name}" is there twice, the first time near line {members[name].line}'
                self._refuse(line, message, "remove one of the two")
            value = self._value(next(self.events), depth)
            members[name] = value._replace(line=line) if value.members is None else value
        return members

    def _inside(self) -> Iterator[Event]:
        return iter(lambda: _none_at_the_end(next(self.events)), None)

    def _aliased(self, event: AliasEvent, line: int, depth: int) -> Value:
        value = self.anchors.get(event.anchor or "")
        if value is None:
            self._refuse(line, f"not YAML: *{event.anchor} stands for nothing that is written before", _FIX)
        self._spend_all(value, line, depth)
        return value

    def _spend_all(self, value: Value, line: int, depth: int) -> None:
        self._spend(line, depth)
        for part in (*(value.items or ()), *(value.members or {}).values()):
            self._spend_all(part, line, depth - 1)

    def _spend(self, line: int, depth: int) -> None:
        if not depth or next(self.budget, None) is None:
            message = "the YAML is nested too deep, or its aliases stand for too much"
            self._refuse(line, message, "write it flatter, and without aliases")

    def _refuse_tag(self, event: NodeEvent, line: int, known: tuple[str, ...]) -> None:
        tag = getattr(event, "tag", None)
        if tag not in (None, "!") and tag.removeprefix(_CORE) not in known:
            self._refuse(line, f"the tag {tag} means nothing here", "write plain YAML without tags")

    def _at(self, event: Event) -> int:
        return self._line(event.start_mark.index if event.start_mark else 0)

    def _line(self, at: int) -> int:
        """By line feeds alone, as editors count; to YAML 1.1 some other characters end a line too."""
        return bisect_left(self.breaks, at) + 1

    def _refuse(self, line: int, message: str, fix: str) -> NoReturn:
        raise PlanError(self.path, line, message, fix=fix)


def _none_at_the_end(event: Event) -> Event | None:
    return None if isinstance(event, CollectionEndEvent) else event
