"""What the state file of an epic says, as frozen values. Their state changes by legal steps only."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from holdfast.errors import PlanError
from holdfast.model.plan import Status
from holdfast.plans.epic_states import EPIC_STEPS, TICKET_STEPS, EpicState, TicketState

SKIPPED = "skipped by hand"
"""Version 1 has no state for a ticket that is left out on purpose. FAILED is the one that claims no work was
done; this reason tells it from a failure, and whatever reason was there before follows behind it."""
NEW_RUN = "archive it and start over with --force-new, or put an earlier version of it back"
_STATUS = {
    TicketState.COMPLETED: Status.COMPLETED,
    TicketState.FAILED: Status.FAILED,
    TicketState.BLOCKED: Status.BLOCKED,
    TicketState.IN_PROGRESS: Status.IN_PROGRESS,
    TicketState.AWAITING_VALIDATION: Status.IN_PROGRESS,
}


class TicketRecord(NamedTuple):
    """One ticket, its fields in the order in which they are written."""

    id: str
    path: str | None = None
    title: str | None = None
    depends_on: tuple[Any, ...] = ()
    critical: bool = False
    state: TicketState = TicketState.PENDING
    git_info: Mapping[str, Any] | None = None
    test_suite_status: str | None = None
    acceptance_criteria: tuple[Any, ...] = ()
    failure_reason: str | None = None
    blocking_dependency: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    more: Mapping[str, Any] = {}
    """What only others understand."""

    @property
    def skipped(self) -> bool:
        return self.state is TicketState.FAILED and (self.failure_reason or "").startswith(SKIPPED)

    @property
    def status(self) -> Status:
        return Status.SKIPPED if self.skipped else _STATUS.get(self.state, Status.PENDING)

    @property
    def final_commit(self) -> str | None:
        return (self.git_info or {}).get("final_commit")


class EpicRecord(NamedTuple):
    """The whole file, its fields in the order in which they are written."""

    path: str
    """Of the state file; not written."""
    epic_id: str
    epic_branch: str | None = None
    baseline_commit: str | None = None
    epic_state: EpicState = EpicState.INITIALIZING
    tickets: Mapping[str, TicketRecord] = {}
    more: Mapping[str, Any] = {}

    def with_tickets(self, *changed: TicketRecord) -> "EpicRecord":
        return self._replace(tickets={**self.tickets, **{ticket.id: ticket for ticket in changed}})

    def step(self, ticket: TicketRecord, *states: TicketState) -> TicketRecord:
        """The ticket, which may have changed otherwise too, taken from state to state."""
        for state in states:
            if state not in TICKET_STEPS[ticket.state]:
                raise _illegal(self.path, f"ticket {ticket.id}", ticket.state, state)
            ticket = ticket._replace(state=state)
        return ticket

    def advanced(self, *states: EpicState) -> "EpicRecord":
        """The epic taken from state to state; one it is in already is passed over."""
        record = self
        for state in states:
            if state is not record.epic_state and state not in EPIC_STEPS[record.epic_state]:
                raise _illegal(self.path, f"epic {self.epic_id}", record.epic_state, state)
            record = record._replace(epic_state=state)
        return record


def _illegal(path: str, what: str, state: str, to: str) -> PlanError:
    return PlanError(path, 0, f"{what} cannot go from {state} to {to}", fix=NEW_RUN)
