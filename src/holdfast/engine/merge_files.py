"""The user's checkout follows a branch that is merged: only the paths that the merge changes are touched.

Every file is the old one or the new one at any moment: the new ones are made ready aside, before the branch
moves, and renamed into place after it. From before the one until after the other we hold git's lock on the
index, so that no command of the user's makes a commit from an index that has not followed yet.
"""

import contextlib
import errno
import os
import shutil
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from holdfast.errors import Refused
from holdfast.system import clock, faults, files
from holdfast.system.git import Change, Git

NO_FILE = "000000"
SUBMODULE = "160000"
INDEX_PATIENCE = 10.0
MOST_NAMED = 12


class Place(NamedTuple):
    """A checkout, and our scratch for it."""

    git: Git
    state: str

    @property
    def index_file(self) -> str:
        return os.path.join(self.git.git_dir, "index")

    @property
    def index_lock(self) -> str:
        return f"{self.index_file}.lock"

    @property
    def own_lock(self) -> str:
        """A second name of the lock while it is ours."""
        return os.path.join(self.state, "merge-lock")

    @property
    def new_index(self) -> str:
        return os.path.join(self.state, "merge-index")

    @property
    def staging(self) -> str:
        return os.path.join(self.state, "merge-files")


class Step(NamedTuple):
    """From one commit to another, and which other versions of a file may give way."""

    old: str
    new: str
    superseded: dict[str, frozenset[str]]
    """Path → blobs that are kept elsewhere: earlier versions of the plan that the run has taken in."""


class Ready(NamedTuple):
    write: tuple[str, ...]
    remove: tuple[str, ...]


# -- git's lock on the index ---------------------------------------------------------------------------


def hold_index(place: Place) -> None:
    files.make_directory(place.state)
    with open(place.own_lock, "ab"):
        pass
    deadline = clock.monotonic() + INDEX_PATIENCE
    while not _linked(place):
        if clock.monotonic() > deadline:
            raise Refused(
                f"another git process holds {place.index_lock}",
                fix="let it finish (or remove the file if no git process is left), then run again",
            )
        clock.sleep(0.05)
    files.fsync_directory(place.git.git_dir)
    faults.point("merge.locked")


def let_go_of_index(place: Place) -> None:
    """Ours alone: a lock that somebody else holds stays."""
    if _is_ours(place):
        os.unlink(place.index_lock)
        files.fsync_directory(place.git.git_dir)
        faults.point("merge.unlocked")
    for path in (place.own_lock, place.new_index, f"{place.new_index}.lock"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    shutil.rmtree(place.staging, ignore_errors=True)


def _linked(place: Place) -> bool:
    try:
        os.link(place.own_lock, place.index_lock)
    except FileExistsError:
        return _is_ours(place)
    return True


def _is_ours(place: Place) -> bool:
    try:
        return os.path.samefile(place.own_lock, place.index_lock)
    except FileNotFoundError:
        return False


# -- what is there -------------------------------------------------------------------------------------


def theirs_in_the_way(place: Place, step: Step) -> tuple[str, ...]:
    """Paths that the step changes and that hold something neither commit has: they are the user's."""
    theirs = _look(place, step)[1]
    _drop(place.new_index)
    return theirs


def _look(place: Place, step: Step) -> tuple[Ready, tuple[str, ...]]:
    changes = place.git.changes_between(step.old, step.new)
    sparse = _left_out(place.git, [change.path for change in changes])
    found = [c for c in changes if SUBMODULE not in (c.old_mode, c.new_mode) and c.path not in sparse]
    removed = {change.path for change in found if change.new_mode == NO_FILE}
    not_old = _differing(place, [(c.old_mode, c.old_blob, c.path) for c in found])
    not_new = _differing(place, [(c.new_mode, c.new_blob, c.path) for c in found])
    pending = [c for c in found if not _is(place, c.path, c.new_mode, not_new)]

    def may_go(change: Change) -> bool:
        path = change.path
        if _blocked(place, path, removed):
            return False
        if _is_directory(place, path):
            return _only_holds(place, path, removed)
        return _is(place, path, change.old_mode, not_old) or _gives_way(place, step, path)

    theirs = {change.path for change in pending if not may_go(change)}
    theirs.update(path for path in _staged(place, step, changes) if path not in sparse)
    write = tuple(change.path for change in pending if change.new_mode != NO_FILE)
    remove = tuple(change.path for change in pending if change.new_mode == NO_FILE)
    return Ready(write, remove), tuple(sorted(theirs))


def _is(place: Place, path: str, mode: str, differing: set[str]) -> bool:
    if mode == NO_FILE:
        return not os.path.lexists(os.path.join(place.git.root, path)) or _is_directory(place, path)
    return path not in differing


def _is_directory(place: Place, path: str) -> bool:
    full = os.path.join(place.git.root, path)
    return os.path.isdir(full) and not os.path.islink(full)


def _differing(place: Place, rows: Sequence[tuple[str, str, str]]) -> set[str]:
    """Paths whose file is not what these entries say; git compares, with filters, links and modes."""
    rows = [row for row in rows if row[0] != NO_FILE]
    if not rows:
        return set()
    files.make_directory(place.state)
    _drop(place.new_index)
    place.git.set_entries(place.new_index, rows)
    place.git.run("update-index", "-q", "--really-refresh", index=place.new_index, expect=(0, 1))
    return _names(place.git.run("diff-files", "--name-only", "-z", index=place.new_index))


def _staged(place: Place, step: Step, changes: Iterable[Change]) -> list[str]:
    """Entries of the index that are neither the old commit's nor the new one's."""
    wanted = {change.path: (change.new_mode, change.new_blob) for change in changes}
    return [
        entry.path
        for entry in place.git.changes(step.old, place.index_file)
        if entry.path in wanted
        and (entry.new_mode, entry.new_blob) != wanted[entry.path]
        and entry.new_blob not in step.superseded.get(entry.path, ())
    ]


def _gives_way(place: Place, step: Step, path: str) -> bool:
    versions = step.superseded.get(path)
    full = os.path.join(place.git.root, path)
    if not versions or not os.path.isfile(full) or os.path.islink(full):
        return False
    return place.git.text("hash-object", f"--path={path}", "--", full) in versions


def _only_holds(place: Place, path: str, removed: set[str]) -> bool:
    """A directory where a file will be, with nothing in it but what the step removes."""
    full = os.path.join(place.git.root, path)
    below = (os.path.join(home, name) for home, _, names in os.walk(full) for name in names)
    return all(os.path.relpath(name, place.git.root) in removed for name in below)


def _blocked(place: Place, path: str, removed: set[str]) -> bool:
    """A file of the user's (or a link) stands where a directory would have to be."""
    parent = os.path.dirname(path)
    while parent:
        full = os.path.join(place.git.root, parent)
        if os.path.lexists(full) and (os.path.islink(full) or not os.path.isdir(full)):
            return parent not in removed
        parent = os.path.dirname(parent)
    return False


def _left_out(git: Git, paths: Sequence[str]) -> set[str]:
    """Entries that a sparse checkout has no files for, and has none in fact."""
    if git.config("core.sparseCheckout", kind="bool") != "true" or not paths:
        return set()
    rows = os.fsdecode(git.run("ls-files", "-t", "-z", "--", *paths)).split("\0")
    out = {row[2:] for row in rows if row.startswith("S ")}
    return {path for path in out if not os.path.lexists(os.path.join(git.root, path))}


# -- before the branch moves ---------------------------------------------------------------------------


def make_ready(place: Place, step: Step) -> Ready:
    """Everything that can fail happens here: the new files and the new index lie ready, on the disk."""
    ready, theirs = _look(place, step)
    if theirs:
        raise in_the_way(theirs)
    _make_index(place, step)
    _stage_files(place, ready.write)
    return ready


def in_the_way(paths: Sequence[str]) -> Refused:
    named = "".join(f"\n  {path}" for path in paths[:MOST_NAMED])
    more = f"\n  … and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return Refused(
        "nothing was merged: these files have changes of yours that the merge would touch, "
        f"or are in its way:{named}{more}",
        fix="commit them, stash them (git stash push --include-untracked -- FILES) or move them away, "
        "then run the same command again",
    )


def _make_index(place: Place, step: Step) -> None:
    """The user's index with the changed entries alone replaced: what they have staged beside stays so."""
    _drop(place.new_index)
    changes = place.git.changes_between(step.old, step.new)
    sparse = _left_out(place.git, [change.path for change in changes])
    shutil.copy2(place.index_file, place.new_index)
    rows = sorted((c.new_mode if c.new_mode != NO_FILE else "0", c.new_blob, c.path) for c in changes)
    place.git.set_entries(place.new_index, rows)
    if sparse:
        names = b"".join(os.fsencode(path) + b"\0" for path in sparse)
        place.git.run("update-index", "--skip-worktree", "-z", "--stdin", stdin=names, index=place.new_index)


def _stage_files(place: Place, paths: Sequence[str]) -> None:
    shutil.rmtree(place.staging, ignore_errors=True)
    files.make_directory(place.staging)
    names = b"".join(os.fsencode(path) + b"\0" for path in paths)
    prefix = f"--prefix={place.staging}/"
    place.git.run("checkout-index", "--force", "-z", "--stdin", prefix, stdin=names, index=place.new_index)
    files.flush(place.staging, paths)


# -- after it ------------------------------------------------------------------------------------------


def put_in_place(place: Place, ready: Ready) -> None:
    root = place.git.root
    for path in ready.remove:
        os.unlink(os.path.join(root, path))
        _prune(root, os.path.dirname(path))
        faults.point("merge.file")
    for path in ready.write:
        _place(os.path.join(place.staging, path), os.path.join(root, path))
        faults.point("merge.file")
    files.flush(root, (*ready.remove, *ready.write))
    faults.point("merge.files")
    place.git.run("update-index", "-q", "--refresh", index=place.new_index, expect=(0, 1))
    os.replace(place.new_index, place.index_file)
    files.fsync_directory(place.git.git_dir)
    faults.point("merge.index")


def _place(made: str, target: str) -> None:
    if os.path.isdir(target) and not os.path.islink(target):
        _remove_empty(target)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    try:
        os.replace(made, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        beside = f"{target}.holdfast-new"  # another disk: a copy first, and the rename there
        shutil.copy2(made, beside, follow_symlinks=False)
        os.replace(beside, target)


def _remove_empty(directory: str) -> None:
    for home, _, _ in os.walk(directory, topdown=False):
        os.rmdir(home)


def _prune(root: str, directory: str) -> None:
    """Directories that have nothing left in them, as git does it."""
    while directory:
        try:
            os.rmdir(os.path.join(root, directory))
        except OSError:
            return
        directory = os.path.dirname(directory)


def _drop(index: str) -> None:
    for path in (index, f"{index}.lock"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _names(raw: bytes) -> set[str]:
    return {os.fsdecode(name) for name in raw.split(b"\0") if name}
