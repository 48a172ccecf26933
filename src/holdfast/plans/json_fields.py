"""Fields of a JSON task: taken with a check of their kind, and put into words."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from holdfast.errors import PlanError
from holdfast.model.plan import Status

# Controls other than tab and newline: a NUL in a title could not even be handed to the agent.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_OMITTED = "…"


class Spot(NamedTuple):
    """A place in a plan file, as its reader finds it again: line and JSON path."""

    file: str
    line: int
    where: str

    def wrong(self, message: str, fix: str) -> PlanError:
        return PlanError(self.file, self.line, f"{self.where}: {message}" if self.where else message, fix=fix)

    def at(self, part: str) -> "Spot":
        return self._replace(where=f"{self.where}.{part}" if self.where else part)


def fields_of(spot: Spot, value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise spot.wrong(f"this should be an object, not {_kind(value)}", "write it as {…}")
    return value


def strings_in(spot: Spot, fields: Mapping[str, object], key: str) -> tuple[str, ...]:
    """A list of strings, or of numbers as some write ids; missing and null are none."""
    listed = fields.get(key)
    if listed is None:
        return ()
    if not isinstance(listed, list) or not all(_is_name(entry) for entry in listed):
        raise spot.at(key).wrong("this should be a list of strings", 'write it as ["…", "…"]')
    return tuple(said(str(entry)) for entry in listed)


def id_in(spot: Spot, fields: Mapping[str, object], keys: Sequence[str]) -> str:
    found = next((fields[key] for key in keys if fields.get(key) is not None), None)
    name = str(found) if _is_name(found) else ""
    if not name.strip() or not name.isprintable():
        problem = "it has no id" if found is None else "its id is neither a word nor a number"
        raise spot.wrong(problem, f'give it one of its own: "{keys[0]}": "…"')
    return name.strip()


def title_in(spot: Spot, fields: Mapping[str, object], keys: Sequence[str]) -> str:
    """The first line of the first of these keys that holds text."""
    for key in keys:
        text = fields.get(key)
        if text is not None and not isinstance(text, str):
            raise spot.at(key).wrong(
                f"this should be a string, not {_kind(text)}", "write it in double quotes"
            )
        if text and (lines := said(text).strip().splitlines()):
            return " ".join(lines[0].split())
    raise spot.wrong("a task that does not say what is to be done", f'give it a "{keys[0]}"')


def status_in(spot: Spot, fields: Mapping[str, object], known: Mapping[str, Status]) -> Status:
    word = fields.get("status")
    if word is None:
        return Status.PENDING
    status = known.get(word) if isinstance(word, str) else None
    if status is None:
        raise spot.at("status").wrong(
            f"a status that is not known: {word!r:.40}", f"use one of {', '.join(known)}"
        )
    return status


def said(text: str) -> str:
    """Text fit to be shown and handed on: no control characters, no halves of a cut emoji."""
    if _CONTROLS.search(text):
        text = _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def told(value: object, depth: int = 3) -> str:
    """Any value in words, for an agent to read; still to be `said`."""
    if isinstance(value, str):
        return value.strip()
    if value is None or isinstance(value, bool):
        return "" if value is None else "yes" if value else "no"
    if not isinstance(value, dict | list):
        return str(value)
    if not depth:
        return _OMITTED
    if isinstance(value, dict):
        return "; ".join([f"{key}: {told(part, depth - 1)}" for key, part in value.items()])
    return "\n".join([f"- {told(part, depth - 1)}" for part in value])


def _is_name(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def _kind(value: object) -> str:
    kinds = {type(None): "null", bool: "a boolean", str: "a string", list: "a list", dict: "an object"}
    return kinds.get(type(value), "a number")
