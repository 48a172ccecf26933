"""Single values of a JSON file replaced where they stand; every other byte stays."""

import json
import re
from collections.abc import Mapping

BOM = b"\xef\xbb\xbf"
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


def with_values(data: bytes, changes: Mapping[tuple[str, ...], str | None]) -> bytes | None:
    """The values at these paths of keys replaced by texts or null; None when one of them is not there.

    `data` must be JSON with an object at its top.
    """
    bom = data[: len(BOM)] if data.startswith(BOM) else b""
    text = data[len(bom) :].decode("utf-8")
    spans = {_span(text, path): value for path, value in changes.items()}
    if None in spans:
        return None
    for span in sorted((span for span in spans if span), reverse=True):
        text = text[: span[0]] + _literal(text[slice(*span)], spans[span]) + text[span[1] :]
    return bom + text.encode("utf-8")


def _literal(written: str, value: str | None) -> str:
    """What stands in front of a text is added or taken away without touching how the rest is escaped."""
    before = json.loads(written)
    if isinstance(before, str) and value is not None:
        if value.endswith(before):
            return json.dumps(value.removesuffix(before))[:-1] + written[1:]
        front = json.dumps(before.removesuffix(value))[:-1]
        if before.endswith(value) and written.startswith(front):
            return f'"{written.removeprefix(front)}'
    return json.dumps(value)


def _span(text: str, path: tuple[str, ...]) -> tuple[int, int] | None:
    span = (_past_space(text, 0), len(text))
    for name in path:
        found = _members(text, span[0]).get(name)
        if found is None:
            return None
        span = found
    return span


def _members(text: str, at: int) -> dict[str, tuple[int, int]]:
    """Where the values of the object that begins at `at` stand."""
    spans: dict[str, tuple[int, int]] = {}
    at = _past_space(text, at + 1)
    while text[at] == '"':
        name, at = _DECODER.raw_decode(text, at)
        start = _past_space(text, _past_space(text, at) + 1)
        end = _DECODER.raw_decode(text, start)[1]
        spans[name] = (start, end)
        at = _past_space(text, end)
        at = _past_space(text, at + 1) if text[at] == "," else at
    return spans


def _past_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
