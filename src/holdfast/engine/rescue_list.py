"""Which rescues there are, and how to name one of them."""

import calendar
import os
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from holdfast.engine.rescue_format import NOTE, PREFIX, SUBJECT, Note, read_note, stamp_and_label
from holdfast.errors import UsageError
from holdfast.system.git import Git

_FIELDS = "%(refname)%00%(objectname)%00%(committerdate:unix)%00%(contents:subject)"


class Rescue(NamedTuple):
    ref: str
    commit: str
    when: float
    reason: str
    note: Note | None
    """None: not a snapshot but a commit (of the agent's, or sealed and not used) that was kept."""

    @property
    def name(self) -> str:
        return self.ref.rsplit("/", 1)[-1]

    @property
    def branch(self) -> str:
        return self.note.branch.removeprefix("refs/heads/") if self.note else ""

    @property
    def head(self) -> str:
        return self.note.head if self.note else self.commit

    @property
    def files(self) -> int:
        return self.note.files if self.note else 0

    @property
    def size(self) -> int:
        return self.note.size if self.note else 0


def list_rescues(git: Git, run: str = "") -> tuple[Rescue, ...]:
    """Oldest first, so that a number shown for one stays good when another is added."""
    listing = git.text("for-each-ref", f"--format={_FIELDS}", f"{PREFIX}{run}/" if run else PREFIX)
    rows = [line.split("\0") for line in listing.split("\n") if line]
    notes = _notes(git, [row[1] for row in rows])
    said = _reasons_of_pins(git, [row[0] for row in rows if notes[row[1]] is None])
    found = (
        Rescue(ref, commit, _when(ref, date), said.get(ref) or _reason(subject, notes[commit]), notes[commit])
        for ref, commit, date, subject in rows
    )
    return tuple(sorted(found, key=lambda rescue: (rescue.when, len(rescue.ref), rescue.ref)))


def find(rescues: Sequence[Rescue], word: str) -> Rescue:
    """By full name, by the last part of it, or by its number in the list."""
    if word.isascii() and word.isdigit() and 1 <= int(word) <= len(rescues):
        return rescues[int(word) - 1]
    found = [rescue for rescue in rescues if word in (rescue.ref, rescue.name)]
    if len(found) == 1:
        return found[0]
    if found:
        names = "\n".join(rescue.ref for rescue in found)
        raise UsageError(f"{len(found)} rescues are called {word}", fix=f"give the full name:\n{names}")
    raise UsageError(f"there is no rescue {word!r}", fix="`holdfast rescue list` shows them")


def drop(git: Git, rescues: Iterable[Rescue]) -> None:
    """Let go of them; one that somebody moved since it was listed stays."""
    git.delete_refs({rescue.ref: rescue.commit for rescue in rescues}, fault="rescue.drop")


def _notes(git: Git, commits: list[str]) -> dict[str, Note | None]:
    if not commits:
        return {}
    said = git.objects([f"{commit}:{NOTE}" for commit in commits])
    return {commit: read_note(data or b"") for commit, data in zip(commits, said, strict=True)}


def _reasons_of_pins(git: Git, refs: list[str]) -> dict[str, str]:
    """A kept commit has somebody else's message; why we kept it is in the reflog, until that expires."""
    logged = [ref for ref in refs if git.answer("reflog", "exists", ref, expect=(0, 1))[0] == 0]
    if not logged:
        return {}
    said = os.fsdecode(git.run("log", "--walk-reflogs", "--format=%gD%x00%gs", *logged))
    rows = (line.partition("\0") for line in said.splitlines())
    return {name.rpartition("@{")[0]: why.removeprefix("holdfast: ") for name, _, why in rows}


def _reason(subject: str, note: Note | None) -> str:
    return subject.removeprefix(SUBJECT) if note else f"commit kept: {subject}"


def _when(ref: str, date: str) -> float:
    """When it was kept; a kept commit itself may be older."""
    try:
        return float(calendar.timegm(time.strptime(stamp_and_label(ref)[0], "%Y%m%d-%H%M%S")))
    except ValueError:
        return float(date or 0)
