"""The in-flight record: what was begun in this tree and not yet finished. Durable before anything starts."""

import base64
import json
import os
from typing import NamedTuple

from holdfast.system import files

VERSION = 1


class Others(NamedTuple):
    """Refs that are not the run's, and the reflog of the stash, which is the stash."""

    refs: dict[str, str]
    stash_log: bytes | None


class Flight(NamedTuple):
    run: str
    plan: str
    task: str
    key: str
    title: str
    base: str
    branch: str
    boot: str
    token: str
    attempt: int
    protected: dict[str, bytes | None]
    """Files of the repository's own (config, hooks…) as they were, by path below the common directory."""
    ignored: dict[str, bytes | None] = {}  # noqa: RUF012
    """Files of the plan that git ignores, as they were, by path from the repository's root."""
    others: Others | None = None
    """Refs that are not the run's as they were; None once no agent can have changed them any more."""
    began: float = 0.0
    """When: whatever is older than this was not made by anything of this record."""

    @property
    def by_hand(self) -> bool:
        """A change of marks only (`skip`, `reset`, a plan commit): no agent, the user's index is theirs."""
        return self.attempt == 0


class Damaged(NamedTuple):
    """There is a record, and it cannot be read."""

    path: str
    problem: str
    newer: bool = False
    """A newer Holdfast wrote it: not damaged, and not ours to touch."""


def flight_file(tree_state: str) -> str:
    return os.path.join(tree_state, "in-flight.json")


def write_flight(tree_state: str, flight: Flight) -> None:
    packed = {
        "protected": _packed(flight.protected),
        "ignored": _packed(flight.ignored),
        "others": _packed_others(flight.others),
    }
    text = json.dumps({"version": VERSION, **flight._asdict(), **packed}, indent=1)
    files.write_durably(flight_file(tree_state), text.encode(), fault="flight")


def read_flight(tree_state: str) -> Flight | Damaged | None:
    path = flight_file(tree_state)
    data = files.read_if_there(path)
    if data is None:
        return None
    try:
        body = json.loads(data)
        if _is_newer(body):
            return Damaged(path, f"version {body['version']}, and this Holdfast knows {VERSION}", newer=True)
        return _parse(body)
    except (ValueError, KeyError, TypeError) as error:
        return Damaged(path, f"{type(error).__name__}: {error}")


def clear_flight(tree_state: str) -> None:
    files.remove_durably(flight_file(tree_state), fault="flight")


def set_aside_flight(damaged: Damaged) -> str:
    aside = f"{damaged.path}.damaged"
    os.replace(damaged.path, aside)
    files.fsync_directory(os.path.dirname(aside))
    return aside


def _is_newer(body: object) -> bool:
    version = body.get("version") if isinstance(body, dict) else None
    return isinstance(version, int) and version > VERSION


def _parse(body: dict[str, object]) -> Flight:
    if body["version"] != VERSION:
        raise ValueError(f"version {body['version']}, expected {VERSION}")
    apart = ("attempt", "protected", "ignored", "others", "began")
    words = {name: _word(body[name]) for name in Flight._fields if name not in apart}
    attempt, began = body["attempt"], body.get("began", 0.0)
    if not isinstance(attempt, int) or not isinstance(began, float):
        raise ValueError(f"attempt is {attempt!r}, began at {began!r}")
    protected, ignored = _unpacked(body["protected"]), _unpacked(body.get("ignored", {}))
    others = _unpacked_others(body.get("others"))
    return Flight(**words, attempt=attempt, protected=protected, ignored=ignored, others=others, began=began)


def _packed(kept: dict[str, bytes | None]) -> dict[str, str | None]:
    return {path: None if data is None else base64.b64encode(data).decode() for path, data in kept.items()}


def _unpacked(packed: object) -> dict[str, bytes | None]:
    if not isinstance(packed, dict):
        raise ValueError(f"{packed!r} does not map paths to bytes")
    return {_word(p): None if data is None else base64.b64decode(_word(data)) for p, data in packed.items()}


def _packed_others(others: Others | None) -> dict[str, object] | None:
    return {"refs": others.refs, **_packed({"stash": others.stash_log})} if others else None


def _unpacked_others(packed: object) -> Others | None:
    if packed is None:
        return None
    if not isinstance(packed, dict) or not isinstance(packed.get("refs"), dict):
        raise ValueError(f"{packed!r} does not name refs")
    refs = {_word(name): _word(value) for name, value in packed["refs"].items()}
    return Others(refs, _unpacked({"stash": packed["stash"]})["stash"])


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not text")
    return value
