"""A task in a tree of its own: given to it, found there again after a death, taken off it.

A slot is a numbered working tree that is used again and again. With a task it is on that task's branch, where
the usual protocol makes the task's one commit; without one its HEAD is detached. Nothing a slot holds is the
truth: a task is done when the plan at the tip of the *run* branch says so.
"""

import os
from typing import NamedTuple

from holdfast.engine import rescue
from holdfast.engine.complete import Done
from holdfast.engine.flight import Flight, clear_flight, read_flight
from holdfast.engine.guard import clear_tree_locks
from holdfast.engine.land import drop_helpers
from holdfast.engine.leftover import end_leftovers
from holdfast.engine.observe import landed_task, plan_at_tip, plan_that_is_there
from holdfast.engine.ready import detach_at, keep_detached, moving, settle
from holdfast.engine.repair import Standing, recover
from holdfast.engine.site import HEADS, TASK_BRANCHES, Site
from holdfast.engine.source import in_tree, kept_files
from holdfast.model.events import Event, Recovered, Rescued, TaskLanded
from holdfast.model.identity import same_in
from holdfast.model.plan import Document, Plan, Task
from holdfast.system import faults, files
from holdfast.system.git import ABSENT
from holdfast.workspaces.base import Slot, Workspace


class Found(NamedTuple):
    """What a dead run left in a slot."""

    branch: str
    task: Task
    done: Done | None
    """Its commit is made and was not published."""
    standing: Standing | None
    """It is under way, with its partial work in the tree."""


def slot_site(site: Site, workspace: Workspace, number: int, branch: str) -> Site:
    """`branch` is that of its task, whatever HEAD is on."""

    def record(event: Event) -> None:
        """A commit on the branch of its task has not landed yet: who lands it says so."""
        if not isinstance(event, TaskLanded):
            site.record(event)

    workspace = workspace._replace(branch=branch)
    return site._replace(workspace=workspace, crew=None, target=site.branch, slot=str(number), record=record)


def task_branch(site: Site, task: Task) -> str:
    template = site.policy.task_branch
    if template:
        return HEADS + template.replace("{task}", _named(task))
    return f"{HEADS}{TASK_BRANCHES}{site.run}/{_named(task)}-{task.key}"


def _named(task: Task) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in task.id).strip("-") or "task"


def task_on(site: Site, plan: Plan, branch: str) -> Task | None:
    """Whose branch this is; by its key where the plan was renumbered since."""
    named = next((task for task in plan.tasks if task_branch(site, task) == branch), None)
    key = branch.rpartition("-")[2]
    return named or next((task for task in plan.tasks if task.key == key), None)


def slots_found(site: Site) -> list[Slot]:
    """With the branch of the task that each was given. An agent may have led HEAD away: the record tells;
    without one, a branch that is not a task's was never given to the slot, and is somebody else's."""
    slots = site.crew.trees() if site.crew else ()
    return [slot._replace(branch=_given(site, slot)) for slot in slots]


def _given(site: Site, slot: Slot) -> str:
    flight = read_flight(os.path.join(site.workspace.state, "trees", slot.tree))
    if isinstance(flight, Flight):
        return flight.branch
    ours = f"{HEADS}{site.policy.task_branch.partition('{task}')[0] or f'{TASK_BRANCHES}{site.run}/'}"
    return slot.branch if slot.branch.startswith(ours) else ""


# -- given to it -----------------------------------------------------------------------------------------


def assign(site: Site, run: Site, tip: str) -> None:
    """The task begins where the run branch is now. What an older life of its branch held is kept, and so is
    whatever somebody left in the tree since its last task."""
    keep_detached(site, tip)
    if not site.git.dirt().clean:
        _keep_work(site)
    old = site.git.resolve(site.branch)
    if old and old != tip and not site.git.is_ancestor(old, tip):
        ref = rescue.pin(site.git, site.run, "task-branch", old, f"{site.branch} before its task began again")
        site.record(Rescued(ref, f"{site.branch.removeprefix(HEADS)} before its task began again"))
    with moving(site, tip):
        if old != tip:
            site.git.move_ref(site.branch, tip, old or ABSENT, "the task begins here", fault="slot.branch")
        _check_out(site)
        rescue.restore_start(site.workspace, tip, durable=False)
        _bring_ignored_plan(site, run)


def _check_out(site: Site) -> None:
    faults.point("slot.head.before")
    site.git.run("symbolic-ref", "-m", "holdfast: a task for this tree", "HEAD", site.branch)
    faults.point("slot.head.after")


def _bring_ignored_plan(site: Site, run: Site) -> None:
    for path in site.git.ignored(kept_files(site.plan)):
        data = in_tree(run.git.root, path)
        if data is not None and data != in_tree(site.git.root, path):
            files.write_durably(os.path.join(site.git.root, path), data, fault="tree.plan")


# -- found there again -----------------------------------------------------------------------------------


def take_stock(site: Site, plan: Document) -> Found | None:
    """`plan` is the one at the tip of the run branch. None: the slot is free, whatever it held is kept."""
    end_leftovers(site)
    for notice in clear_tree_locks(site, [site.branch], begun=True):
        site.record(Recovered("a git call died", notice))
    settle(site)
    task = task_on(site, plan.plan, site.branch) if site.branch else None
    if task is None and site.policy.task_branch and not _begun(site):
        return None  # a branch of a ticket's name that is no ticket's may be the user's own
    if task is None or task.status.settled:
        free(site)
        return None
    found = _finished(site, task) or _under_way(site, task)
    if found is None:
        free(site)
    return found


def _finished(site: Site, task: Task) -> Found | None:
    """Its commit is on its branch, or was when it had to be carried onto another tip.

    Then nobody works there: what the tree holds beside the commit was torn by a power cut, or is kept.
    """
    if _marked(site, task) and not _begun(site):
        _tidy(site, site.git.resolve(site.branch) or "")
    if _marked(site, task) or site.git.refs(site.candidate_prefix):
        recover(site)
    elif before := site.git.resolve(done_ref(site)):
        _put_back(site, before)
    if not _marked(site, task):
        return None
    drop_done(site)
    commit = site.git.resolve(site.branch)
    document = plan_that_is_there(site, commit)
    assert commit is not None
    site.record(Recovered("its commit, made before the run died", "only has to land", task.id))
    return Found(site.branch, task, Done(commit, document, landed_task(site.git, commit)[2] or 1), None)


def _marked(site: Site, task: Task) -> bool:
    commit = site.git.resolve(site.branch)
    document = plan_at_tip(site, commit) if commit else None
    same = same_in(document.plan, task) if document else None
    return same is not None and same.status.settled


def _under_way(site: Site, task: Task) -> Found | None:
    """Without a record or a pin nothing was begun: what differs was torn by a power cut, or is nobody's."""
    if not _begun(site):
        return None
    standing = recover(site)
    if standing.resume is None or standing.resume.key != task.key:
        return None
    return Found(site.branch, standing.resume, None, standing)


def _begun(site: Site) -> bool:
    return read_flight(site.workspace.tree_state) is not None or site.git.resolve(site.base_ref) is not None


def _put_back(site: Site, commit: str) -> None:
    """It was being carried onto another tip: that is done again. Git had put the outcome into the index; what
    differs from that somebody left there."""
    dirt = site.git.dirt()
    if dirt.unstaged or dirt.untracked:
        _keep_work(site)
    with moving(site, commit):
        clear_flight(site.workspace.tree_state)
        now = site.git.resolve(site.branch) or ABSENT
        if now != commit:
            site.git.move_ref(site.branch, commit, now, "back to the task's commit", fault="slot.back")
        _check_out(site)
        rescue.restore_start(site.workspace, commit, durable=False)
        drop_helpers(site)


def done_ref(site: Site) -> str:
    """Names the task's commit while it is being carried onto another tip."""
    name = site.branch.removeprefix(HEADS).removeprefix(f"{TASK_BRANCHES}{site.run}/")
    return f"refs/holdfast/done/{site.run}/{name}"


def drop_done(site: Site) -> None:
    ref = done_ref(site)
    if commit := site.git.resolve(ref):
        site.git.delete_refs({ref: commit}, fault="done.drop")


# -- taken off it ----------------------------------------------------------------------------------------


def free(site: Site) -> None:
    """The task has landed, was given up, or is gone from the plan. Doing it twice changes nothing."""
    tip = site.git.resolve(site.branch) if site.branch else None
    if tip is None:
        for sealed in site.git.refs(site.candidate_prefix).values():
            _keep_commit(site, sealed)
        drop_helpers(site)
        return
    _tidy(site, tip)
    for commit in dict.fromkeys((site.git.resolve(done_ref(site)), tip)):
        _keep_commit(site, commit)
    drop_done(site)
    drop_helpers(site)
    with moving(site, tip):
        site.git.delete_refs({site.branch: tip}, fault="slot.branch.drop")
        detach_at(site, tip)


def drop_strays(site: Site, known: list[str]) -> None:
    """Branches of tasks that got another title, or were removed, before a tree was on them."""
    for branch, commit in site.git.refs(f"{HEADS}{TASK_BRANCHES}{site.run}/").items():
        if branch not in known:
            _keep_commit(site, commit)
            site.git.delete_refs({branch: commit}, fault="slot.branch.drop")


def _keep_commit(site: Site, commit: str | None) -> None:
    if commit and not site.git.is_ancestor(commit, site.lands_on):
        reason = "the commit of a task that did not land"
        site.record(Rescued(rescue.pin(site.git, site.run, "task-branch", commit, reason), reason))


def let_go_of_slots(site: Site, plan: Plan | None, task: Task) -> None:
    """Whatever tree the task was worked on in is free again, what it held is under rescue."""
    for number, branch, _ in slots_found(site) if plan else ():
        if site.crew and plan and branch and task_on(site, plan, branch) == task:
            workspace = site.crew.open_tree(number, branch)
            own = slot_site(site, workspace, number, branch)
            end_leftovers(own)
            settle(own)
            free(own)


def _tidy(site: Site, tip: str) -> None:
    """The tree as the commit has it; whatever differs is kept."""
    if not site.git.dirt().clean:
        _keep_work(site)
        rescue.restore_start(site.workspace, tip, durable=False)


def _keep_work(site: Site) -> None:
    reason = "left in the tree of a task that is over"
    ref = rescue.snapshot(site.workspace, site.run, f"slot-{site.slot}", reason)
    site.record(Rescued(ref, reason))
