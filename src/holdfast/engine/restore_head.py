"""HEAD's share of a restore. A branch that is there is never moved."""

import os
from enum import Enum
from typing import NamedTuple

from holdfast.engine.rescue_format import Note
from holdfast.system import faults
from holdfast.system.git import ABSENT, Git


class Step(Enum):
    SWITCH = "point HEAD at the branch"
    CREATE = "make the branch again, then point HEAD at it"
    DETACH = "point HEAD at the commit"


class Way(NamedTuple):
    step: Step
    problem: str = ""
    """Why this is not what the snapshot had; somebody has to agree to it."""
    notice: str = ""
    impossible: bool = False


def way_to_head(git: Git, note: Note) -> Way:
    if not note.branch:
        return Way(Step.DETACH)
    short = note.branch.removeprefix("refs/heads/")
    tip = git.resolve(note.branch) or ""
    elsewhere = _checked_out_at(git, note.branch)
    if tip == note.head and not elsewhere:
        return Way(Step.SWITCH)
    if not tip:
        return Way(Step.CREATE)
    if not note.head:
        return Way(Step.SWITCH, f"branch {short} had no commit then and has some now", impossible=True)
    what = f"is checked out at {elsewhere}" if elsewhere else f"has moved on to {tip[:12]}"
    notice = f"HEAD is detached at {note.head[:12]}, because branch {short} {what}"
    return Way(Step.DETACH, f"branch {short} {what}; the snapshot was taken at {note.head[:12]}", notice)


def put_head(git: Git, note: Note, way: Way) -> None:
    if way.step is Step.CREATE:
        git.move_ref(note.branch, note.head, ABSENT, "rescue restored", fault="unrescue.branch")
    faults.point("unrescue.head.before")
    detached = git.current_branch() is None
    if way.step is Step.DETACH:
        if not detached or git.resolve("HEAD") != note.head:
            git.run("update-ref", "--no-deref", "-m", "holdfast: rescue restored", "HEAD", note.head)
    elif git.current_branch() != note.branch:
        git.run("symbolic-ref", "-m", "holdfast: rescue restored", "HEAD", note.branch)
    faults.point("unrescue.head.after")


def _checked_out_at(git: Git, branch: str) -> str:
    """The other working tree that has this branch, else ""."""
    place = git.text("for-each-ref", "--format=%(worktreepath)", branch)
    same = not place or os.path.realpath(place) == os.path.realpath(git.root)
    return "" if same else place
