"""One JSON object a line, read without trust: what is missing or of another kind is empty, never an error."""

import json
from typing import Any

Object = dict[str, Any]


def parsed(line: bytes) -> Object:
    """{} for anything that is not one whole object."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def text(source: Object, key: str) -> str:
    value = source.get(key)
    return value if isinstance(value, str) else ""


def number(source: Object, key: str) -> float | None:
    value = source.get(key)
    finite = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15
    return float(value) if value is not None and finite else None


def count(source: Object, key: str) -> int:
    return int(number(source, key) or 0)


def inner(source: Object, key: str) -> Object:
    value = source.get(key)
    return value if isinstance(value, dict) else {}


def items(source: Object, key: str) -> list[Object]:
    value = source.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
