"""Every pair of states, legal or not: nothing else may ever be written."""

from itertools import pairwise, product

import pytest

from holdfast.errors import PlanError
from holdfast.plans.epic_record import EpicRecord, TicketRecord
from holdfast.plans.epic_states import LADDER, EpicState, TicketState, route

ON = [
    "PENDING READY",
    "READY BRANCH_CREATED",
    "BRANCH_CREATED IN_PROGRESS",
    "IN_PROGRESS AWAITING_VALIDATION",
]
ON += ["AWAITING_VALIDATION COMPLETED", "PENDING BLOCKED", "READY BLOCKED"]
FAILS = [f"{state} FAILED" for state in TicketState if state is not TicketState.FAILED]
BEGUN = ["BRANCH_CREATED", "IN_PROGRESS", "AWAITING_VALIDATION", "COMPLETED", "FAILED", "BLOCKED"]
OPENED_AGAIN = [f"{state} {opened}" for state in BEGUN for opened in ("PENDING", "READY")]
TICKET_LEGAL = {*ON, *FAILS, *OPENED_AGAIN}
EPIC_LEGAL = {
    "INITIALIZING EXECUTING",
    "EXECUTING MERGING",
    "MERGING FINALIZED",
    "EXECUTING FAILED",
    "EXECUTING ROLLED_BACK",
    "FAILED ROLLED_BACK",
    "FAILED EXECUTING",
    "ROLLED_BACK EXECUTING",
    "MERGING EXECUTING",
    "FINALIZED EXECUTING",
}


@pytest.mark.parametrize(("state", "to"), list(product(TicketState, TicketState)))
def test_a_ticket_takes_legal_steps_only(state: TicketState, to: TicketState) -> None:
    record, ticket = EpicRecord("s.json", "shop"), TicketRecord("a", state=state)
    if f"{state} {to}" in TICKET_LEGAL:
        assert record.step(ticket, to).state is to
        return
    with pytest.raises(PlanError, match=f"ticket a cannot go from {state} to {to}") as caught:
        record.step(ticket, to)
    assert caught.value.fix


@pytest.mark.parametrize(("state", "to"), list(product(EpicState, EpicState)))
def test_an_epic_takes_legal_steps_only(state: EpicState, to: EpicState) -> None:
    record = EpicRecord("s.json", "shop", epic_state=state)
    if state is to or f"{state} {to}" in EPIC_LEGAL:
        assert record.advanced(to).epic_state is to
        return
    with pytest.raises(PlanError, match=f"epic shop cannot go from {state} to {to}"):
        record.advanced(to)


@pytest.mark.parametrize(("state", "to"), list(product(TicketState, TicketState)))
@pytest.mark.parametrize("opened", [TicketState.PENDING, TicketState.READY])
def test_a_route_leads_there_by_legal_steps(state: TicketState, to: TicketState, opened: TicketState) -> None:
    way = (state, *route(state, to, opened))
    assert way[-1] is to
    backwards = {state, to} == {TicketState.PENDING, TicketState.READY} and to is TicketState.PENDING
    if not backwards:
        assert all(f"{here} {there}" in TICKET_LEGAL for here, there in pairwise(way))


def test_a_ticket_that_works_out_passes_every_state_of_the_ladder() -> None:
    assert (LADDER[0], *route(LADDER[0], TicketState.COMPLETED, TicketState.PENDING)) == LADDER
