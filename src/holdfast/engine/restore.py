"""Brings a snapshot back: files, index, an operation under way and HEAD, to the byte.

Bytes that nothing else keeps are not overwritten, or with `force` only after a snapshot of them. The order
of the steps is such that a restore killed anywhere can be repeated: first the files, then the state of an
operation, then the index, HEAD last.
"""

import os
from typing import NamedTuple

from holdfast.engine.rescue import clear_scratch, make_scratch, snapshot
from holdfast.engine.rescue_format import LeftOut, run_of
from holdfast.engine.rescue_read import Kept, read_snapshot
from holdfast.engine.restore_files import put_tree
from holdfast.engine.restore_head import Way, put_head, way_to_head
from holdfast.engine.restore_plan import Plan, make_plan
from holdfast.engine.restore_state import (
    has_index,
    put_index,
    put_state,
    refuse_locked,
    staged_in_the_way,
    state_in_the_way,
)
from holdfast.errors import Refused
from holdfast.system import faults
from holdfast.system.git import Git, find_repository
from holdfast.workspaces.base import Workspace

MOST_SHOWN = 8


class Restored(NamedTuple):
    ref: str
    root: str
    written: tuple[str, ...]
    removed: tuple[str, ...]
    saved: str
    """The snapshot of what was there before, "" when nothing would have been lost."""
    notices: tuple[str, ...]
    left_out: tuple[LeftOut, ...]


def restore(workspace: Workspace, ref: str, *, force: bool = False) -> Restored:
    """Into the working tree itself. Refused when that would overwrite what nothing else keeps."""
    git = workspace.git
    kept = read_snapshot(git, ref)
    refuse_locked(workspace)
    plan = make_plan(git, kept)
    way = way_to_head(git, kept.note)
    saved = _clear_the_way(workspace, kept, plan, way, force=force)
    faults.point("unrescue.checked")
    _put(workspace, kept, plan)
    put_head(git, kept.note, way)
    return _restored(workspace, kept, plan, saved, way.notice)


def restore_into(git: Git, ref: str, directory: str) -> Restored:
    """Into a working tree of its own, made at `directory`. A merge or rebase stays where it was."""
    kept = read_snapshot(git, ref)
    workspace = _own_worktree(git, kept, directory)
    faults.point("unrescue.worktree")
    files_alone = kept._replace(
        state={name: target for name, target in kept.state.items() if name.startswith("sharedindex.")},
        note=kept.note._replace(refs=()),
    )
    plan = make_plan(workspace.git, files_alone)
    if plan.lost:
        raise _there_already(directory)
    _put(workspace, files_alone, plan)
    operation = kept.note.operation
    notice = f"a {operation} was under way; only a restore in place brings that back" if operation else ""
    return _restored(workspace, kept, plan, "", notice)


def _put(workspace: Workspace, kept: Kept, plan: Plan) -> None:
    scratch = make_scratch(workspace)
    put_tree(workspace.git, plan, scratch)
    clear_scratch(workspace)
    put_state(workspace.git, kept)
    put_index(workspace, kept)


def _restored(workspace: Workspace, kept: Kept, plan: Plan, saved: str, notice: str) -> Restored:
    written = tuple(target.path for target in plan.write)
    notices = (notice,) if notice else ()
    return Restored(kept.ref, workspace.root, written, plan.remove, saved, notices, kept.note.left_out)


# -- what stands in the way ----------------------------------------------------------------------------


def _clear_the_way(workspace: Workspace, kept: Kept, plan: Plan, way: Way, *, force: bool) -> str:
    """With force by a snapshot of what is there; returns its ref, "" when nothing was in the way."""
    git = workspace.git
    problems = [f"{path} holds other bytes, which are not committed" for path in plan.lost]
    problems += [*staged_in_the_way(git, kept), *state_in_the_way(git, kept), *_other_tree(git, kept)]
    problems += [way.problem] if way.problem else []
    if not problems:
        return ""
    if not force or way.impossible:
        raise _refused(kept, problems, can_force=not way.impossible)
    saved = snapshot(workspace, run_of(kept.ref), "before-restore", f"what was there before {kept.ref}")
    _refuse_unsaved(read_snapshot(git, saved), plan)
    return saved


def _other_tree(git: Git, kept: Kept) -> list[str]:
    there = kept.note.root
    if there == git.root or not os.path.isdir(there):
        return []
    return [f"it was taken in another working tree: {there}"]


def _refuse_unsaved(saved: Kept, plan: Plan) -> None:
    """What that snapshot had to leave out is not ours to overwrite either."""
    for left in saved.note.left_out:
        for path in plan.lost:
            if path == left.path or (left.path.endswith("/") and path.startswith(left.path)):
                raise Refused(
                    f"{path} is in the way and cannot be kept under rescue: {left.why}",
                    fix="move it out of the way, then restore again",
                )


def _refused(kept: Kept, problems: list[str], *, can_force: bool) -> Refused:
    shown = [f"  {problem}" for problem in problems[:MOST_SHOWN]]
    more = [f"  … and {len(problems) - MOST_SHOWN} more"] if len(problems) > MOST_SHOWN else []
    name = kept.ref.rsplit("/", 1)[-1]
    ways = [f"holdfast rescue restore {name} --into DIR   in a working tree of its own"]
    ways += [f"holdfast rescue restore {name} --force      here, keeping what is there first"] * can_force
    return Refused("\n".join((f"{name} is not restored:", *shown, *more)), fix="\n".join(ways))


# -- a working tree of its own -------------------------------------------------------------------------


def _own_worktree(git: Git, kept: Kept, directory: str) -> Workspace:
    """Made now, or found half filled by a restore that was killed."""
    if not os.path.lexists(os.path.join(directory, ".git")):
        _add_worktree(git, kept, directory)
    workspace = Workspace(find_repository(directory), "")
    ours = workspace.git.common_dir == git.common_dir and workspace.root != git.root
    filled = os.path.exists(os.path.join(workspace.git.git_dir, "index"))
    if not ours or (filled and not has_index(workspace.git, kept)):
        raise _there_already(directory)
    if not kept.note.head:
        branch = f"refs/heads/rescue/{kept.ref.rsplit('/', 1)[-1]}"
        workspace.git.run("symbolic-ref", "HEAD", branch)
    return workspace


def _add_worktree(git: Git, kept: Kept, directory: str) -> None:
    if os.path.lexists(directory) and (not os.path.isdir(directory) or os.listdir(directory)):
        raise _there_already(directory)
    start = kept.note.head or kept.commit
    # Twice --force: a kill may have left the entry of a working tree that was about to be made here.
    git.run("worktree", "add", "--force", "--force", "--detach", "--no-checkout", directory, start)


def _there_already(directory: str) -> Refused:
    return Refused(
        f"{directory} is there already and holds something else", fix="name a directory that does not exist"
    )
