"""`merge`: the run branch lands in a branch of the user's, beside whatever they have uncommitted.

Look at everything first; make the commit as an object; write down what is going to happen; make files and
index ready aside; move the branch by compare-and-swap, which is the commit point; then files and index
follow. Killed before the commit point, nothing has happened; after it, the same command does the rest.
"""

import os
from collections.abc import Callable
from typing import NamedTuple

from holdfast.engine.build import HEADS, Build, built_plan, commits_between, common_start, is_merged, short
from holdfast.engine.hooks import Ground
from holdfast.engine.merge_commit import Style, Way, find_way, make_commit, merge_message, squash_message
from holdfast.engine.merge_files import (
    Place,
    Ready,
    Step,
    hold_index,
    in_the_way,
    let_go_of_index,
    make_ready,
    put_in_place,
    theirs_in_the_way,
)
from holdfast.engine.merge_plan import (
    keep_their_plan,
    mark_ignored_plan,
    same_words_elsewhere,
    versions_taken_in,
)
from holdfast.engine.merge_record import MergeRecord, clear_record, read_record, write_record
from holdfast.engine.source import Attempts
from holdfast.engine.stale_locks import locks_of_run, move_aside
from holdfast.errors import HoldfastError, PlanError, Refused, UsageError
from holdfast.model.events import BuildMerged, Event, Noticed
from holdfast.model.plan import Plan
from holdfast.system.files import read_if_there
from holdfast.system.git import Git, GitKilled
from holdfast.system.process import Stops
from holdfast.workspaces.base import OPERATIONS, Workspace
from holdfast.workspaces.trees import linked_trees, main_branch

MOST_NAMED = 8


class Wish(NamedTuple):
    into: str = ""
    """A branch by its short name; "" for the one that is checked out."""
    style: Style = Style.AS_FITS
    partial: bool = False
    """Merge although tasks are open."""


class Effects(NamedTuple):
    record: Callable[[Event], None]
    attempts: Attempts
    stops: Stops
    lock: int
    hook_timeout: float


class Target(NamedTuple):
    branch: str
    tip: str
    here: bool
    """The checkout is on it: files and index follow."""


class Course(NamedTuple):
    """What a merge would do; nothing has been touched yet."""

    target: Target
    way: Way | None
    """None: all of it is there already."""
    step: Step | None
    """What the checkout has to follow; None where it has no part in it."""
    commits: int
    plan: Plan
    keep_plan: bool
    """The user's plan file has bytes that only a snapshot would keep."""


class Merged(NamedTuple):
    target: str
    old: str
    new: str
    words: str
    commits: int


def chart(build: Build, wish: Wish) -> Course:
    """Everything there is to find out; raises Refused before anything is touched."""
    if not build.tip:
        raise UsageError(
            f"nothing to merge: there is no branch {build.name}",
            fix=f"build it first: holdfast run {build.place.path}",
        )
    target = _target(build, wish.into)
    plan = built_plan(build)
    if plan is None:
        raise PlanError(build.place.path, 0, f"not there on {build.name}")
    commits = len(commits_between(build.checkout, build.place.path, target.tip, build.tip))
    if is_merged(build.checkout, build.tip, target.tip):
        return Course(target, None, None, 0, plan, keep_plan=False)
    if not wish.partial:
        _require_finished(build, plan)
    names = build.name, short(target.branch)
    way = find_way(build.checkout, wish.style, target.tip, build.tip, names)
    if not target.here:
        return Course(target, way, None, commits, plan, keep_plan=False)
    step, keep_plan = _step(build, target, way.tree or build.tip)
    if theirs := theirs_in_the_way(_place(build), step):
        raise in_the_way(theirs)
    return Course(target, way, step, commits, plan, keep_plan)


def merge(build: Build, wish: Wish, effects: Effects) -> Merged | None:
    """None when all of it is there already."""
    if (done := _finish_cut_off(build, effects)) is not None:
        return done
    course = chart(build, wish)
    if course.way is None:
        mark_ignored_plan(build, effects.attempts, effects.record)
        return None
    new = _commit(build, course, course.way, effects)
    record = _recorded(build, course, course.way, new)
    state = _state(build)
    write_record(state, record)
    try:
        ready = _make_ready(build, course, new)
        if course.keep_plan:
            keep_their_plan(build, record.target, effects.record)
        reason = f"merge {build.name}: {record.how}"
        build.checkout.move_ref(record.target, new, record.old, reason, fault="merge")
    except (HoldfastError, OSError) as error:
        if isinstance(error, GitKilled):
            _clear_locks(build, record, effects)
        if build.checkout.resolve(record.target) != new:
            _undo(build)
        raise
    return _follow(build, record, ready, effects)


# -- looking -------------------------------------------------------------------------------------------


def _target(build: Build, into: str) -> Target:
    checkout = build.checkout
    here = checkout.current_branch()
    branch = HEADS + into.removeprefix(HEADS) if into else here
    if branch == here or branch is None:
        _refuse_operation(build)
    if branch is None:
        raise Refused(
            "HEAD is detached: there is no branch to merge into",
            fix="git switch BRANCH, or name one: --into BRANCH",
        )
    if branch == build.branch:
        raise Refused(
            f"this is the run's own working tree, on {build.name}",
            fix=f"cd into your own checkout and run `holdfast merge {build.place.path}` there",
        )
    if branch != here:
        _refuse_elsewhere(build, branch)
    tip = checkout.resolve(branch)
    if tip is None:
        raise Refused(
            f"there is no branch {short(branch)} to merge into", fix=f"git branch {short(branch)}, then again"
        )
    return Target(branch, tip, branch == here)


def _refuse_operation(build: Build) -> None:
    operation = Workspace(build.checkout, "").operation_under_way()
    if operation:
        raise Refused(
            f"nothing was merged: a {operation} is under way in {build.checkout.root}",
            fix=f"finish it, or give it up with: git {operation} --abort",
        )


def _refuse_elsewhere(build: Build, branch: str) -> None:
    """Its files could not follow from here."""
    common = build.checkout.common_dir
    places = [tree.root for tree in linked_trees(common) if branch in (tree.branch, _rebased(tree.admin))]
    if branch in (main_branch(common), _rebased(common)):
        places.append("the main working tree" if not common.endswith("/.git") else common[: -len("/.git")])
    if places:
        raise Refused(
            f"nothing was merged: {short(branch)} is checked out in {places[0]}",
            fix=f"cd {places[0]} && holdfast merge {build.place.path}",
        )


def _rebased(git_dir: str) -> str:
    """The branch that a rebase under way there will move at its end."""
    for name in {name for name, operation in OPERATIONS.items() if operation == "rebase"}:
        data = read_if_there(os.path.join(git_dir, name, "head-name"))
        if data:
            return os.fsdecode(data).strip()
    return ""


def _require_finished(build: Build, plan: Plan) -> None:
    left = [task.id for task in plan.tasks if not task.status.settled]
    if not left:
        return
    names = ", ".join(left[:MOST_NAMED]) + (" …" if len(left) > MOST_NAMED else "")
    raise Refused(
        f"nothing was merged: {len(left)} of {len(plan.tasks)} tasks are open on {build.name}: {names}",
        fix=f"finish them: holdfast run {build.place.path}\n"
        f"or merge what is done: holdfast merge {build.place.path} --partial",
    )


def _step(build: Build, target: Target, new: str) -> tuple[Step, bool]:
    """And whether the user's plan file needs a snapshot to give way."""
    versions = versions_taken_in(build, common_start(build.checkout, target.tip, build.tip))
    path = build.place.path
    known = versions.get(path, frozenset())
    theirs = same_words_elsewhere(build) if known else ""
    if not theirs or theirs in known:
        return Step(target.tip, new, versions), False
    return Step(target.tip, new, {**versions, path: known | {theirs}}), True


# -- doing ---------------------------------------------------------------------------------------------


def _state(build: Build) -> str:
    return Workspace(build.checkout, "").tree_state


def _place(build: Build) -> Place:
    return Place(build.checkout, _state(build))


def _commit(build: Build, course: Course, way: Way, effects: Effects) -> str:
    place = _place(build)
    ground = Ground(build.checkout, place.index_file, effects.hook_timeout, effects.stops, effects.lock)
    if way.style is Style.SQUASH:
        commits = commits_between(build.checkout, build.place.path, course.target.tip, build.tip)
        message = squash_message(course.plan, commits)
    else:
        message = merge_message(build, course.target.branch)
    return make_commit(ground, build, way, course.target.tip, message, place.state)


def _recorded(build: Build, course: Course, way: Way, new: str) -> MergeRecord:
    target = course.target
    return MergeRecord(
        plan=build.place.path,
        branch=build.branch,
        tip=build.tip,
        target=target.branch,
        old=target.tip,
        new=new,
        here=target.here,
        how=way.words,
    )


def _make_ready(build: Build, course: Course, new: str) -> Ready | None:
    if course.step is None:
        return None
    place = _place(build)
    hold_index(place)
    return make_ready(place, course.step._replace(new=new))


def _undo(build: Build) -> None:
    """The branch was not moved: nothing has happened but our own preparations."""
    let_go_of_index(_place(build))
    clear_record(_state(build))


def _follow(build: Build, record: MergeRecord, ready: Ready | None, effects: Effects) -> Merged:
    place = _place(build)
    if ready is not None:
        put_in_place(place, ready)
    let_go_of_index(place)
    merged = build._replace(tip=record.tip)
    mark_ignored_plan(merged, effects.attempts, effects.record)
    count = len(commits_between(build.checkout, record.plan, record.old, record.tip))
    effects.record(
        BuildMerged(short(record.branch), short(record.target), record.new, record.old, record.how)
    )
    clear_record(place.state)
    return Merged(record.target, record.old, record.new, record.how, count)


# -- after a kill --------------------------------------------------------------------------------------


def _finish_cut_off(build: Build, effects: Effects) -> Merged | None:
    """None where there is nothing to finish, or nothing had happened yet: then the merge begins afresh."""
    record = read_record(_state(build))
    if record is None:
        let_go_of_index(_place(build))  # all that may be left is scratch
        return None
    if record.plan != build.place.path or record.branch != build.branch:
        raise Refused(
            f"a merge of {short(record.branch)} into {short(record.target)} was cut off in this checkout",
            fix=f"finish it first: holdfast merge {record.plan}",
        )
    _clear_locks(build, record, effects)
    now = build.checkout.resolve(record.target) or ""
    if not now or now == record.old or not build.checkout.is_ancestor(record.new, now):
        _undo(build)
        return None
    effects.record(Noticed(f"finishes a merge into {short(record.target)} that was cut off"))
    ready = None
    if record.here and (build.checkout.current_branch() != record.target or now != record.new):
        effects.record(Noticed("your checkout has moved on since: its files and index are left as they are"))
    elif record.here:
        ready = _ready_again(build, record)
    return _follow(build, record, ready, effects)


def _clear_locks(build: Build, record: MergeRecord, effects: Effects) -> None:
    """The git call that moves the branch may have died with the merge."""
    git = build.checkout
    head = [os.path.join(git.git_dir, "HEAD.lock")] if record.here else []
    for notice in move_aside([*locks_of_run(git, build.run, record.target), *head], _state(build)):
        effects.record(Noticed(notice))


def _ready_again(build: Build, record: MergeRecord) -> Ready:
    """Files that were changed since, while git was locked out, are the user's: they decide."""
    merged = build._replace(tip=record.tip)
    step, _ = _step(merged, Target(record.target, record.old, here=True), record.new)
    place = _place(build)
    if theirs := theirs_in_the_way(place, step):
        raise _edited_since(build.checkout, theirs, record)
    hold_index(place)
    return make_ready(place, step)


def _edited_since(git: Git, paths: tuple[str, ...], record: MergeRecord) -> Refused:
    first, old = paths[0], record.old[:12]
    aside = f"mv {first} {first}.mine"
    if git.entry(record.old, first):
        aside += f" && git show {old}:{first} > {first}"
    return Refused(
        f"{short(record.target)} has got {short(record.branch)}, but the merge was cut off before your files "
        "followed, and these have been edited since:\n" + "\n".join(f"  {path}" for path in paths),
        fix=f"put each edit aside ({aside}), then: holdfast merge {record.plan}",
    )
