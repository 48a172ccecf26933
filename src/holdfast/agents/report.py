"""What an agent says about its own work: by the report tool where it has one, by tags in its final message.

Read from its own events alone. Its word counts against itself whichever way it is given.
"""

import os
import sys
from typing import NamedTuple

from holdfast.agents import report_server, wire
from holdfast.agents.printable import one_line, printable
from holdfast.agents.tags import (
    CLAIM_LIMIT,
    Claim,
    Reported,
    clean_message,
    read_claim,
    read_criteria,
    suggested_message,
)

TOOL = report_server.TOOL
SERVER = report_server.SERVER
MOST_CRITERIA = 1000


class Report(NamedTuple):
    """One call of the tool."""

    done: bool
    summary: str
    message: str
    criteria: tuple[Reported, ...]

    @property
    def in_words(self) -> str:
        return one_line(f"{'done' if self.done else 'not done'}: {self.summary}")


class Word(NamedTuple):
    """All it says, by either way."""

    claim: Claim | None
    message: str
    """A suggested commit message, "" when it gave none."""
    criteria: tuple[Reported, ...]

    @property
    def success_note(self) -> str:
        return self.claim.text if self.claim and self.claim.succeeded else ""

    @property
    def refusal(self) -> str:
        return self.claim.text if self.claim and not self.claim.succeeded else ""


def server_command(file: str = "") -> tuple[str, ...]:
    """Starts the server, also in an empty environment and in a workspace with modules of the same names.
    `file` is where it is to leave the last report, "" for nowhere."""
    script = os.path.abspath(report_server.__file__)
    return (sys.executable, "-I", "-S", script, *((file,) if file else ()))


def read_report(arguments: wire.Object) -> Report | None:
    """None for a call that the tool has not taken."""
    if report_server.missing(arguments):
        return None
    return Report(
        arguments["done"],
        printable(arguments["summary"]).strip()[:CLAIM_LIMIT],
        clean_message(wire.text(arguments, "commit_message")),
        tuple(_criteria(wire.items(arguments, "criteria")[:MOST_CRITERIA])),
    )


def _criteria(items: list[wire.Object]) -> list[Reported]:
    return [
        Reported(wire.count(item, "number"), item["met"], printable(wire.text(item, "note"))[:CLAIM_LIMIT])
        for item in items
        if isinstance(item.get("met"), bool)
    ]


def own_word(final: str, report: Report | None = None) -> Word:
    """The report decides; the tags say what it leaves out, and a tag of failure is not outvoted."""
    claim, message, criteria = read_claim(final), suggested_message(final), read_criteria(final)
    if report is None:
        return Word(claim, message, criteria)
    if claim is None or claim.succeeded:
        claim = Claim(report.done, report.summary)
    said = {each.number: each for each in (*criteria, *report.criteria)}
    return Word(claim, report.message or message, tuple(said.values()))
