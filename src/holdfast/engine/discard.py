"""`discard`: branch and working tree of a run go; whatever only they hold is under rescue before that.

Each step may have been done by an earlier start that was killed, and the branch goes last: as long as it is
there, so is everything else that is needed to go on, or to discard the rest.
"""

import contextlib
import os
import shutil
from collections.abc import Callable
from typing import NamedTuple

from holdfast.engine.build import HEADS, Build, short, trees_of, workspace_of
from holdfast.engine.flight import flight_file
from holdfast.engine.rescue import pin, snapshot
from holdfast.engine.site import TASK_BRANCHES, seen_ref, taken_ref, tip_ref
from holdfast.engine.stale_locks import locks_below, locks_of_run, move_aside, packed_refs_lock
from holdfast.errors import Refused
from holdfast.model.events import BuildDiscarded, Event, Noticed, Rescued
from holdfast.system import faults, files
from holdfast.workspaces.base import Workspace, state_directory
from holdfast.workspaces.naming import home_of_trees
from holdfast.workspaces.trees import Tree, main_branch

WORK = "work in a tree that was discarded"
COMMITS = "commits of a branch that was discarded"
SEALED = "a commit of a discarded run that had not landed"
ASIDE = ".discarded-"
"""How the name of a directory begins that is on its way out: nothing in it is needed any more."""


_NO_WORK = ("refs/holdfast/base/", "refs/holdfast/seen/", "refs/holdfast/taken/", "refs/holdfast/tip/")
SCRATCH = ("setup.json", "index", "COMMIT_EDITMSG", "holder.json")


class Going(NamedTuple):
    """What a discard would take away, and what it would leave."""

    trees: tuple[Tree, ...]
    dirty: dict[str, int]
    """Root of a tree → how many files in it are in no commit."""
    left: dict[str, str]
    """Root of a tree that stays → why."""
    broken: tuple[Tree, ...]
    """Trees whose directory is gone: only git's note of them is there."""
    remains: tuple[str, ...]
    """Directories that an earlier discard was taking away when it was killed."""
    merged_into: str
    """A branch that has the tip as well, "" when none has."""
    helpers: dict[str, str]
    """Refs of the run."""
    begun: bool
    """An earlier discard was killed."""


def look(build: Build, home: str) -> Going:
    """`home` is where working trees of runs are made: others are the user's own."""
    if main_branch(build.checkout.common_dir) == build.branch:
        raise Refused(
            f"{build.name} is checked out in your own working tree: it is not discarded under you",
            fix="git switch to another branch there, then run again",
        )
    found = trees_of(build)
    here = os.path.realpath(build.checkout.root)
    if any(tree.root and os.path.realpath(tree.root) == here for tree in found):
        raise Refused(
            f"{here} is a working tree of this run: it is not removed under you",
            fix=f"cd into your own checkout and run `holdfast discard {build.place.path}` there",
        )
    left = {tree.root: why for tree in found if (why := _why_left(build, tree, home))}
    there = tuple(tree for tree in found if tree.there and tree.root not in left)
    dirty = {tree.root: len(tree.git(build.checkout.common_dir).dirt().paths) for tree in there}
    return Going(
        trees=there,
        dirty={root: count for root, count in dirty.items() if count},
        left=left,
        broken=tuple(tree for tree in found if not tree.there and tree.root not in left),
        remains=(*_remains(home), *_remains(state_directory(build.checkout))),
        merged_into=_merged_into(build),
        helpers=build.checkout.refs(*_helpers(build)),
        begun=os.path.exists(_note(build)),
    )


def clear_locks(build: Build, record: Callable[[Event], None]) -> None:
    """Of git calls that died with a run or an earlier discard, with the locks of the run's trees held."""
    tasks = f"{HEADS}{TASK_BRANCHES}{build.run}"
    locks = locks_of_run(build.checkout, build.run, build.branch) + locks_below(build.checkout, tasks)
    if os.path.exists(_note(build)):
        locks.append(packed_refs_lock(build.checkout))
    for notice in move_aside(locks, Workspace(build.checkout, "").tree_state):
        record(Noticed(notice))


def nothing_there(build: Build, going: Going) -> bool:
    trees = (*going.trees, *going.broken, *going.left)
    return not (build.tip or trees or going.remains or going.helpers or going.begun)


def discard(build: Build, going: Going, record: Callable[[Event], None]) -> BuildDiscarded:
    """With the locks of all these trees held, and no process of the run alive."""
    for tree in going.trees:
        if tree.root in going.dirty:
            ref = snapshot(workspace_of(build, tree), build.run, "discarded", WORK)
            record(Rescued(ref, WORK))
    kept = _keep_commits(build, going, record)
    files.write_durably(_note(build), b"", fault="discard.note")
    told = BuildDiscarded(build.name, build.tip, kept)
    record(told)
    for tree in going.trees:
        _remove_tree(build, tree)
    for tree in going.broken:
        _forget_tree(build, tree)
    homes = {os.path.dirname(path) for path in (*going.remains, *(tree.root for tree in going.trees))}
    homes.add(state_directory(build.checkout))
    for directory in (path for home in sorted(homes) for path in _remains(home)):
        _remove_remains(directory, record)
    with contextlib.suppress(OSError):  # other runs have trees there
        os.rmdir(home_of_trees(build.checkout.common_dir))
    for root in going.left:
        _detach(build, root)
    build.checkout.delete_refs(going.helpers, fault="discard.helpers")
    if build.tip:
        build.checkout.delete_refs({build.branch: build.tip}, fault="discard.branch")
    files.remove_durably(_note(build), fault="discard.note")
    return told


# -- looking -------------------------------------------------------------------------------------------


def _note(build: Build) -> str:
    """Is there while a discard takes something away: locks that a killed git call leaves are then ours."""
    return os.path.join(state_directory(build.checkout), f"discarding-{build.run}")


def _why_left(build: Build, tree: Tree, home: str) -> str:
    if os.path.exists(os.path.join(tree.admin, "locked")):
        return "you locked it (git worktree unlock)"
    if not tree.root:
        return ""
    homes = {os.path.realpath(path) for path in (home, home_of_trees(build.checkout.common_dir))}
    return "" if os.path.realpath(os.path.dirname(tree.root)) in homes else "Holdfast did not make it"


def _remains(home: str) -> tuple[str, ...]:
    names = sorted(os.listdir(home)) if os.path.isdir(home) else []
    return tuple(os.path.join(home, name) for name in names if name.startswith(ASIDE))


def _merged_into(build: Build) -> str:
    if not build.tip:
        return ""
    listing = build.checkout.text(
        "for-each-ref", "--format=%(refname)", f"--contains={build.tip}", "refs/heads"
    )
    others = [ref for ref in listing.splitlines() if ref != build.branch]
    return short(others[0]) if others else ""


def _helpers(build: Build) -> tuple[str, ...]:
    """As patterns; tasks beside each other have a number added to the name of the run."""
    run = build.run
    several = [
        f"refs/holdfast/{kind}/{run}{end}" for kind in ("base", "candidate") for end in ("", ".*", ".*/*")
    ]
    notes = (seen_ref(run), taken_ref(run), tip_ref(run))
    return (*several, f"refs/holdfast/done/{run}", f"{HEADS}{TASK_BRANCHES}{run}", *notes)


# -- keeping -------------------------------------------------------------------------------------------


def _keep_commits(build: Build, going: Going, record: Callable[[Event], None]) -> str:
    git = build.checkout
    told = {commit for ref, commit in going.helpers.items() if not ref.startswith(_NO_WORK)}
    for commit in sorted(told):
        if not (build.tip and git.is_ancestor(commit, build.tip)):
            label = f"discarded-{commit[:12]}-candidate"
            record(Rescued(pin(git, build.run, label, commit, SEALED), SEALED))
    if not build.tip or going.merged_into:
        return ""
    ref = pin(git, build.run, "discarded-commits", build.tip, COMMITS)
    record(Rescued(ref, COMMITS))
    return ref


# -- removing ------------------------------------------------------------------------------------------


def _remove_tree(build: Build, tree: Tree) -> None:
    """Out of the way by one rename: half removed it would look like a tree in which files were deleted."""
    workspace = workspace_of(build, tree)
    files.remove_durably(workspace.made_mark, fault="discard.mark")
    _forget_state(workspace)
    home, name = os.path.split(tree.root)
    os.rename(tree.root, _free(os.path.join(home, ASIDE + name)))
    files.fsync_directory(home)
    faults.point("discard.aside")
    _forget_tree(build, tree)


def _forget_state(workspace: Workspace) -> None:
    """What was in flight is under rescue. What the guard set aside stays: it is in no snapshot."""
    files.remove_durably(flight_file(workspace.tree_state), fault="discard.flight")
    for name in SCRATCH:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(workspace.tree_state, name))
    with contextlib.suppress(OSError):
        os.rmdir(workspace.tree_state)


def _free(path: str) -> str:
    number, free = 1, path
    while os.path.lexists(free):
        number += 1
        free = f"{path}-{number}"
    return free


def _forget_tree(build: Build, tree: Tree) -> None:
    """Git's note of it: while that is there, git takes the branch for checked out. By one rename as well:
    half a note does not say where the tree was."""
    notes, name = os.path.split(tree.admin)
    os.rename(tree.admin, _free(os.path.join(state_directory(build.checkout), ASIDE + name)))
    files.fsync_directory(notes)
    faults.point("discard.forgotten")


def _remove_remains(directory: str, record: Callable[[Event], None]) -> None:
    """What cannot be removed stays, and is tried again next time."""
    shutil.rmtree(directory, ignore_errors=True)
    if os.path.lexists(directory):
        _make_writable(directory)
        shutil.rmtree(directory, ignore_errors=True)
    if os.path.lexists(directory):
        record(Noticed(f"{directory} could not be removed; nothing in it is needed any more"))
    faults.point("discard.removed")


def _make_writable(directory: str) -> None:
    """A module cache can be read-only. Links are not followed: what they lead to is none of ours."""
    with contextlib.suppress(OSError):
        os.chmod(directory, 0o700)
    for parent, names, _ in os.walk(directory):
        for path in (os.path.join(parent, name) for name in names):
            with contextlib.suppress(OSError):
                if not os.path.islink(path):
                    os.chmod(path, 0o700)


def _detach(build: Build, root: str) -> None:
    """A tree that stays must not be left on a branch that is gone: its HEAD names the commit itself."""
    tree = next((tree for tree in trees_of(build) if tree.root == root and tree.there), None)
    git = tree.git(build.checkout.common_dir) if tree else None
    head = git.resolve("HEAD") if git else None
    if git is None or head is None:
        return
    git.run("update-ref", "--no-deref", "-m", "holdfast: run branch discarded", "HEAD", head)
    faults.point("discard.detached")
    _forget_state(Workspace(git, ""))
