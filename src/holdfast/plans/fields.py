"""The lines in a plain Markdown task's body that say more about it: `depends: T001`, `verify: make test`."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.plans.boxes import item_on
from holdfast.plans.lines import BLANK, TEXT, Line

_FIELD = re.compile(
    r"[ \t]*([-*+][ \t]+)?(?:\*\*|__)?"
    r"(depends(?:[ _-]on)?|verify|critical|files|acceptance(?: criteria)?)(?:\*\*|__)?[ \t]*:"
    r"(?:\*\*|__)?[ \t]*(.*)",
    re.IGNORECASE,
)
_NO_ID = {"task", "tasks", "and", "none", "nothing", "n/a", "-", "–", "—", ""}


class Fields(NamedTuple):
    depends_on: tuple[str, ...] = ()
    verify: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    critical: bool = False


NO_FIELDS = Fields()


def read_fields(body: Sequence[Line]) -> Fields:
    written: dict[str, list[str]] = {}
    for index, line in enumerate(body):
        found = _field_on(line)
        if found:
            written.setdefault(found[2].casefold()[:6], []).extend(_values(body, index, found))
    return _fields(written) if written else NO_FIELDS


def uncoded(text: str) -> str:
    """Without backticks, when they enclose the whole."""
    inner = text.strip("`").strip()
    return inner if text[:1] == text[-1:] == "`" and "`" not in inner else text


def _field_on(line: Line) -> re.Match[str] | None:
    return _FIELD.match(line.text) if ":" in line.text and line.kind is TEXT else None


def _values(body: Sequence[Line], index: int, field: re.Match[str]) -> list[str]:
    """What stands behind the colon, and for a criterion or an empty field the list below it."""
    inline = field[3].strip()
    if inline and not field[2].casefold().startswith("acceptance"):
        return [inline]
    deeper = 1 if inline or field[1] else 0
    return [*([inline] if inline else []), *_listed(body[index + 1 :], body[index].indent + deeper)]


def _listed(below: Sequence[Line], least: int) -> list[str]:
    values: list[str] = []
    for line in below:
        if line.kind is BLANK:
            continue
        item = item_on(line) if line.kind is TEXT else None
        if line.kind is not TEXT or line.indent < least or _field_on(line):
            break
        if item:
            values.append(item.text)
        elif values and line.indent > least:
            values[-1] += " " + line.text.strip()
        else:
            break
    return values


def _fields(written: dict[str, list[str]]) -> Fields:
    """From values by the first six letters of their field's name."""
    return Fields(
        depends_on=_distinct(_ids(written.get("depend", ()))),
        verify=_distinct([uncoded(value) for value in written.get("verify", ())]),
        files=_distinct(_words(written.get("files", ()))),
        acceptance=_distinct(written.get("accept", ())),
        critical=any(value.casefold() in ("true", "yes") for value in written.get("critic", ())),
    )


def _distinct(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([value for value in values if value])) if values else ()


def _ids(values: Sequence[str]) -> list[str]:
    words = [word.strip("*_.") for word in _words(values)]
    return [word for word in words if word.casefold() not in _NO_ID]


def _words(values: Sequence[str]) -> list[str]:
    return [word.strip("`") for value in values for word in value.replace(",", " ").replace(";", " ").split()]
