"""How a process ended: what every agent module judges alike."""

from holdfast.agents.base import Ending, OutcomeKind
from holdfast.agents.printable import one_line, printable
from holdfast.agents.tags import Claim

STOPPED = (0, 129, 130, 143)
"""Exit codes after being told to stop: 0 from some for SIGINT, the others as a shell says them."""

ENDED_BY_US = {
    OutcomeKind.TIMED_OUT: "the agent was stopped: it ran longer than the task timeout allows",
    OutcomeKind.SILENT: "the agent was stopped: it said nothing for longer than the idle timeout allows",
    OutcomeKind.INTERRUPTED: "the agent was stopped: the run was interrupted",
}


def ended_by_force(ending: Ending) -> tuple[OutcomeKind, str] | None:
    """Ours, then the system's; None when the program came to an end of its own."""
    if ending.cause:
        return ending.cause, ENDED_BY_US.get(ending.cause, "the agent was stopped")
    if ending.exit_code is None:
        return OutcomeKind.CRASHED, f"killed by {signal_name(ending.signal)}"
    return None


def ended_early(exit_code: int, what: str, stderr: str) -> tuple[OutcomeKind, str]:
    """Its process ended without the event that would have told us how."""
    kind = OutcomeKind.INTERRUPTED if exit_code in STOPPED else OutcomeKind.FAILED
    return kind, ": ".join(filter(None, (f"{exit_text(exit_code)} {what}", _complaint(stderr))))


def _complaint(stderr: str) -> str:
    """Where a program that never got going says why: the last line with the word in it, or the last."""
    lines = [line for line in printable(stderr).splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return one_line((errors or lines or [""])[-1])


def by_claim(exit_code: int, claim: Claim | None) -> tuple[OutcomeKind, str]:
    """The agent's word counts against itself, and never for itself alone."""
    if claim and not claim.succeeded:
        why = one_line(claim.text) or "the agent says it failed and not why"
        return OutcomeKind.REFUSED, f"{exit_text(exit_code)}: {why}" if exit_code else why
    if exit_code:
        return OutcomeKind.FAILED, exit_text(exit_code)
    return OutcomeKind.FINISHED, ""


def by_status(status: int | None) -> OutcomeKind:
    """What an HTTP status of the service means; None: nobody answered."""
    if status is None or status >= 500:
        return OutcomeKind.API_ERROR
    return _BY_STATUS.get(status, OutcomeKind.FAILED)


_BY_STATUS = {
    401: OutcomeKind.UNAUTHORISED,
    402: OutcomeKind.OUT_OF_BUDGET,
    403: OutcomeKind.UNAUTHORISED,
    429: OutcomeKind.LIMITED,
}


def exit_text(exit_code: int) -> str:
    """A shell reports the signal that killed its command as 128 + its number."""
    text = f"exited with status {exit_code}"
    name = signal_name(exit_code - 128) if exit_code > 128 else ""
    return f"{text} (128 + {name})" if name.startswith("SIG") else text


def signal_name(number: int | None) -> str:
    from signal import Signals  # builds an enum of every signal; only a failure needs it

    if number is None:
        return "a signal"
    names = {known.value: known.name for known in Signals}
    return names.get(number, f"signal {number}")
