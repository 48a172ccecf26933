"""What happens to an epic, as its state file tells it: values to values, a function for each event."""

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.model.plan import Status
from holdfast.plans.base import Completion
from holdfast.plans.epic import Ticket
from holdfast.plans.epic_record import SKIPPED, EpicRecord, TicketRecord
from holdfast.plans.epic_states import EpicState, TicketState, route
from holdfast.plans.epic_waiting import hopeless, opened, woken

_MARKED_AS = {
    Status.IN_PROGRESS: TicketState.IN_PROGRESS,
    Status.COMPLETED: TicketState.COMPLETED,
    Status.FAILED: TicketState.FAILED,
    Status.SKIPPED: TicketState.FAILED,
    Status.BLOCKED: TicketState.BLOCKED,
}
_COMPLETED = TicketState.COMPLETED
_AT_WORK = (TicketState.IN_PROGRESS, TicketState.AWAITING_VALIDATION)


def described(record: EpicRecord, tickets: Sequence[Ticket]) -> EpicRecord:
    """What the epic file says about its tickets, new ones included; what happened to them stays."""
    told = [_described(record.tickets.get(ticket.id), ticket) for ticket in tickets]
    return woken(record.with_tickets(*told), tickets)


def marked(record: EpicRecord, tickets: Sequence[Ticket], ticket: Ticket, status: Status) -> EpicRecord:
    """The state of one ticket and nothing else; for SKIPPED the reason that says so, too."""
    anew = opened(record, ticket, tickets)
    known = record.tickets.get(ticket.id) or _described(None, ticket)._replace(state=anew)
    steps = route(known.state, _MARKED_AS.get(status, anew), anew)
    return record.with_tickets(record.step(_with_skip(known, status is Status.SKIPPED), *steps))


def completed(record: EpicRecord, tickets: Sequence[Ticket], done: Completion) -> EpicRecord:
    """A second time, once its commit is known, adds that commit."""
    record = described(record, tickets)
    known = record.tickets[done.task]
    if _is_told(known):
        return record.with_tickets(_with_commit(known, done))
    ticket = next(ticket for ticket in tickets if ticket.id == done.task)
    steps = route(known.state, TicketState.COMPLETED, TicketState.READY)
    baseline = record.baseline_commit or done.baseline or _base_of_the_first(record, done)
    told = record.step(_with_commit(_told(known, ticket, done), done), *steps)
    record = record.with_tickets(told)._replace(
        epic_branch=done.branch or record.epic_branch, baseline_commit=baseline
    )
    return _judged(woken(record, tickets), tickets)


def finished(record: EpicRecord, tickets: Sequence[Ticket], landed: Mapping[str, Completion]) -> EpicRecord:
    done = [known for name, known in record.tickets.items() if name in landed and known.state is _COMPLETED]
    for known in done:
        if not _is_told(known):
            record = completed(record, tickets, landed[known.id])
    record = record.with_tickets(*[_with_commit(record.tickets[k.id], landed[k.id]) for k in done])
    found = [record.tickets.get(ticket.id) for ticket in tickets]
    settled = all(known is not None and known.status.settled for known in found)
    if not settled or record.epic_state is EpicState.FINALIZED:
        return record
    return record.advanced(EpicState.EXECUTING, EpicState.MERGING, EpicState.FINALIZED)


def recovered(record: EpicRecord) -> EpicRecord:
    """What a dead run was at begins again: whatever it had found out is not to be trusted."""
    at_work = [known for known in record.tickets.values() if known.state in _AT_WORK]
    return record.with_tickets(*[record.step(_untold(known), TicketState.READY) for known in at_work])


def failed(
    record: EpicRecord, tickets: Sequence[Ticket], ticket_id: str, reason: str, blocked: Sequence[str]
) -> EpicRecord:
    record = described(record, tickets)
    known = record.tickets[ticket_id]._replace(failure_reason=_reason(reason))
    steps = route(known.state, TicketState.FAILED, TicketState.READY)
    waiting = [_blocked(record, record.tickets[name], ticket_id) for name in blocked]
    return _judged(record.with_tickets(record.step(known, *steps), *waiting), tickets)


def rolled_back(record: EpicRecord, tickets: Sequence[Ticket], reason: str) -> EpicRecord:
    """The branch is back at the baseline: no ticket's commit is on it any more, so none is completed."""
    if record.epic_state is EpicState.ROLLED_BACK:
        return record
    undone = [
        record.step(
            _untold(known)._replace(git_info=None, failure_reason=_reason(reason)), TicketState.PENDING
        )
        for known in record.tickets.values()
        if known.state in (_COMPLETED, *_AT_WORK)
    ]
    record = woken(record.with_tickets(*undone), tickets)
    begun = () if record.epic_state is not EpicState.INITIALIZING else (EpicState.EXECUTING,)
    return record.advanced(*begun, EpicState.ROLLED_BACK)


def _described(known: TicketRecord | None, ticket: Ticket) -> TicketRecord:
    return (known or TicketRecord(ticket.id))._replace(
        path=ticket.places[0], title=ticket.title, depends_on=ticket.depends_on, critical=ticket.critical
    )


def _with_skip(ticket: TicketRecord, skip: bool) -> TicketRecord:
    reason = ticket.failure_reason or ""
    if skip:
        return ticket._replace(failure_reason=f"{SKIPPED}; {reason}" if reason else SKIPPED)
    if not ticket.skipped:
        return ticket
    return ticket._replace(failure_reason=reason.removeprefix(SKIPPED).removeprefix("; ") or None)


def _is_told(known: TicketRecord) -> bool:
    return known.state is _COMPLETED and known.completed_at is not None


def _told(known: TicketRecord, ticket: Ticket, done: Completion) -> TicketRecord:
    git_info = {**(known.git_info or {}), "branch_name": f"ticket/{known.id}", "base_commit": done.base}
    return known._replace(
        git_info={**git_info, "final_commit": None},
        test_suite_status="passing" if done.checked else None,
        acceptance_criteria=_criteria(ticket, done),
        failure_reason=None,
        blocking_dependency=None,
        started_at=done.attempts[0].started if done.attempts else known.started_at,
        completed_at=done.at,
    )


def _criteria(ticket: Ticket, done: Completion) -> tuple[dict[str, Any], ...]:
    """Met are those that somebody found met; silence is not."""
    found = {criterion.text: criterion.met for criterion in done.criteria}
    texts = dict.fromkeys((*ticket.acceptance, *found))
    return tuple([{"criterion": text, "met": found.get(text, False)} for text in texts])


def _base_of_the_first(record: EpicRecord, done: Completion) -> str | None:
    begun = any(known.git_info for known in record.tickets.values())
    return None if begun else done.base or None


def _with_commit(known: TicketRecord, done: Completion) -> TicketRecord:
    if not done.commit:
        return known
    return known._replace(git_info={**(known.git_info or {}), "final_commit": done.commit})


def _reason(words: str) -> str:
    """An agent may say why it failed in any words, but not that a user skipped the ticket."""
    return f"failed: {words}" if words.startswith(SKIPPED) else words


def _blocked(record: EpicRecord, known: TicketRecord, cause: str) -> TicketRecord:
    if known.state is TicketState.BLOCKED:
        return known
    return record.step(known._replace(blocking_dependency=cause), TicketState.BLOCKED)


def _untold(ticket: TicketRecord) -> TicketRecord:
    return ticket._replace(
        git_info={**ticket.git_info, "final_commit": None} if ticket.git_info else None,
        test_suite_status=None,
        acceptance_criteria=(),
        started_at=None,
        completed_at=None,
    )


def _judged(record: EpicRecord, tickets: Sequence[Ticket]) -> EpicRecord:
    record = record.advanced(EpicState.EXECUTING)
    return record.advanced(EpicState.FAILED) if hopeless(record, tickets) else record
