"""Events as text and back, for the journal and for `--json`.

Reading forgives: a kind or a field this version does not know is left out, a missing field takes its
default, and what still does not fit is no event at all. A journal is history; half of it beats none.
"""

import json
from types import UnionType
from typing import Any

from holdfast.model.events import STORED, AgentSpoke, Event

_Accepted = type | UnionType | tuple[type, ...]

_KINDS: dict[type[Event], str] = {shape: kind for kind, shape in STORED.items()} | {AgentSpoke: "agent_spoke"}


def kind_of(event: Event) -> str:
    return _KINDS[type(event)]


def encode(event: Event) -> str:
    """ASCII only, so that a lone surrogate from a file name survives the trip."""
    return json.dumps(event._asdict(), ensure_ascii=True, separators=(",", ":"))


def decode(kind: str, data: str) -> Event | None:
    shape = STORED.get(kind)
    if shape is None:
        return None
    fields = _fields(data)
    known: dict[str, Any] = {
        name: fields.get(name) for name, fit in _ACCEPTED[kind] if isinstance(fields.get(name), fit)
    }
    if len(known) < len(shape._fields) and not _REQUIRED[kind] <= known.keys():
        return None
    return shape(**known)


def _fields(data: str) -> dict[str, Any]:
    try:
        fields = json.loads(data)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _accepted(annotation: Any) -> _Accepted:
    # JSON writes a round number of seconds without its point.
    return (float, int) if annotation is float else annotation


_ACCEPTED: dict[str, list[tuple[str, _Accepted]]] = {
    kind: [(name, _accepted(shape.__annotations__[name])) for name in shape._fields]
    for kind, shape in STORED.items()
}
_REQUIRED = {kind: set(shape._fields) - set(shape._field_defaults) for kind, shape in STORED.items()}
