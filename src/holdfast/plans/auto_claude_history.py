"""memory/attempt_history.json of an Auto-Claude spec: every attempt at every subtask or chunk."""

import json

from holdfast.plans.base import Completion
from holdfast.plans.json_edit import Edit, applied, extend, put, replace
from holdfast.plans.json_fields import Spot
from holdfast.plans.json_text import Node, parse

NOUNS = ("subtask", "chunk")
FIX = "mend it, or move it away: it is then begun anew"

_OPENED = {"subtasks": 2, "chunks": 2, "attempts": 1, "metadata": 1}


def with_attempts(data: bytes, path: str, done: Completion, noun: str, again: bool) -> bytes:
    """One more completed item. With `again` it was marked before, and is only told if it is missing here."""
    data = data or _new_history(noun, done.at)
    root = read_history(data, path)
    noun = next((known for known in NOUNS if root.get(f"{known}s")), noun)
    group = root.get(f"{noun}s")
    entry = group.get(done.task) if group else None
    status = entry.get("status") if entry else None
    if again and status and status.value == "completed":
        return data
    edits = _more(data, entry, done) if entry else [_first(data, root, noun, done)]
    edits += _unstuck(data, root.get(f"stuck_{noun}s"), noun, done.task)
    return applied(data, [*edits, *touched(data, root, done.at)])


def read_history(data: bytes, path: str) -> Node:
    """PlanError where it could not be kept up."""
    root = parse(data, path, _OPENED)
    groups = [root.get(f"{noun}s") for noun in NOUNS]
    entries = [m.node for group in groups if group for m in (group.members or {}).values()]
    lists = [entry.get("attempts") for entry in entries]
    objects = [root, *(group for group in groups if group), *entries]
    if any(node.members is None for node in objects) or any(node and node.items is None for node in lists):
        message = "not a history of attempts: subtasks should be objects with a list of attempts"
        raise Spot(path, 1, "").wrong(message, FIX)
    return root


def touched(data: bytes, root: Node, at: str) -> list[Edit]:
    metadata = root.get("metadata")
    return [put(data, metadata, "last_updated", at)] if metadata and metadata.get("last_updated") else []


def _new_history(noun: str, at: str) -> bytes:
    """The tool makes this file when a build begins, and reads it when somebody goes on with that build."""
    stamps = {"created_at": at, "last_updated": at}
    return json.dumps({f"{noun}s": {}, f"stuck_{noun}s": [], "metadata": stamps}, indent=2).encode()


def _first(data: bytes, root: Node, noun: str, done: Completion) -> Edit:
    entry = {"attempts": _attempts(done), "status": "completed"}
    group = root.get(f"{noun}s")
    return put(data, group, done.task, entry) if group else put(data, root, f"{noun}s", {done.task: entry})


def _more(data: bytes, entry: Node, done: Completion) -> list[Edit]:
    edits = [put(data, entry, "status", "completed")]
    listed, attempts = entry.get("attempts"), _attempts(done)
    if attempts:
        edits.append(extend(data, listed, attempts) if listed else put(data, entry, "attempts", attempts))
    return edits


def _attempts(done: Completion) -> list[dict[str, object]]:
    return [
        {
            "session": tried.number,
            "timestamp": tried.ended,
            "approach": f"holdfast, attempt {tried.number}",
            "success": not tried.error,
            "error": tried.error or None,
        }
        for tried in done.attempts
    ]


def _unstuck(data: bytes, stuck: Node | None, noun: str, task: str) -> list[Edit]:
    """What is done is stuck no longer."""
    listed = stuck.value if stuck and isinstance(stuck.value, list) else []
    kept = [entry for entry in listed if not isinstance(entry, dict) or entry.get(f"{noun}_id") != task]
    return [replace(data, stuck, kept)] if stuck and len(kept) < len(listed) else []
