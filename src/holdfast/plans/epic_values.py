"""What an epic file says, whichever language it is written in: values that know their line."""

import re
from collections.abc import Mapping
from typing import NamedTuple, NoReturn

from holdfast.errors import PlanError

_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
_YES, _NO = ("true", "yes", "on"), ("false", "no", "off")


class Value(NamedTuple):
    """A text, a list, a mapping, or (all three None) nothing. Numbers and switches are text as written."""

    line: int
    text: str | None = None
    items: "tuple[Value, ...] | None" = None
    members: "Mapping[str, Value] | None" = None

    @property
    def missing(self) -> bool:
        return self.text is None and self.items is None and self.members is None


class Table(NamedTuple):
    """A mapping that is asked for its members by name; the wrong type is refused with its line."""

    path: str
    line: int
    members: Mapping[str, Value]

    def get(self, *names: str) -> Value:
        """The first of these names that says something."""
        found = (self.members[name] for name in names if name in self.members)
        return next((value for value in found if not value.missing), Value(self.line))

    def text(self, *names: str) -> str:
        value = self.get(*names)
        if value.missing:
            return ""
        if value.text is None:
            self._refuse(value, names[0], "a text")
        return value.text.strip()

    def list(self, *names: str) -> tuple[Value, ...]:
        value = self.get(*names)
        if value.missing:
            return ()
        if value.items is None:
            self._refuse(value, names[0], "a list")
        return tuple(item for item in value.items if not item.missing)

    def words(self, *names: str) -> tuple[str, ...]:
        """A list of single words, such as ids."""
        for item in (found := self.list(*names)):
            if item.text is None:
                self._refuse(item, names[0], "a list of texts")
        return tuple(dict.fromkeys([(item.text or "").strip() for item in found]))

    def sentences(self, *names: str) -> tuple[str, ...]:
        """A list of prose. `- Text: more` is a mapping to YAML, and prose to whoever wrote it."""
        return tuple([" ".join(prose(item).split()) for item in self.list(*names)])

    def tables(self, name: str) -> "tuple[Table, ...]":
        return tuple([self._table(item, name) for item in self.list(name)])

    def flag(self, name: str, default: bool) -> bool:
        value = self.get(name)
        if value.missing:
            return default
        word = (value.text or "").strip().casefold()
        if word not in (*_YES, *_NO):
            self._refuse(value, name, "true or false")
        return word in _YES

    def _table(self, value: Value, name: str) -> "Table":
        if value.members is None:
            self._refuse(value, name, "a list of mappings")
        return Table(self.path, value.line, value.members)

    def _refuse(self, value: Value, name: str, wanted: str) -> NoReturn:
        found = "a mapping" if value.members is not None else "a list" if value.items is not None else "text"
        said = f'"{value.text}"' if value.text is not None else found
        raise PlanError(
            self.path, value.line, f"{name} must be {wanted}, not {said}", fix=f"write {name} as {wanted}"
        )


def refuse_unwritable(text: str, path: str, line: int) -> None:
    """Escapes can name characters that no commit message and no program's argument can hold."""
    if found := _UNWRITABLE.search(text):
        message = f"the character U+{ord(found[0]):04X} cannot be part of an epic"
        raise PlanError(path, line, message, fix="remove that escape")


def prose(value: Value) -> str:
    """On one line where it can be, as a nested list where it cannot."""
    members = list((value.members or {}).items())
    if len(members) == 1 and members[0][1].text is not None:
        return f"{members[0][0]}: {members[0][1].text.strip()}"
    return "\n".join(outline(value))


def outline(value: Value) -> list[str]:
    """As a Markdown list, however deep it is."""
    if value.members is not None:
        return [line for name, member in value.members.items() for line in _entry(f"{name}: ", member)]
    if value.items is not None:
        return [line for item in value.items for line in _entry("", item)]
    return (value.text or "").strip().split("\n")


def _entry(name: str, value: Value) -> list[str]:
    lines = prose(value).split("\n")
    nested = lines[0].startswith("- ") and value.text is None
    first, rest = ("", lines) if nested else (lines[0], lines[1:])
    return [f"- {name}{first}".rstrip(), *[f"  {line}".rstrip() for line in rest]]
