"""What agents that speak plain text have in common: their environment, how they are heard and judged."""

from collections import deque

from holdfast.agents.base import Assignment, Ending, Outcome, OutcomeKind
from holdfast.agents.printable import last_bytes, one_line, printable
from holdfast.agents.tags import Claim, read_claim, suggested_message

FINAL_LINES = 200
FINAL_BYTES = 64 * 1024
TAIL_LINES = 40
TAIL_BYTES = 4 * 1024
# Linux starts no program with a variable longer than 128 KiB.
TITLE_LIMIT = 1000

ENDED_BY_US = {
    OutcomeKind.TIMED_OUT: "the agent was stopped: it ran longer than the task timeout allows",
    OutcomeKind.SILENT: "the agent was stopped: it said nothing for longer than the idle timeout allows",
    OutcomeKind.INTERRUPTED: "the agent was stopped: the run was interrupted",
}


def task_environment(assignment: Assignment) -> dict[str, str]:
    values = {
        "HOLDFAST_TASK_ID": assignment.task.id,
        "HOLDFAST_TASK_TITLE": assignment.task.title[:TITLE_LIMIT],
        "HOLDFAST_ATTEMPT": str(assignment.attempt),
        "HOLDFAST_PLAN": assignment.plan,
        "HOLDFAST_RUN": assignment.run,
        "HOLDFAST_PROMPT_FILE": assignment.prompt_file,
    }
    return {name: value.replace("\0", "") for name, value in values.items()}


class PlainListener:
    """Takes the end of standard output for the agent's final message; keeps no more than that."""

    skims = True

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque()
        self._size = 0

    def heard(self, line: bytes) -> str | None:
        kept = line[-FINAL_BYTES:]
        self._lines.append(kept)
        self._size += len(kept) + 1
        while len(self._lines) > FINAL_LINES or self._size > FINAL_BYTES + 1:
            self._size -= len(self._lines.popleft()) + 1
        return _shown(kept)

    def outcome(self, ending: Ending) -> Outcome:
        final = b"\n".join(self._lines).decode("utf-8", "replace")
        claim = read_claim(final)
        kind, reason = _judge(ending, claim)
        note = claim.text if claim and claim.succeeded else ""
        return Outcome(kind, reason, suggested_message(final), note, _tail(final))


def _shown(line: bytes) -> str | None:
    """Carriage returns draw a progress bar over itself: its last state is the one to show."""
    return printable(line.decode("utf-8", "replace")).rstrip().rsplit("\n", 1)[-1] or None


def _judge(ending: Ending, claim: Claim | None) -> tuple[OutcomeKind, str]:
    """Ours, then the system's, then the agent's word against itself: never its word for itself alone."""
    if ending.cause:
        return ending.cause, ENDED_BY_US.get(ending.cause, "the agent was stopped")
    if ending.exit_code is None:
        return OutcomeKind.CRASHED, f"killed by {_signal_name(ending.signal)}"
    if claim and not claim.succeeded:
        return OutcomeKind.REFUSED, _refusal(ending.exit_code, claim.text)
    if ending.exit_code:
        return OutcomeKind.FAILED, _exit_text(ending.exit_code)
    return OutcomeKind.FINISHED, ""


def _refusal(exit_code: int, text: str) -> str:
    why = one_line(text) or "the agent says it failed and not why"
    return f"{_exit_text(exit_code)}: {why}" if exit_code else why


def _exit_text(exit_code: int) -> str:
    """A shell reports the signal that killed its command as 128 + its number."""
    text = f"exited with status {exit_code}"
    name = _signal_name(exit_code - 128) if exit_code > 128 else ""
    return f"{text} (128 + {name})" if name.startswith("SIG") else text


def _signal_name(number: int | None) -> str:
    from signal import Signals  # builds an enum of every signal; only a failure needs it

    if number is None:
        return "a signal"
    names = {known.value: known.name for known in Signals}
    return names.get(number, f"signal {number}")


def _tail(final: str) -> str:
    lines = printable(final).rstrip().split("\n")
    return last_bytes("\n".join(lines[-TAIL_LINES:]), TAIL_BYTES)
