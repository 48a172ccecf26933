"""progress.log of rafa: JSON lines as Go writes them, appended to and never rewritten."""

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from holdfast.plans.base import Completion
from holdfast.plans.json_edit import as_go

_PLAN_EVENT = b'"event":"plan_'


class Totals(NamedTuple):
    settled: bool
    """Every task of the plan."""
    tasks: int
    succeeded: int


def log_completion(log: bytes, plan_id: str, done: Completion, totals: Totals, again: bool) -> bytes:
    """The lines to append for one completed task; none when it is told `again` and the log has it already."""
    if again and _has_completion(log, done.task):
        return b""
    began = done.attempts[0].started if done.attempts else done.at
    lines = [*_opening(log, plan_id, began), *_attempts(done)]
    new = _on_lines_of_their_own(log, lines)
    return new + log_end(log + new, plan_id, done.at, totals) if totals.settled else new


def log_end(log: bytes, plan_id: str, at: str, totals: Totals) -> bytes:
    """The line that ends a plan; none where nobody knows when that was."""
    if not at:
        return b""
    opening = _opening(log, plan_id, at)
    duration = 0 if opening else _milliseconds(_opened_at(log), at)
    data = {"duration_ms": duration, "succeeded_tasks": totals.succeeded, "total_tasks": totals.tasks}
    return _on_lines_of_their_own(log, [*opening, _line(at, "plan_completed", data)])


def _opening(log: bytes, plan_id: str, at: str) -> list[str]:
    return [] if _opened_at(log) else [_line(at, "plan_started", {"plan_id": plan_id})]


def _attempts(done: Completion) -> Iterator[str]:
    for tried in done.attempts:
        which = {"attempt": tried.number, "task_id": done.task}
        yield _line(tried.started, "task_started", which)
        if tried.error:
            yield _line(tried.ended, "task_failed", which)
    yield _line(done.at, "task_completed", {"task_id": done.task})


def _line(at: str, event: str, data: Mapping[str, object]) -> str:
    """The keys of `data` in alphabetical order, as Go writes a map."""
    entry = {"timestamp": at, "event": event, "data": dict(sorted(data.items()))}
    return as_go(json.dumps(entry, ensure_ascii=False, separators=(",", ":")))


def _on_lines_of_their_own(log: bytes, lines: list[str]) -> bytes:
    """A line that a dying rafa left unfinished stays as it is, and ends before ours."""
    torn = b"\n" if log and not log.endswith(b"\n") else b""
    return torn + "".join(f"{line}\n" for line in lines).encode(errors="replace")


def _opened_at(log: bytes) -> str:
    """When the plan was started that no later line has ended; "" for none."""
    entry = _entry(log, log.rfind(_PLAN_EVENT))
    return str(entry.get("timestamp", "")) if entry.get("event") == "plan_started" else ""


def _has_completion(log: bytes, task_id: str) -> bool:
    data = as_go(json.dumps({"task_id": task_id}, ensure_ascii=False, separators=(",", ":")))
    return f'"event":"task_completed","data":{data}'.encode(errors="replace") in log


def _entry(log: bytes, at: int) -> dict[str, object]:
    if at < 0:
        return {}
    end = log.find(b"\n", at)
    line = log[log.rfind(b"\n", 0, at) + 1 : end if end >= 0 else len(log)]
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


def _milliseconds(began: str, ended: str) -> int:
    from datetime import datetime  # only the end of a plan needs it

    try:
        return max(
            0, round((datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds() * 1000)
        )
    except (TypeError, ValueError):
        return 0
