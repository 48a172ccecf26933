"""Which tickets of an epic can start, which wait, and which never will as things stand."""

from collections.abc import Sequence

from holdfast.model.plan import Status
from holdfast.plans.epic import Ticket
from holdfast.plans.epic_record import EpicRecord, TicketRecord
from holdfast.plans.epic_states import TicketState


def can_start(record: EpicRecord, ticket: Ticket) -> bool:
    """All that it depends on is settled."""
    found = [record.tickets.get(name) for name in ticket.depends_on]
    return all(known is not None and known.status.settled for known in found)


def opened(record: EpicRecord, ticket: Ticket, tickets: Sequence[Ticket]) -> TicketState:
    """The state of a ticket that is opened by hand: READY if it can start, unless this file calls others
    PENDING that could start as well. Those behind the ticket itself were PENDING for its sake."""
    if not can_start(record, ticket):
        return TicketState.PENDING
    others = [other for other in tickets if ticket.id not in (other.id, *other.depends_on)]
    alike = [other for other in others if can_start(record, other)]
    pending = [other for other in alike if _state(record, other) is TicketState.PENDING]
    return TicketState.PENDING if pending else TicketState.READY


def woken(record: EpicRecord, tickets: Sequence[Ticket]) -> EpicRecord:
    """Tickets that waited for something which is settled by now are READY; blocked ones wait again, or know
    what else blocks them."""
    causes = _causes(record, tickets)
    changed = [
        _woken(record, record.tickets[ticket.id], ticket, causes.get(ticket.id))
        for ticket in tickets
        if ticket.id in record.tickets
    ]
    return record.with_tickets(*changed)


def hopeless(record: EpicRecord, tickets: Sequence[Ticket]) -> bool:
    """A critical ticket failed, or some did and nothing is left to do but what they block."""
    found = [(ticket, record.tickets.get(ticket.id)) for ticket in tickets]
    failed = [ticket for ticket, known in found if known and known.status is Status.FAILED]
    if any(ticket.critical for ticket in failed):
        return True
    is_open = [not known or known.status in (Status.PENDING, Status.IN_PROGRESS) for _, known in found]
    return bool(failed) and not any(is_open)


def _state(record: EpicRecord, ticket: Ticket) -> TicketState | None:
    return record.tickets[ticket.id].state if ticket.id in record.tickets else None


def _woken(record: EpicRecord, known: TicketRecord, ticket: Ticket, cause: str | None) -> TicketRecord:
    if known.state is TicketState.BLOCKED:
        known = known._replace(blocking_dependency=cause)
        known = known if cause else record.step(known, TicketState.PENDING)
    if known.state is TicketState.PENDING and can_start(record, ticket):
        known = record.step(known, TicketState.READY)
    return known


def _causes(record: EpicRecord, tickets: Sequence[Ticket]) -> dict[str, str]:
    """Each ticket behind a failed one, however far, with the first such failure."""
    dependents: dict[str, list[str]] = {}
    for ticket in tickets:
        for wanted in ticket.depends_on:
            dependents.setdefault(wanted, []).append(ticket.id)
    failed = [name for name, known in record.tickets.items() if known.status is Status.FAILED]
    causes: dict[str, str] = {}
    for cause in failed:
        todo = list(dependents.get(cause, ()))
        while todo:
            name = todo.pop()
            if name not in causes:
                causes[name] = cause
                todo.extend(dependents.get(name, ()))
    return causes
