"""The record of a merge: what is about to happen to a branch and its checkout, durable before it does.

One per checkout: whoever finds it knows that the branch may have moved and the files not yet followed.
"""

import json
import os
from typing import NamedTuple

from holdfast.errors import Refused
from holdfast.system import files

VERSION = 1


class MergeRecord(NamedTuple):
    plan: str
    branch: str
    """The run branch, in full."""
    tip: str
    """Where it was: what is being merged."""
    target: str
    """The branch that gets it, in full."""
    old: str
    new: str
    here: bool
    """The checkout is on the target: its files and index are to follow."""
    how: str
    """In words, for the reflog and the screen."""


def record_file(tree_state: str) -> str:
    return os.path.join(tree_state, "merge.json")


def write_record(tree_state: str, record: MergeRecord) -> None:
    text = json.dumps({"version": VERSION, **record._asdict()}, indent=1)
    files.write_durably(record_file(tree_state), text.encode(), fault="merge.record")


def read_record(tree_state: str) -> MergeRecord | None:
    path = record_file(tree_state)
    data = files.read_if_there(path)
    if data is None:
        return None
    try:
        body = json.loads(data)
        version = body.pop("version")
        record = MergeRecord(**body)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Refused(
            f"the record of a merge that was cut off cannot be read: {path} ({error})",
            fix=f"compare `git status` and `git log` with what you expect, then remove {path}",
        ) from error
    if version != VERSION:
        raise Refused(
            f"another version of Holdfast was cut off in a merge: {path} is of version {version}",
            fix="finish it with that version; nothing was changed",
        )
    return record


def clear_record(tree_state: str) -> None:
    files.remove_durably(record_file(tree_state), fault="merge.record")


def cut_off(tree_state: str) -> str:
    """A sentence about a merge that has begun in this checkout and not ended, "" when there is none."""
    if not os.path.exists(record_file(tree_state)):
        return ""
    try:
        record = read_record(tree_state)
    except Refused as refused:
        return refused.message
    assert record is not None
    names = (name.removeprefix("refs/heads/") for name in (record.branch, record.target))
    return f"a merge of {' into '.join(names)} was cut off; finish it with: holdfast merge {record.plan}"
