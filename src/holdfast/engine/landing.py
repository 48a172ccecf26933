"""Tasks that were worked on side by side land one after the other: one commit each, in one line.

A commit whose parent is no longer the tip is carried onto it. The merge is computed in objects, put into the
slot's tree, checked by the gates and the hooks again and sealed anew; then the run branch moves by the same
compare-and-swap as ever. A merge that conflicts, or that the gates refuse, goes back to the agent.
"""

import os
from typing import NamedTuple

from holdfast.agents.base import Outcome, OutcomeKind
from holdfast.engine import rescue
from holdfast.engine.agent_run import Try
from holdfast.engine.attempt import attempt
from holdfast.engine.begin import begin
from holdfast.engine.commit import Sealed
from holdfast.engine.complete import Done, next_try
from holdfast.engine.land import land
from holdfast.engine.onto import Merged, merged_onto
from holdfast.engine.ready import moving
from holdfast.engine.site import Site
from holdfast.engine.slot import done_ref, drop_done
from holdfast.model.events import Noticed, Rescued
from holdfast.model.plan import Document, Task
from holdfast.system import faults
from holdfast.system.git import ABSENT

MOST_CONFLICTS = 2
"""How often a task goes back to its agent because of one."""


class Back(NamedTuple):
    """The task goes back to its agent, on a newer tip."""

    this: Try
    tip: str
    conflict: bool


def carry_onto(site: Site, task: Task, done: Done, tip: str, plan: Document) -> Done | Back:
    """`plan` is the one at the tip. The tree is clean, at the task's commit, when this begins."""
    merged = merged_onto(site.git, site.plan, done.commit, tip, f"{site.private_index}.merge")
    _remember(site, task, done.commit)
    _move(site, done.commit, tip, merged.tree)
    this = _try_again(site, task, done, plan)
    if merged.conflicts:
        return _sent_back(site, this, done, tip, merged)
    site.record(Noticed(f"carried onto {tip[:12]}, which landed meanwhile; checked again", task.id))
    flight = begin(site, task, plan, tip, this.number)
    result = attempt(site, flight, this)
    if isinstance(result, Sealed):
        land(site, flight, result)
        drop_done(site)
        return Done(result.commit, result.plan, this.number)
    _keep(site, task, done.commit, "before it met what landed meanwhile")
    again = next_try(site, flight, this, result)
    drop_done(site)
    return Back(again._replace(plan=plan, resumed=True, changed=site.git.dirt().paths), tip, conflict=False)


def _remember(site: Site, task: Task, commit: str) -> None:
    """Until it is sealed anew: whoever finds this goes back to the commit and begins again from there."""
    ref = done_ref(site)
    known = site.git.resolve(ref) or ABSENT
    if known != commit:
        site.git.move_ref(ref, commit, known, f"carried onto another tip: {task.id}", fault="done")


def _move(site: Site, commit: str, tip: str, tree: str) -> None:
    """The branch at the tip, and in the tree what the task makes of it."""
    with moving(site, tree):
        site.git.move_ref(site.branch, tip, commit, "carried onto another tip", fault="onto")
        site.git.run("read-tree", "--reset", "-u", tree)
        faults.point("onto.files")


def _try_again(site: Site, task: Task, done: Done, plan: Document) -> Try:
    message = os.fsdecode(site.git.run("log", "-1", "--format=%B", done.commit))
    found = Outcome(OutcomeKind.FINISHED, "", _without_trailers(message), "its work was accepted before", "")
    return Try(
        task,
        plan,
        number=done.attempt,
        of=max(site.policy.max_attempts, done.attempt),
        feedback="",
        resumed=False,
        finished=True,
        accepted=found,
    )


def _without_trailers(message: str) -> str:
    """They are written again, for this commit."""
    body, _, last = message.rstrip().rpartition("\n\n")
    return body if last.startswith("Holdfast-") or "\nHoldfast-" in last else message.rstrip()


def _sent_back(site: Site, this: Try, done: Done, tip: str, merged: Merged) -> Back:
    """With the markers of the conflict in its files, and the commit as it was under rescue."""
    names = ", ".join(merged.conflicts)
    _keep(site, this.task, done.commit, f"in conflict with {tip[:12]}")
    begin(site, this.task, this.plan, tip, this.number)
    drop_done(site)
    site.record(Noticed(f"conflicts with what landed meanwhile in {names}; back to the agent", this.task.id))
    feedback = (
        "Your work on this task was finished, but other tasks have landed since, and it conflicts with them "
        f"in: {names}.\nBoth versions are in these files, between conflict markers (<<<<<<<, =======, "
        ">>>>>>>). Resolve every conflict so that the intention of both sides holds, and remove the markers. "
        f"Do not commit.\n{merged.words}"
    )
    back = this._replace(
        feedback=feedback, finished=False, accepted=None, resumed=True, changed=site.git.dirt().paths
    )
    return Back(back, tip, conflict=True)


def _keep(site: Site, task: Task, commit: str, why: str) -> None:
    ref = rescue.pin(site.git, site.run, f"{task.key}-commits", commit, f"task {task.id}: {why}")
    site.record(Rescued(ref, f"its commit {why}", task.id))
