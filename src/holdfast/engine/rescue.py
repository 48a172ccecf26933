"""Snapshots under `refs/holdfast/rescue/`, taken before anything that could discard a byte.

Plumbing only: neither the index nor the stash nor the working tree changes. `rescue_format` says what a
snapshot looks like, `restore` brings it back.
"""

import os
import re
import stat
from collections.abc import Iterable
from typing import NamedTuple

from holdfast.engine import rescue_state
from holdfast.engine.raw_bytes import store
from holdfast.engine.rescue_format import (
    NOTE,
    PREFIX,
    SUBJECT,
    encode,
    encode_tracked,
    note_bytes,
    stamp_and_label,
)
from holdfast.engine.rescue_sight import Sight, look, mode_of
from holdfast.engine.rescue_walk import unreadable
from holdfast.system import clock, faults, files
from holdfast.system.git import ABSENT, Git
from holdfast.workspaces.base import Workspace

# A snapshot must not fail because nobody has told git their name yet.
_IDENTITY = ("-c", "user.name=Holdfast", "-c", "user.email=holdfast@localhost")


class Source(NamedTuple):
    """A file whose raw bytes go into the snapshot."""

    name: str
    mode: str
    path: str


def snapshot(workspace: Workspace, run: str, label: str, reason: str) -> str:
    """Keep everything the tree and the index hold beyond HEAD; returns the ref.

    The same state as in the newest snapshot of this run and label is not kept twice.
    """
    git = workspace.git
    faults.point("rescue.begin")
    sight = look(git)
    scratch = make_scratch(workspace)
    tree = _write_tree(git, scratch, sight)
    clear_scratch(workspace)
    faults.point("rescue.tree")
    same = _kept_already(git, run, label, "tree", tree)
    if same:
        return same
    commit = _commit(git, tree, _parents(git, sight), reason)
    return pin(git, run, label, commit, reason)


def pin(git: Git, run: str, label: str, commit: str, reason: str) -> str:
    """Keep a commit that some ref is about to let go of."""
    same = _kept_already(git, run, label, "objectname", commit)
    if same:
        return same
    stamp = clock.stamp()
    ref = f"{PREFIX}{run}/{stamp}-{label}"
    number = 1
    while git.resolve(ref) is not None:
        number += 1
        ref = f"{PREFIX}{run}/{stamp}-{label}-{number}"
    git.move_ref(ref, commit, ABSENT, reason, fault="rescue")
    return ref


def restore_start(workspace: Workspace, base: str, *, durable: bool = True) -> None:
    """Tree and index back to `base`. Only after a snapshot: this is what discards bytes.

    Without `durable` a power cut may tear the files: for trees in which that cannot pass for work.
    """
    git = workspace.git
    faults.point("restore.before")
    git.run("read-tree", "--reset", "-u", base)
    git.run("clean", "-f", "-d", "-q")
    for path in git.dirt().untracked:
        _set_aside(workspace, path)
    if durable:  # torn by a power cut the files would pass for the user's edits
        files.flush_file_systems(workspace.root)
    faults.point("restore.after")


def _set_aside(workspace: Workspace, path: str) -> None:
    """A repository inside the tree: git leaves it where it is, and a snapshot may not have all of it."""
    import shutil

    aside = os.path.join(workspace.tree_state, "set-aside", clock.stamp(), path.rstrip("/"))
    files.make_directory(os.path.dirname(aside))
    shutil.move(os.path.join(workspace.root, path.rstrip("/")), aside)


def make_scratch(workspace: Workspace) -> str:
    """An empty directory on the repository's own disk; what a killed run left in it goes."""
    clear_scratch(workspace)
    scratch = os.path.join(workspace.tree_state, "rescue")
    os.makedirs(scratch)
    return scratch


def clear_scratch(workspace: Workspace) -> None:
    import shutil  # heavy for those who only list snapshots

    shutil.rmtree(os.path.join(workspace.tree_state, "rescue"), ignore_errors=True)


# -- the tree ------------------------------------------------------------------------------------------


def _write_tree(git: Git, scratch: str, sight: Sight) -> str:
    sources = [*_work(git, scratch, sight), *_state(git), _note(scratch, sight)]
    # One flush of the disk is cheaper than one per object when there are many.
    many = len(sources) > files.MANY_FILES
    blobs = store(git, [source.path for source in sources], durable=not many)
    faults.point("rescue.hashed")
    rows = [(source.mode, blob, source.name) for source, blob in zip(sources, blobs, strict=True)]
    rows += [(entry.mode, entry.blob, f"work/{encode_tracked(entry.path)}") for entry in sight.plain]
    rows += [("100644", blob, f"objects/{blob}") for blob in sight.objects]
    index = os.path.join(scratch, "index")
    git.set_entries(index, sorted(rows, key=lambda row: os.fsencode(row[2])))
    tree = git.write_tree(index)
    if many:
        files.flush_file_systems(git.common_dir)
    return tree


def _work(git: Git, scratch: str, sight: Sight) -> Iterable[Source]:
    for number, path in enumerate(sight.raw):
        info = sight.files[path]
        full = os.path.join(git.root, path)
        if stat.S_ISLNK(info.st_mode):
            # hash-object would follow the link; what a link holds is the text of its target.
            full = _write(scratch, f"link-{number}", os.fsencode(os.readlink(full)))
        elif not os.access(full, os.R_OK):
            raise unreadable(path)
        yield Source(f"work/{encode(path)}", mode_of(info), full)


def _state(git: Git) -> Iterable[Source]:
    index = os.path.join(git.git_dir, "index")
    if os.path.exists(index):
        yield Source("index", "100644", index)
    for name in rescue_state.state_files(git.git_dir):
        yield Source(f"state/{encode(name)}", "100644", os.path.join(git.git_dir, name))


def _note(scratch: str, sight: Sight) -> Source:
    return Source(NOTE, "100644", _write(scratch, NOTE, note_bytes(sight.note)))


def _write(scratch: str, name: str, data: bytes) -> str:
    path = os.path.join(scratch, name)
    with open(path, "wb") as f:
        f.write(data)
    return path


# -- the commit ----------------------------------------------------------------------------------------


def _parents(git: Git, sight: Sight) -> list[str]:
    """HEAD, and what only a merge or rebase under way knows of: `gc` would drop it."""
    head = [sight.note.head] if sight.note.head else []
    named = rescue_state.named_objects(git.git_dir, rescue_state.state_files(git.git_dir))
    ids = dict.fromkeys((*named, *(commit for _, commit in sight.note.refs)))
    if not ids:
        return head
    asked = "\n".join(ids).encode("ascii") + b"\n"
    said = git.run("cat-file", "--batch-check=%(objecttype) %(objectname)", stdin=asked).decode("ascii")
    kinds = [tuple(line.split(" ")[:2]) for line in said.splitlines()]
    commits = [name for kind, name in kinds if kind == "commit"]
    commits += [_commit(git, name, [], "a tree under way") for kind, name in kinds if kind == "tree"]
    return head + [commit for commit in _tips(git, head + commits) if commit not in head]


def _tips(git: Git, commits: list[str]) -> list[str]:
    """Those that no other of them leads to."""
    return git.text("merge-base", "--independent", *commits).split() if commits else []


def _commit(git: Git, tree: str, parents: list[str], reason: str) -> str:
    words = [word for parent in parents for word in ("-p", parent)]
    message = f"{SUBJECT}{' '.join(reason.split())}\n".encode("utf-8", "replace")
    commit = git.run(*_IDENTITY, "commit-tree", tree, *words, stdin=message).decode("ascii").strip()
    faults.point("rescue.commit")
    return commit


def _kept_already(git: Git, run: str, label: str, field: str, value: str) -> str:
    """The newest ref of this run and label, if it holds just this; else ""."""
    listing = git.text("for-each-ref", f"--format=%(refname) %({field})", f"{PREFIX}{run}/")
    rows = [line.split(" ") for line in listing.splitlines()]
    like = re.compile(rf"{re.escape(label)}(-\d+)?")
    rows = [row for row in rows if like.fullmatch(stamp_and_label(row[0])[1])]
    if not rows:
        return ""
    ref, found = max(rows, key=lambda row: (stamp_and_label(row[0])[0], len(row[0]), row[0]))
    if found != value:
        return ""
    directory = os.path.dirname(os.path.join(git.common_dir, ref))
    if os.path.isdir(directory):
        files.fsync_directory(directory)  # whoever made it may have died before doing so
    return ref
