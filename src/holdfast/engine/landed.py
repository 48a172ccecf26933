"""What the commits of a branch say about the tasks of a plan: read from trailers, git's word alone.

Needed where the plan itself cannot be part of a commit because git ignores it, and where a tool's own files
want to name the commit of each task.
"""

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from holdfast.engine.message import ATTEMPT, KEY, PLAN, STATUS, TASK, read_trailers
from holdfast.errors import PlanError
from holdfast.model.identity import by_key
from holdfast.model.plan import Plan, Status, Task
from holdfast.plans.base import Attempted, Completion
from holdfast.system.clock import timestamp
from holdfast.system.git import Git

ANEW = "anew"
"""The status of a commit after which nothing that came before it counts."""


class Landed(NamedTuple):
    task: str
    key: str
    status: Status
    commit: str
    base: str
    at: str
    attempt: int


def landed_tasks(git: Git, plan: str, commit: str) -> tuple[Landed, ...]:
    """Newest first; of several commits of one task, by title and id, the newest."""
    found: dict[tuple[str, str], Landed] = {}
    for landed in _told(git, plan, "--fixed-strings", f"--grep={PLAN}: {plan}", commit):
        if landed is None:
            break
        found.setdefault((landed.key, landed.task), landed)
    return tuple(found.values())


def by_task(plan: Plan, landed: Sequence[Landed]) -> dict[str, Landed]:
    """What was last said of each task, by its id, newest first.

    A title tells a task though it was renumbered, and tasks of one title are told apart by their ids. Where
    neither helps, a task would be called done that is not: PlanError.
    """
    of_title: dict[str, list[Landed]] = {}
    for last in landed:
        of_title.setdefault(last.key, []).append(last)
    wanted = by_key(plan) if landed else {}
    found = [pair for key in wanted for pair in _paired(plan, wanted[key], of_title.get(key, ()))]
    places = {last: place for place, last in enumerate(landed)}
    return dict(sorted(found, key=lambda pair: places[pair[1]]))


def _paired(plan: Plan, tasks: Sequence[Task], landed: Sequence[Landed]) -> Iterator[tuple[str, Landed]]:
    if len(tasks) == 1:
        return iter([(tasks[0].id, landed[0])] if landed else [])
    by_id = {last.task: last for last in landed}
    ids = {task.id for task in tasks}
    rest = [task for task in tasks if task.id not in by_id]
    others = [last for last in landed if last.task not in ids]
    if rest and others:
        raise _ambiguous(plan, rest[0], others[0])
    return ((task_id, by_id[task_id]) for task_id in ids & by_id.keys())


def _ambiguous(plan: Plan, task: Task, landed: Landed) -> PlanError:
    message = (
        f'several tasks are called "{task.title}", and commit {landed.commit[:12]} is of task {landed.task}, '
        "which is none of them: which of them is done cannot be told"
    )
    fix = "give them their ids back or titles of their own, or begin anew with --force-new"
    return PlanError(plan.path, task.line, message, fix=fix)


def last_landed(git: Git, plan: str, commit: str) -> Landed | None:
    """The nearest commit of a task: mostly this one, else behind changes of marks or others' commits."""
    here = next(_told(git, plan, "-1", commit), None)
    if here and here.status is Status.COMPLETED:
        return here
    of_a_task = ("--all-match", "--fixed-strings", f"--grep={PLAN}: {plan}", f"--grep={ATTEMPT}: ")
    return next(_told(git, plan, "-1", *of_a_task, commit), None)


def _told(git: Git, plan: str, *selection: str) -> Iterator[Landed | None]:
    """Newest first; None where everything before it no longer counts."""
    listing = git.run("log", "-z", "--format=%H%n%P%n%ct%n%B", *selection, "--")
    for entry in filter(None, os.fsdecode(listing).split("\0")):
        commit, parents, seconds, message = entry.split("\n", 3)
        trailers = read_trailers(message)
        if trailers.get(PLAN) == plan and trailers.get(STATUS) == ANEW:
            yield None
        elif trailers.get(PLAN) == plan and KEY in trailers:
            yield _landed(trailers, commit, parents.partition(" ")[0], int(seconds))


def _landed(trailers: dict[str, str], commit: str, base: str, seconds: int) -> Landed:
    attempt = trailers.get(ATTEMPT, "")
    return Landed(
        task=trailers.get(TASK, ""),
        key=trailers[KEY],
        status=Status(trailers.get(STATUS, Status.COMPLETED)),
        commit=commit,
        base=base,
        at=timestamp(seconds),
        attempt=int(attempt) if attempt.isdecimal() else 1,
    )


def completion(landed: Landed, task: str, branch: str, attempts: tuple[Attempted, ...]) -> Completion:
    """As far as git knows: of the attempts only the last, unless the journal has told more."""
    known = attempts or (Attempted(landed.attempt, landed.at, landed.at),)
    return Completion(
        task,
        landed.at,
        landed.base,
        branch,
        attempts=known,
        criteria=known[-1].criteria,
        commit=landed.commit,
    )
