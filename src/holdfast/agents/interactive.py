"""An agent in the user's terminal: its own interface, which we cannot hear, and a person who ends it."""

import os

from holdfast.agents import wire
from holdfast.agents.activity import Activity
from holdfast.agents.base import Assignment, Ending, Outcome
from holdfast.agents.endings import by_claim, ended_by_force
from holdfast.agents.report import own_word, read_report
from holdfast.system.files import read_if_there

LONGEST_ARGUMENT = 100_000
"""Linux starts no program with a longer one than 128 KiB."""


def opening(assignment: Assignment) -> str:
    """What it is told first, as an argument."""
    if len(assignment.prompt.encode("utf-8", "surrogateescape")) <= LONGEST_ARGUMENT:
        return assignment.prompt.replace("\0", "")
    return f"Read {assignment.prompt_file} and do what it says."


def report_file(assignment: Assignment) -> str:
    return f"{assignment.prompt_file}.report.json"


class InteractiveListener:
    """Judges by the exit status and by the report, if it made one."""

    plain = True

    def __init__(self, report_file: str) -> None:
        self._report_file = report_file

    def heard(self, line: bytes) -> tuple[Activity, ...]:
        return ()

    def outcome(self, ending: Ending) -> Outcome:
        word = own_word("", read_report(wire.parsed(self._taken_report())))
        kind, reason = ended_by_force(ending) or by_claim(ending.exit_code or 0, word.claim)
        return Outcome(
            kind,
            reason,
            message=word.message,
            success_note=word.success_note,
            tail="",
            criteria=word.criteria,
            refusal=word.refusal,
        )

    def _taken_report(self) -> bytes:
        """Gone once it is read: it is the one thing here that nobody has freed of secrets."""
        found = read_if_there(self._report_file) if self._report_file else None
        if found is not None:
            os.unlink(self._report_file)
        return found or b""
