"""memory/build_commits.json of an Auto-Claude spec: which commit each item became.

A commit cannot name itself. The entry of the task being committed has an empty hash; it is filled in by the
commit that comes next, and `finish` puts in for good what git says.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from holdfast.plans.auto_claude_history import FIX, NOUNS, touched
from holdfast.plans.base import Completion
from holdfast.plans.json_edit import Edit, applied, extend, put
from holdfast.plans.json_fields import Spot
from holdfast.plans.json_text import Node, parse

_OPENED = {"commits": 2, "metadata": 1}


class _Row(NamedTuple):
    task: str
    hash: str
    at: str


def with_completion(data: bytes, path: str, done: Completion, noun: str, again: bool) -> bytes:
    """One more completed item. With `again` it was marked before, and has its row if nothing was lost."""
    data = data or _new_commits(done.at)
    rows = _rows(read_commits(data, path))
    row = _Row(done.task, done.commit, done.at)
    there = any(known.task == done.task and (again or not known.hash) for known in rows)
    hashes = {done.task: done.commit} if there else {}
    return _written(data, path, hashes, [] if there else [row], done.commit, done.at, noun)


def with_landed(data: bytes, path: str, landed: Mapping[str, Completion], noun: str) -> bytes:
    """Every item that landed, with the commit that git has for it; the same bytes when they said so."""
    rows = [_Row(done.task, done.commit, done.at) for done in landed.values() if done.commit]
    if not rows:
        return data
    data = data or _new_commits(rows[-1].at)
    known = {row.task for row in _rows(read_commits(data, path))}
    hashes = {row.task: row.hash for row in rows if row.task in known}
    new = [row for row in rows if row.task not in known]
    return _written(data, path, hashes, new, rows[-1].hash, rows[-1].at, noun)


def read_commits(data: bytes, path: str) -> Node:
    """PlanError where it could not be kept up."""
    root = parse(data, path, _OPENED)
    listed = root.get("commits")
    if listed is None or listed.items is None or any(item.members is None for item in listed.items):
        raise Spot(path, 1, "commits").wrong("this should be a list of objects, one for each commit", FIX)
    return root


def _new_commits(at: str) -> bytes:
    stamps = {"created_at": at, "last_updated": at}
    return json.dumps({"commits": [], "last_good_commit": None, "metadata": stamps}, indent=2).encode()


def _rows(root: Node) -> list[_Row]:
    listed = root.get("commits")
    return [
        _Row(_text(node, *(f"{noun}_id" for noun in NOUNS)), _text(node, "hash"), "")
        for node in (listed.items if listed else None) or ()
    ]


def _text(node: Node, *keys: str) -> str:
    found = (node.get(key) for key in keys)
    return next((str(value.value or "") for value in found if value), "")


def _written(
    data: bytes, path: str, hashes: Mapping[str, str], new: Sequence[_Row], last: str, at: str, noun: str
) -> bytes:
    root = read_commits(data, path)
    edits = [*_mended(data, root, hashes), *_added(data, root, new, noun)]
    good = root.get("last_good_commit")
    if last and (good is None or good.value != last):
        edits.append(put(data, root, "last_good_commit", last))
    return applied(data, [*edits, *touched(data, root, at)]) if edits else data


def _mended(data: bytes, root: Node, hashes: Mapping[str, str]) -> list[Edit]:
    """An item that was done twice has two rows; the later is the one in question."""
    listed = root.get("commits")
    nodes = dict(zip(_rows(root), (listed.items if listed else None) or (), strict=True))
    latest = {row.task: (row, node) for row, node in nodes.items()}
    return [
        put(data, node, "hash", hashes[task])
        for task, (row, node) in latest.items()
        if hashes.get(task) and hashes[task] != row.hash
    ]


def _added(data: bytes, root: Node, new: Sequence[_Row], noun: str) -> list[Edit]:
    listed = root.get("commits")
    items = (listed.items if listed else None) or ()
    used = next((known for known in NOUNS if items and items[-1].get(f"{known}_id")), noun)
    rows = [{"hash": row.hash, f"{used}_id": row.task, "timestamp": row.at} for row in new]
    return [extend(data, listed, rows)] if listed and rows else []
