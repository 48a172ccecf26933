"""The states of a ticket and of its epic, and the only ways from one to another."""

from collections.abc import Mapping
from enum import StrEnum


class TicketState(StrEnum):
    PENDING = "PENDING"
    READY = "READY"
    BRANCH_CREATED = "BRANCH_CREATED"
    IN_PROGRESS = "IN_PROGRESS"
    AWAITING_VALIDATION = "AWAITING_VALIDATION"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    BLOCKED = "BLOCKED"


class EpicState(StrEnum):
    INITIALIZING = "INITIALIZING"
    EXECUTING = "EXECUTING"
    MERGING = "MERGING"
    FINALIZED = "FINALIZED"
    FAILED = "FAILED"
    ROLLED_BACK = "ROLLED_BACK"


_T, _E = TicketState, EpicState
LADDER = (_T.PENDING, _T.READY, _T.BRANCH_CREATED, _T.IN_PROGRESS, _T.AWAITING_VALIDATION, _T.COMPLETED)
"""The way of a ticket that works out."""
_OPEN_AGAIN = frozenset({_T.PENDING, _T.READY})
"""Where recovery, `reset`, a retry or a blocker that was completed after all bring a ticket back to."""

TICKET_STEPS: Mapping[TicketState, frozenset[TicketState]] = {
    _T.PENDING: frozenset({_T.READY, _T.BLOCKED, _T.FAILED}),
    _T.READY: frozenset({_T.BRANCH_CREATED, _T.BLOCKED, _T.FAILED}),
    _T.BRANCH_CREATED: frozenset({_T.IN_PROGRESS, _T.FAILED}) | _OPEN_AGAIN,
    _T.IN_PROGRESS: frozenset({_T.AWAITING_VALIDATION, _T.FAILED}) | _OPEN_AGAIN,
    _T.AWAITING_VALIDATION: frozenset({_T.COMPLETED, _T.FAILED}) | _OPEN_AGAIN,
    _T.COMPLETED: frozenset({_T.FAILED}) | _OPEN_AGAIN,
    _T.FAILED: _OPEN_AGAIN,
    _T.BLOCKED: frozenset({_T.FAILED}) | _OPEN_AGAIN,
}
EPIC_STEPS: Mapping[EpicState, frozenset[EpicState]] = {
    _E.INITIALIZING: frozenset({_E.EXECUTING}),
    _E.EXECUTING: frozenset({_E.MERGING, _E.FAILED, _E.ROLLED_BACK}),
    _E.MERGING: frozenset({_E.FINALIZED, _E.EXECUTING}),
    _E.FINALIZED: frozenset({_E.EXECUTING}),
    _E.FAILED: frozenset({_E.EXECUTING, _E.ROLLED_BACK}),
    _E.ROLLED_BACK: frozenset({_E.EXECUTING}),
}


def route(state: TicketState, to: TicketState, opened: TicketState) -> tuple[TicketState, ...]:
    """The steps from one state to another, by way of `opened` (PENDING or READY) where there is no other.

    Where there is none at all, the one step that is illegal: whoever takes it is told so.
    """
    if state is to:
        return ()
    if to in TICKET_STEPS[state]:
        return (to,)
    if state in LADDER and to in LADDER and LADDER.index(state) < LADDER.index(to):
        return LADDER[LADDER.index(state) + 1 : LADDER.index(to) + 1]
    return (to,) if state is opened else (opened, *route(opened, to, opened))
