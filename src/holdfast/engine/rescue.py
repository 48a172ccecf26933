"""Snapshots under `refs/holdfast/rescue/`, taken before anything that could discard a byte.

Plumbing only: neither the index nor the stash nor the working tree changes. A snapshot is a commit whose
tree holds `work/` (raw bytes of every changed or untracked file), `index` (the index file itself),
`objects/` (what the index names and HEAD does not), `state/` (a merge or rebase under way) and
`rescue.json`. Files that equal the commit they came from are reachable from its parent.
"""

import json
import os
import stat
from collections.abc import Iterable

from holdfast.system import clock, faults, files
from holdfast.system.git import ABSENT, Git
from holdfast.workspaces.base import OPERATIONS, Workspace

PREFIX = "refs/holdfast/rescue/"
STATE_FILES = (*OPERATIONS, "MERGE_MSG", "MERGE_MODE", "ORIG_HEAD", "AUTO_MERGE", "sequencer")


def snapshot(workspace: Workspace, run: str, label: str, reason: str) -> str:
    """Keep everything the tree and the index hold beyond HEAD; returns the ref."""
    git = workspace.git
    faults.point("rescue.begin")
    dirt = git.dirt()
    rows = [_file_row(git, f"work/{path}", os.path.join(git.root, path)) for path in dirt.paths]
    rows += _index_rows(git)
    rows += _state_rows(git)
    note = {
        "reason": reason,
        "branch": workspace.branch,
        "head": git.resolve("HEAD") or "",
        "paths": dirt.paths,
    }
    rows.append(("100644", git.write_blob(json.dumps(note, indent=1).encode()), "rescue.json"))
    tree = _tree_of(git, workspace, [row for row in rows if row])
    return pin(git, run, label, _commit(git, tree, reason), reason)


def pin(git: Git, run: str, label: str, commit: str, reason: str) -> str:
    """Keep a commit that some ref is about to let go of."""
    stamp = clock.stamp()
    ref = f"{PREFIX}{run}/{stamp}-{label}"
    number = 1
    while git.resolve(ref) is not None:
        number += 1
        ref = f"{PREFIX}{run}/{stamp}-{label}-{number}"
    git.move_ref(ref, commit, ABSENT, reason, fault="rescue")
    return ref


def restore_start(workspace: Workspace, base: str) -> None:
    """Tree and index back to `base`. Only after a snapshot: this is what discards bytes."""
    git = workspace.git
    faults.point("restore.before")
    git.run("read-tree", "--reset", "-u", base)
    git.run("clean", "-f", "-d", "-q")
    files.flush(git.root, [])
    faults.point("restore.after")


def _file_row(git: Git, name: str, path: str) -> tuple[str, str, str] | None:
    """(mode, blob, name) with the file's raw bytes; None for what is gone or holds no bytes of its own."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(found.st_mode):
        return "120000", git.write_blob(os.fsencode(os.readlink(path))), name
    if stat.S_ISREG(found.st_mode):
        blob = git.text("hash-object", "-w", "--no-filters", "--", path)
        return "100755" if found.st_mode & 0o111 else "100644", blob, name
    return None


def _index_rows(git: Git) -> list[tuple[str, str, str] | None]:
    rows = [_file_row(git, "index", os.path.join(git.git_dir, "index"))]
    if git.resolve("HEAD") is None:
        return rows
    for change in git.changes("HEAD", os.path.join(git.git_dir, "index")):
        if change.new_blob.strip("0") and change.new_mode != "160000":
            rows.append(("100644", change.new_blob, f"objects/{change.new_blob}"))
    return rows


def _state_rows(git: Git) -> list[tuple[str, str, str] | None]:
    rows: list[tuple[str, str, str] | None] = []
    for name in STATE_FILES:
        for path in _files_below(os.path.join(git.git_dir, name)):
            rows.append(_file_row(git, f"state/{os.path.relpath(path, git.git_dir)}", path))
    return rows


def _files_below(path: str) -> Iterable[str]:
    if os.path.isfile(path):
        yield path
    for directory, _, names in os.walk(path):
        for name in sorted(names):
            yield os.path.join(directory, name)


def _tree_of(git: Git, workspace: Workspace, rows: list[tuple[str, str, str] | None]) -> str:
    index = os.path.join(workspace.tree_state, "rescue-index")
    files.make_directory(workspace.tree_state)
    git.run("read-tree", "--empty", index=index)
    git.set_entries(index, [row for row in rows if row])
    tree = git.write_tree(index)
    os.unlink(index)
    return tree


def _commit(git: Git, tree: str, reason: str) -> str:
    head = git.resolve("HEAD")
    parents = ("-p", head) if head else ()
    return (
        git.run("commit-tree", tree, *parents, stdin=f"holdfast rescue: {reason}\n".encode()).decode().strip()
    )
