"""An epic's files as one document: the epic, the texts of its tickets, and the state file with the marks."""

from collections.abc import Mapping
from functools import lru_cache

from holdfast.errors import PlanError
from holdfast.model.plan import Document, Plan, Status, Task
from holdfast.plans.base import Claims
from holdfast.plans.epic import Epic, Ticket, epic_from, state_file
from holdfast.plans.epic_json import parse_record
from holdfast.plans.epic_record import NEW_RUN, EpicRecord
from holdfast.plans.epic_states import TicketState
from holdfast.plans.lines import scan_lines
from holdfast.plans.validate import validate

_UNTOUCHED = (TicketState.PENDING, TicketState.READY, TicketState.BLOCKED, TicketState.FAILED)
"""A ticket in one of these may leave the epic, and its entry stays as it is. One that is begun or done may
not: under another id its work would be done again."""


def ticket_files(data: bytes, path: str) -> tuple[str, ...]:
    places = [place for ticket in _epic(data, path).tickets for place in ticket.places]
    return tuple(dict.fromkeys(places))


def read_document(data: bytes, path: str, name: str, beside: Mapping[str, bytes]) -> Document:
    epic = _epic(data, path)
    tasks = tuple([_task(ticket, path, beside) for ticket in epic.tickets])
    title = epic.title or name
    plan = validate(Plan(name, "buildspec", path, tasks, title, epic.preamble, epic.rollback_on_failure))
    document = Document(data, plan, tuple(sorted(beside.items())))
    record = record_in(document)
    if record is None:
        return document
    _refuse_other_epic(record, plan)
    return with_statuses(document, record)


def record_in(document: Document) -> EpicRecord | None:
    path = state_file(document.plan.path)
    data = document.files.get(path)
    return None if data is None else parse_record(data, path)


def with_statuses(document: Document, record: EpicRecord) -> Document:
    known = {name: ticket.status for name, ticket in record.tickets.items()}
    plan = document.plan
    tasks = [task._replace(status=known.get(task.id, Status.PENDING)) for task in plan.tasks]
    return document._replace(plan=plan._replace(tasks=tuple(tasks)))


def tickets_of(document: Document) -> tuple[Ticket, ...]:
    """Each with the one place where its text was found."""
    there = document.files
    return tuple(
        [
            ticket._replace(places=tuple(place for place in ticket.places if place in there)[:1])
            for ticket in _epic(document.data, document.plan.path).tickets
        ]
    )


def claims(document: Document) -> Claims:
    """As long as no ticket was begun, nothing is said to be on the branch, and it need not exist."""
    record = record_in(document)
    if record is None or not any(known.git_info for known in record.tickets.values()):
        return Claims()
    done = [known for known in record.tickets.values() if known.state is TicketState.COMPLETED]
    commits = [(known.id, known.final_commit) for known in done if known.final_commit]
    return Claims(record.epic_branch or "", tuple(commits))


@lru_cache(maxsize=4)
def _epic(data: bytes, path: str) -> Epic:
    """Remembered: the same bytes are asked for files, then read, then changed."""
    if path.lower().endswith((".md", ".markdown")):
        from holdfast.plans.epic_toml import read_toml

        return epic_from(read_toml(data, path), path)
    from holdfast.plans.epic_yaml import read_yaml

    return epic_from(read_yaml(data, path), path)


def _task(ticket: Ticket, path: str, beside: Mapping[str, bytes]) -> Task:
    place = next((place for place in ticket.places if place in beside), None)
    if place is None:
        message = f"ticket {ticket.id} has no text: {' or '.join(ticket.places)} is missing"
        raise PlanError(path, ticket.line, message, fix=f"write {ticket.places[0]}")
    text = "\n".join([line.text for line in scan_lines(beside[place], place).lines])
    return Task(
        id=ticket.id,
        title=ticket.title,
        status=Status.PENDING,
        line=ticket.line,
        body=_body(ticket, text.strip()),
        depends_on=ticket.depends_on,
        acceptance=ticket.acceptance,
        files=ticket.files,
        critical=ticket.critical,
    )


def _body(ticket: Ticket, text: str) -> str:
    description = "" if ticket.description == ticket.title else ticket.description
    role = f"Coordination role: {ticket.role}" if ticket.role else ""
    return "\n\n".join(part for part in (description, role, text) if part)


def _refuse_other_epic(record: EpicRecord, plan: Plan) -> None:
    if record.epic_id != plan.name:
        message = f"this is the state of epic {record.epic_id or '(none)'}, and the epic here is {plan.name}"
        raise PlanError(record.path, 0, message, fix=NEW_RUN)
    ids = {task.id for task in plan.tasks}
    gone = [
        name for name, known in record.tickets.items() if name not in ids and known.state not in _UNTOUCHED
    ]
    if gone:
        message = f"{', '.join(gone)}: begun or done by this file, but {plan.path} has no such ticket"
        fix = f"put it back into {plan.path} (or, if it has a new id, give it that id here too), or {NEW_RUN}"
        raise PlanError(record.path, 0, message, fix=fix)
