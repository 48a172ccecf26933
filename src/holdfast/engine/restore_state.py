"""The git directory's share of a restore: an operation under way, its refs, and the index file."""

import os
from collections.abc import Iterable

from holdfast.engine import rescue_state
from holdfast.engine.raw_bytes import blob_ids
from holdfast.engine.rescue_read import Kept, Target, contents
from holdfast.engine.rescue_sight import SUBMODULE, index_entries
from holdfast.errors import Refused
from holdfast.system import faults, files
from holdfast.system.git import Git
from holdfast.workspaces.base import Workspace


def state_in_the_way(git: Git, kept: Kept) -> list[str]:
    """An operation that is under way now, unless it is the one in the snapshot, maybe half restored."""
    operation = rescue_state.operation(git.git_dir)
    if not operation:
        return []
    half_written = {f"{name}.new" for name in kept.state}
    names = {name for name in rescue_state.state_files(git.git_dir) if not _stays(name)} - half_written
    if names <= _held(git, kept.state.values()):
        return []
    return [f"a {operation} is under way"]


def staged_in_the_way(git: Git, kept: Kept) -> list[str]:
    """Staged bytes that would be gone with the index that is there."""
    if has_index(git, kept):
        return []
    head = git.resolve("HEAD")
    index = os.path.join(git.git_dir, "index")
    entries = [e for e in index_entries(git) if (head is None or e.stage != "0") and e.mode != SUBMODULE]
    staged = {entry.path: entry.blob for entry in entries}
    if head and os.path.exists(index):
        staged |= {c.path: c.new_blob for c in git.changes(head, index) if c.new_mode != SUBMODULE}
    lost = sorted(path for path, blob in staged.items() if blob.strip("0") and blob not in kept.blobs)
    return [f"{path} is staged with other bytes, which are not committed" for path in lost]


def has_index(git: Git, kept: Kept) -> bool:
    return kept.index_file is not None and bool(_held(git, [kept.index_file]))


def put_state(git: Git, kept: Kept) -> None:
    there = rescue_state.state_files(git.git_dir)
    for name in there:
        if name not in kept.state and not _stays(name):
            os.unlink(os.path.join(git.git_dir, name))
            faults.point("unrescue.state.removed")
    _remove_empty(git.git_dir, {os.path.dirname(name) for name in there} - {""})
    held = _held(git, kept.state.values())
    wanted = [target for target in kept.state.values() if target.path not in held]
    data = dict(contents(git, ((target.blob, target.size) for target in wanted)))
    for target in wanted:
        files.write_durably(os.path.join(git.git_dir, target.path), data[target.blob], fault="unrescue.state")
    _put_refs(git, kept)


def refuse_locked(workspace: Workspace) -> None:
    lock = _lock(workspace.git)
    if os.path.exists(lock) and not _is_ours(workspace, lock):
        raise Refused(
            f"another git process holds {lock}",
            fix="let it finish (or remove the file if no git process is left), then restore again",
        )


def put_index(workspace: Workspace, kept: Kept) -> None:
    """By git's own protocol: make index.lock, here as a second name of our file, and rename it."""
    git = workspace.git
    refuse_locked(workspace)
    if os.path.exists(_lock(git)):
        os.unlink(_lock(git))
    index = os.path.join(git.git_dir, "index")
    if kept.index_file is None:
        files.remove_durably(index, fault="unrescue.index")
    elif not has_index(git, kept):
        ours = _own_index(workspace)
        data = git.run("cat-file", "blob", kept.index_file.blob)
        files.write_durably(ours, data, fault="unrescue.index")
        os.chmod(ours, 0o644)
        os.link(ours, _lock(git))
        faults.point("unrescue.index.linked")
        os.replace(_lock(git), index)
        files.fsync_directory(git.git_dir)
        faults.point("unrescue.index.renamed")
    files.remove_durably(_own_index(workspace), fault="unrescue.index")


def _held(git: Git, targets: Iterable[Target]) -> set[str]:
    """Names of those that are there, in the git directory, with just these bytes."""
    there = [target for target in targets if os.path.isfile(os.path.join(git.git_dir, target.path))]
    ids = blob_ids(git, [os.path.join(git.git_dir, target.path) for target in there])
    return {target.path for target, found in zip(there, ids, strict=True) if found == target.blob}


def _stays(name: str) -> bool:
    return name.startswith(rescue_state.KEPT_WHEN_GONE)


def _remove_empty(git_dir: str, directories: set[str]) -> None:
    """An empty `rebase-merge` would count as a rebase under way."""
    for directory in sorted(directories, reverse=True):
        full = os.path.join(git_dir, directory)
        if os.path.isdir(full) and not os.listdir(full):
            os.rmdir(full)


def _put_refs(git: Git, kept: Kept) -> None:
    there = dict(rescue_state.state_refs(git))
    wanted = dict(kept.note.refs)
    orders = [f"delete {ref} {there[ref]}\n" for ref in there.keys() - wanted.keys()]
    orders += [f"update {ref} {commit}\n" for ref, commit in wanted.items() if there.get(ref) != commit]
    if orders:
        git.run("update-ref", "--stdin", stdin="".join(orders).encode("ascii"))
    faults.point("unrescue.refs")


def _lock(git: Git) -> str:
    return os.path.join(git.git_dir, "index.lock")


def _own_index(workspace: Workspace) -> str:
    return os.path.join(workspace.tree_state, "restored-index")


def _is_ours(workspace: Workspace, lock: str) -> bool:
    """Left by a restore that died between the link and the rename."""
    ours = _own_index(workspace)
    return os.path.exists(ours) and os.path.samefile(ours, lock)
