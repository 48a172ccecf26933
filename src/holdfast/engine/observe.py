"""What recovery looks at: git, the in-flight record, the plan at the tip and in the tree. Changes nothing."""

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.engine.flight import Damaged, Flight, read_flight
from holdfast.engine.message import ATTEMPT, KEY, TASK, read_trailers
from holdfast.engine.pin import pinned_flight
from holdfast.engine.recover import Candidate, Dirt, Observation, Record, Tip
from holdfast.engine.site import Site
from holdfast.engine.source import kept_files, plan_at, plan_in_tree
from holdfast.errors import AGAIN, GitError, PlanError
from holdfast.model.identity import by_title, match_tasks
from holdfast.model.plan import Document, Plan, Status, Task
from holdfast.model.policy import Commits
from holdfast.plans.base import Dialect
from holdfast.system import clock, git, reflog
from holdfast.system.git import Git, Unreadable

AGENT_ACTION = "holdfast-agent"
"""Set as GIT_REFLOG_ACTION for agents, so that the reflog tells their hand from the user's."""


class Sight(NamedTuple):
    """An observation with the values a repair needs."""

    observation: Observation
    tip: str
    flight: Flight | None
    damaged: Damaged | None
    candidate_ref: str
    candidate: str
    at_tip: Document | None
    """The plan at the tip; None when git does not track it there."""
    dirt: git.Dirt
    marked: tuple[Task, ...]
    """Tasks done in the tree's plan and not at the tip."""
    stepped: tuple[Task, ...]
    """Open tasks some of whose steps are done in the tree's plan and not at the tip."""


def look(site: Site) -> Sight:
    tip = site.git.resolve(site.branch) or ""
    record = read_flight(site.workspace.tree_state)
    lost = _lost_flight(site) if record is None else None
    flight = record if isinstance(record, Flight) else lost
    candidate_ref, candidate = _candidate(site)
    at_tip = _plan_at_tip(site, tip, flight)
    dirt = site.git.dirt()
    marked, stepped = _marks(site, at_tip, dirt)
    open_task = _open_task(site, flight, at_tip)
    observation = Observation(
        record=Record.LOST if lost else _classify_record(site, record, open_task),
        candidate=_classify_candidate(site.git, candidate, tip),
        tip=_classify_tip(site.git, flight, tip),
        dirt=_classify_dirt(site, dirt, marked, stepped, open_task),
        operation=bool(site.workspace.operation_under_way()),
        same_boot=flight is None or flight.boot == clock.boot_id(),
        plan_edited=_plan_edited(site, flight, at_tip, dirt),
        on_interrupt=site.policy.on_interrupt,
        agent_commits=site.policy.commits is Commits.AGENT,
        allow_dirty=site.policy.allow_dirty,
    )
    damaged = record if isinstance(record, Damaged) else None
    return Sight(observation, tip, flight, damaged, candidate_ref, candidate, at_tip, dirt, marked, stepped)


def _lost_flight(site: Site) -> Flight | None:
    """Only while nobody else has moved the branch on: a pin that old says nothing about what is here now."""
    flight = pinned_flight(site)
    here = flight and (site.git.resolve(site.branch) == flight.base or moved_by_agent_alone(site.git, flight))
    return flight if here else None


def _plan_at_tip(site: Site, tip: str, flight: Flight | None) -> Document | None:
    try:
        return plan_at_tip(site, tip, flight)
    except (PlanError, Unreadable):
        if flight is None or flight.base == tip:
            raise
        return None  # an agent committed something that is no plan, or was torn; the base has it


def plan_at_tip(site: Site, commit: str, flight: Flight | None = None) -> Document | None:
    begun = flight.ignored if flight and flight.run == site.run else {}
    return plan_at(site.git, site.plan, commit, begun, site.attempts)


def plan_that_is_there(site: Site, commit: str | None) -> Document:
    """At the tip of a branch of ours, which holds one: else somebody took the branch or the plan away."""
    document = plan_at_tip(site, commit) if commit else None
    if document is None:
        branch = site.branch.removeprefix("refs/heads/")
        raise GitError(
            f"git finds no {site.plan.path} on {branch}, where it was",
            fix=f"bring it back (`git log {branch} -- {site.plan.path}` shows its last commits), {AGAIN}",
        )
    return document


def same_task(site: Site, plan: Plan, flight: Flight) -> Task | None:
    """The task in flight in an edited plan: by title first, then by id. A renumbered plan still matches, an
    edited title too; another task that has its number now does not."""
    before = plan_at_tip(site, flight.base, flight)
    was = before.plan.task(flight.task) if before else None
    if before is None or was is None or was.key != flight.key:  # gone already when that became the base
        same = [task for task in plan.tasks if task.key == flight.key]
        return min(same, key=lambda task: task.id != flight.task, default=None)
    now = match_tasks(before.plan, plan).pairs.get(was.id)
    return plan.task(now) if now else None


def _candidate(site: Site) -> tuple[str, str]:
    for ref, commit in site.git.refs(site.candidate_prefix).items():
        return ref, commit
    return "", ""


def _open_task(site: Site, flight: Flight | None, at_tip: Document | None) -> Task | None:
    """The task in flight here, unless it is done or gone from the plan."""
    if flight is None or at_tip is None or flight.by_hand or flight.run != site.run:
        return None
    task = same_task(site, at_tip.plan, flight)
    return task if task and not task.status.settled else None


def _classify_record(site: Site, record: Flight | Damaged | None, open_task: Task | None) -> Record:
    if record is None:
        return Record.NONE
    if isinstance(record, Damaged):
        return Record.NEWER if record.newer else Record.DAMAGED
    if record.run != site.run:
        return Record.OTHERS
    if record.by_hand:
        return Record.BY_HAND
    return Record.OPEN if open_task else Record.MOOT


def _classify_candidate(git: Git, candidate: str, tip: str) -> Candidate:
    if not candidate:
        return Candidate.NONE
    if candidate == tip or git.is_ancestor(candidate, tip):
        return Candidate.LANDED
    return Candidate.NEXT if git.resolve(f"{candidate}^") == tip else Candidate.ASTRAY


def _classify_tip(git: Git, flight: Flight | None, tip: str) -> Tip:
    head = git.resolve("HEAD")
    if flight is None or tip == head == flight.base:
        return Tip.AT_BASE
    if moved_by_agent_alone(git, flight):
        return Tip.AGENTS
    if tip == flight.base:
        return Tip.AT_BASE
    return Tip.AHEAD if git.is_ancestor(flight.base, tip) else Tip.ELSEWHERE


def moved_by_agent_alone(git: Git, flight: Flight) -> bool:
    return moved_by_agents(git, flight.branch, flight.base)


def moved_by_agents(git: Git, branch: str, base: str) -> bool:
    """Does every reflog entry of the branch since the base bear an agent's mark?

    Without a reflog, or with one that a power cut has torn off before the tip, we must believe so.
    """
    newest = next(reflog.moves(git, branch), None)
    if newest and newest.new != git.resolve(branch):
        return True
    # `git update-ref` leaves no words at all, and `git branch --force` heeds no variable
    theirs = (AGENT_ACTION, "branch: Reset to ")
    return all(not move.action or move.action.startswith(theirs) for move in _moves_since(git, branch, base))


def commits_by_agent(git: Git, flight: Flight, tip: str) -> tuple[str, ...]:
    """Those it made since the base and that are still below the tip: the newest first."""
    moves = _moves_since(git, flight.branch, flight.base)
    made = {move.new for move in moves if move.action.startswith(AGENT_ACTION)}
    below = git.text("rev-list", f"{flight.base}..{tip}").split() if made else ()
    return tuple(commit for commit in below if commit in made)


def _moves_since(git: Git, branch: str, base: str) -> Iterator[reflog.Move]:
    for move in reflog.moves(git, branch):
        if move.new == base:
            return
        yield move
        if move.old == base:
            return


def _marks(site: Site, at_tip: Document | None, dirt: git.Dirt) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """Left by another tool, an older run or a failed hook; never evidence by themselves."""
    in_tree = _plan_in_tree(site, dirt)
    if at_tip is None or in_tree is None:
        return (), ()
    before = by_title(in_tree.plan, at_tip.plan)
    at_tip_by_id = {task.id: task for task in at_tip.plan.tasks}
    marked, stepped = [], []
    for task in in_tree.plan.tasks:
        was = at_tip_by_id.get(before.get(task.id, ""))
        if was is None or was.status.settled:
            continue
        if task.status is Status.COMPLETED:
            marked.append(was)
        elif {s.text for s in task.steps if s.done} - {s.text for s in was.steps if s.done}:
            stepped.append(was)
    return tuple(marked), tuple(stepped)


def _plan_edited(site: Site, flight: Flight | None, at_tip: Document | None, dirt: git.Dirt) -> bool:
    in_tree = _plan_in_tree(site, dirt)
    if at_tip is None or in_tree is None:
        return False
    if flight is None:  # with its marks another tool may have noted when and how: that is no edit
        return _tasks_in_words(at_tip) != _tasks_in_words(in_tree)
    return not same_words(site.plan.dialect, in_tree, at_tip)


def _tasks_in_words(document: Document) -> list[tuple[str, str]]:
    return [(task.title, re.sub(r"\[.\]", "[ ]", task.body)) for task in document.plan.tasks]


def with_marks_of(dialect: Dialect, document: Document, other: Document) -> Document:
    """Marks in the tree are no evidence: an agent may have made them."""
    same = by_title(document.plan, other.plan)
    known = {task.id: task.status for task in other.plan.tasks}
    for task in document.plan.tasks:
        status = known[same[task.id]] if task.id in same else task.status
        if status != task.status:
            document = dialect.mark(document, task.id, status)
    return document


def same_words(dialect: Dialect, document: Document, other: Document) -> bool:
    """Whatever is marked in either."""
    return without_marks(with_marks_of(dialect, document, other)) == without_marks(other)


def without_marks(document: Document) -> bytes:
    """The words of a plan, whatever steps are ticked and however its lines end."""
    words = bytearray(document.data)
    for task in document.plan.tasks:
        for at in (task.at, *(step.at for step in task.steps)):
            if at >= 0:
                words[at : at + 1] = b" "
    return bytes(words).replace(b"\r\n", b"\n")


def _plan_in_tree(site: Site, dirt: git.Dirt) -> Document | None:
    """None when it is as at the tip, or no plan at the moment."""
    if not set(dirt.paths) & set(kept_files(site.plan)):
        return None
    try:
        return plan_in_tree(site.git.root, site.plan)
    except PlanError:
        return None


def _classify_dirt(
    site: Site,
    dirt: git.Dirt,
    marked: tuple[Task, ...],
    stepped: tuple[Task, ...],
    open_task: Task | None,
) -> Dirt:
    """Of a task in flight only its own mark says that it is finished: another one is somebody's tick."""
    if dirt.clean:
        return Dirt.NONE
    if dirt.conflicted or (open_task and marked and marked != (open_task,)):
        return Dirt.OTHER
    asks = site.plan.must_be_committed or site.policy.commits is Commits.AGENT
    recoverable = asks and bool(marked or stepped)
    if set(dirt.paths) <= set(site.plan.files) and not recoverable:
        return Dirt.PLAN
    if len(marked) > 1:
        return Dirt.SEVERAL_MARKED
    if marked:
        return Dirt.MARKED
    return Dirt.STEPS if len(stepped) == 1 else Dirt.OTHER


def landed_task(git: Git, commit: str) -> tuple[str, str, int]:
    """(id, key, attempt) from the trailers of a commit of ours; attempt 0 is a change of marks by hand."""
    trailers = read_trailers(os.fsdecode(git.run("log", "-1", "--format=%B", commit)))
    attempt = trailers.get(ATTEMPT, "")
    return trailers.get(TASK, ""), trailers.get(KEY, ""), int(attempt) if attempt.isdecimal() else 0
