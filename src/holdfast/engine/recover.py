"""Recovery decides here, and only here: a pure function from what was found to one action.

`decide` answers with the first row of the table that matches. Each action is done by `repair`, is safe to
repeat, and is followed by another look, until the answer is one that lets the run begin.
"""

from enum import StrEnum
from typing import NamedTuple

from holdfast.model.policy import OnInterrupt


class Record(StrEnum):
    """The in-flight record of this working tree."""

    NONE = "none"
    DAMAGED = "damaged"
    NEWER = "of a newer Holdfast"
    LOST = "none, though the pinned base tells of a task"
    OTHERS = "of another plan or branch"
    BY_HAND = "of a change of marks"
    OPEN = "of a task that is still open"
    MOOT = "of a task that is done or gone from the plan"


class Candidate(StrEnum):
    """A sealed commit whose gates passed."""

    NONE = "none"
    LANDED = "the tip or its ancestor"
    NEXT = "its parent is the tip"
    ASTRAY = "on another parent"


class Tip(StrEnum):
    """Where the branch is, seen from the in-flight record's base."""

    AT_BASE = "at the base"
    AGENTS = "moved by the agent alone"
    AHEAD = "moved forward by somebody else"
    ELSEWHERE = "moved off the base by somebody else"


class Dirt(StrEnum):
    """What the working tree holds beyond HEAD."""

    NONE = "nothing"
    PLAN = "the plan file only"
    MARKED = "a task marked done, and more"
    SEVERAL_MARKED = "several tasks marked done, and more"
    STEPS = "steps marked done, and more"
    OTHER = "changes"


class Observation(NamedTuple):
    record: Record
    candidate: Candidate
    tip: Tip
    dirt: Dirt
    operation: bool
    """A merge, rebase or the like is under way."""
    same_boot: bool
    plan_edited: bool
    """The plan in the tree says something else than at the tip, beyond its marks."""
    on_interrupt: OnInterrupt
    agent_commits: bool = False
    """`commits = agent`."""
    allow_dirty: bool = False


class Action(StrEnum):
    REFUSE_NEWER = "refuse: the record is of a newer Holdfast"
    SET_ASIDE = "set the damaged record aside"
    REBUILD = "write the lost record again, as far as the pin tells"
    FINISH = "the commit had landed: bring tree and index in line"
    PUBLISH = "publish the sealed commit"
    RESEAL = "check and seal the work again on the new tip"
    REFUSE_OTHERS = "refuse: another plan's task is in flight here"
    REFUSE_MOVED = "refuse: the branch was moved off the task's base"
    REFUSE_OPERATION = "refuse: an operation of the user's is under way"
    REFUSE_SEVERAL = "refuse: the work of several tasks is mixed"
    REFUSE_DIRTY = "refuse: the changes are the user's"
    FORGET = "nothing had happened: drop the record"
    ACCEPT = "the agent's own commit is the task's, if it holds"
    ASK_AGENT = "ask the agent to commit what it finished"
    PUT_BRANCH_BACK = "pin the agent's own commits, put the branch back"
    REBASE_RECORD = "take the new tip as the task's base"
    CLEAR_AWAY = "keep the left-over work under rescue, clear the tree"
    RESUME = "keep a snapshot, go on in place"
    ROLL_BACK = "keep a snapshot, go back to the task's start"
    COMMIT_MARKED = "commit the work of the task that is marked done"
    ADOPT = "take the changes as partial work of the task whose steps are marked"
    COMMIT_PLAN = "commit the plan file"
    TAKE_EDIT = "commit the edit of the plan, with the marks of the tip"
    BEGIN = "begin"


def decide(seen: Observation) -> Action:
    if seen.record is Record.NEWER:
        return Action.REFUSE_NEWER
    if seen.record is Record.DAMAGED:
        return Action.SET_ASIDE
    if seen.candidate is Candidate.LANDED:
        return Action.FINISH
    if seen.candidate is Candidate.NEXT:
        return Action.PUBLISH
    if seen.record is Record.LOST:
        return Action.REBUILD
    if seen.record is Record.OTHERS:
        return Action.REFUSE_OTHERS
    if seen.record is Record.BY_HAND:
        return Action.FORGET
    if seen.record is Record.NONE:
        return _decide_without_record(seen)
    if seen.tip is Tip.AGENTS:
        whole = seen.agent_commits and seen.dirt is Dirt.NONE and not seen.operation
        return Action.ACCEPT if whole else Action.PUT_BRANCH_BACK
    if seen.tip is not Tip.AT_BASE:
        return _decide_on_another_tip(seen)
    if seen.candidate is Candidate.ASTRAY:
        return Action.RESEAL
    return _decide_in_flight(seen)


def _decide_on_another_tip(seen: Observation) -> Action:
    if seen.record is Record.MOOT and seen.dirt is Dirt.NONE:
        return Action.FORGET
    if seen.tip is Tip.AHEAD or seen.dirt is Dirt.NONE:
        return Action.REBASE_RECORD
    return Action.REFUSE_MOVED


def _decide_in_flight(seen: Observation) -> Action:
    if seen.plan_edited and not seen.operation:
        return Action.TAKE_EDIT
    if seen.record is Record.MOOT:
        return Action.FORGET if seen.dirt is Dirt.NONE else Action.CLEAR_AWAY
    if seen.dirt is Dirt.NONE and not seen.operation:
        return Action.FORGET
    if not seen.same_boot:
        return Action.ROLL_BACK
    if seen.agent_commits and seen.dirt is Dirt.MARKED:
        return Action.ASK_AGENT
    return Action.ROLL_BACK if seen.on_interrupt is OnInterrupt.ROLLBACK else Action.RESUME


def _decide_without_record(seen: Observation) -> Action:
    if seen.operation:
        return Action.REFUSE_OPERATION
    if seen.allow_dirty or seen.dirt is Dirt.NONE:
        return Action.BEGIN
    if seen.plan_edited and seen.dirt is Dirt.MARKED:
        return Action.TAKE_EDIT
    return {
        Dirt.PLAN: Action.COMMIT_PLAN,
        Dirt.MARKED: Action.ASK_AGENT if seen.agent_commits else Action.COMMIT_MARKED,
        Dirt.SEVERAL_MARKED: Action.REFUSE_SEVERAL,
        Dirt.STEPS: Action.ADOPT,
        Dirt.OTHER: Action.REFUSE_DIRTY,
    }[seen.dirt]
