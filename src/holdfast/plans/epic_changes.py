"""An epic's document after something happened: the state file changed, or written for the first time."""

from collections.abc import Callable, Mapping

from holdfast.errors import PlanError
from holdfast.model.plan import Document, Status
from holdfast.plans import epic_progress
from holdfast.plans.base import Completion
from holdfast.plans.epic import Ticket, state_file
from holdfast.plans.epic_document import record_in, tickets_of, with_statuses
from holdfast.plans.epic_json import dump_record
from holdfast.plans.epic_record import EpicRecord, TicketRecord
from holdfast.plans.json_edit import applied, put
from holdfast.plans.json_text import parse

Change = Callable[[EpicRecord, tuple[Ticket, ...]], EpicRecord]


def mark(document: Document, task_id: str, status: Status) -> Document:
    """In a state file that is there, only the values that change are replaced."""
    task = document.plan.task(task_id)
    if task is None:
        raise PlanError(document.plan.path, 0, f"there is no ticket {task_id} to mark")
    if task.status is status:
        return document
    tickets, before = tickets_of(document), _record(document)
    ticket = next(ticket for ticket in tickets if ticket.id == task_id)
    after = epic_progress.marked(before, tickets, ticket, status)
    return _written(document, before, after, _edited(document, before.tickets.get(task_id), after, task_id))


def complete(document: Document, done: Completion) -> Document:
    return _changed(document, lambda record, tickets: epic_progress.completed(record, tickets, done))


def finish(document: Document, landed: Mapping[str, Completion]) -> Document:
    return _changed(document, lambda record, tickets: epic_progress.finished(record, tickets, landed))


def fail(document: Document, task_id: str, reason: str, blocked: tuple[str, ...]) -> Document:
    return _changed(
        document, lambda record, tickets: epic_progress.failed(record, tickets, task_id, reason, blocked)
    )


def roll_back(document: Document, reason: str) -> Document:
    return _changed(document, lambda record, tickets: epic_progress.rolled_back(record, tickets, reason))


def recover(document: Document) -> Document:
    if record_in(document) is None:
        return document
    return _changed(document, lambda record, tickets: epic_progress.recovered(record))


def _changed(document: Document, change: Change) -> Document:
    before = _record(document)
    return _written(document, before, change(before, tickets_of(document)), None)


def _record(document: Document) -> EpicRecord:
    """What the state file says, or would say if there were one."""
    name, path = document.plan.name, state_file(document.plan.path)
    fresh = EpicRecord(path, name, f"epic/{name}")
    return record_in(document) or epic_progress.described(fresh, tickets_of(document))


def _edited(document: Document, before: TicketRecord | None, after: EpicRecord, task_id: str) -> bytes | None:
    """None where the file has no entry for the ticket yet: then it is written anew."""
    data, known = document.files.get(after.path), after.tickets[task_id]
    if data is None or before is None:
        return None
    tickets = parse(data, after.path, {"tickets": 2}).get("tickets")
    entry = tickets and tickets.get(task_id)
    if not entry:
        return None
    edits = [put(data, entry, "state", known.state.value)]
    if known.failure_reason != before.failure_reason:
        edits.append(put(data, entry, "failure_reason", known.failure_reason))
    return applied(data, edits)


def _written(document: Document, before: EpicRecord, after: EpicRecord, data: bytes | None) -> Document:
    if after == before:
        return document
    there = document.files.get(after.path)
    files = dict(document.beside) | {after.path: data or dump_record(after, there)}
    return with_statuses(document._replace(beside=tuple(sorted(files.items()))), after)
