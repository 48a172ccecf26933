"""What agents that speak plain text have in common: their environment, how they are heard and judged."""

from collections import deque

from holdfast.agents.activity import Activity, Said
from holdfast.agents.base import Assignment, Ending, Outcome
from holdfast.agents.endings import by_claim, ended_by_force
from holdfast.agents.printable import last_bytes, printable
from holdfast.agents.report import own_word

FINAL_LINES = 200
FINAL_BYTES = 64 * 1024
TAIL_LINES = 40
TAIL_BYTES = 4 * 1024
# Linux starts no program with a variable longer than 128 KiB.
TITLE_LIMIT = 1000


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

    plain = True

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque()
        self._size = 0

    def heard(self, line: bytes) -> tuple[Activity, ...]:
        kept = line[-FINAL_BYTES:]
        self._lines.append(kept)
        self._size += len(kept) + 1
        while len(self._lines) > FINAL_LINES or self._size > FINAL_BYTES + 1:
            self._size -= len(self._lines.popleft()) + 1
        shown = _shown(kept)
        return (Said(shown),) if shown else ()

    def outcome(self, ending: Ending) -> Outcome:
        final = b"\n".join(self._lines).decode("utf-8", "replace")
        word = own_word(final)
        kind, reason = ended_by_force(ending) or by_claim(ending.exit_code or 0, word.claim)
        return Outcome(
            kind,
            reason,
            message=word.message,
            success_note=word.success_note,
            tail=_tail(final),
            criteria=word.criteria,
            refusal=word.refusal,
        )


def _shown(line: bytes) -> str:
    """Carriage returns draw a progress bar over itself: its last state is the one to show."""
    return printable(line.decode("utf-8", "replace")).rstrip().rsplit("\n", 1)[-1]


def _tail(final: str) -> str:
    lines = printable(final).rstrip().split("\n")
    return last_bytes("\n".join(lines[-TAIL_LINES:]), TAIL_BYTES)
