"""What a snapshot has to hold: the tree and the index, sorted by where their bytes already are.

No filter, hook or fsmonitor of the user's runs here, and nothing is written.
"""

import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

from holdfast.engine import rescue_state
from holdfast.engine.rescue_format import LeftOut, Note
from holdfast.engine.rescue_walk import Disk, walk
from holdfast.system.git import Change, Git

SUBMODULE = "160000"
LINK = "120000"

# The tree as it is, not as the user told git to look at it.
_STRICT = ("core.fileMode=true", "core.symlinks=true", "core.trustCtime=true", "core.checkStat=default")
_CONVERTING = ("filter", "ident", "working-tree-encoding")


class Entry(NamedTuple):
    tag: str
    """As in `git ls-files -v`: H tracked, S not checked out (sparse), M conflicted; lower case: assumed."""
    mode: str
    blob: str
    stage: str
    path: str


class Sight(NamedTuple):
    plain: tuple[Entry, ...]
    """Tracked files whose bytes are exactly those of the blob in the index."""
    raw: tuple[str, ...]
    """Files and links whose bytes have to be stored."""
    files: dict[str, os.stat_result]
    objects: tuple[str, ...]
    """What the index names and neither HEAD nor the files keep."""
    note: Note


def look(git: Git) -> Sight:
    entries = index_entries(git)
    tracked = {entry.path: entry for entry in entries if entry.stage == "0"}
    converted = _converted(git, tracked)
    changed = _changed(git, converted)
    disk = walk(git, _ignored(git), _clean_submodules(git, tracked, changed))
    candidates = [
        entry
        for entry in tracked.values()
        if entry.tag == "H"
        and entry.path not in changed
        and entry.path not in converted
        and entry.path in disk.files
        and entry.mode == mode_of(disk.files[entry.path])
    ]
    head = git.resolve("HEAD") or ""
    staged = git.changes(head, os.path.join(git.git_dir, "index")) if head else ()
    wanted = _objects(entries, staged, unborn=not head)
    sizes = _sizes(git, {*(entry.blob for entry in candidates), *wanted})
    plain = tuple(e for e in candidates if sizes.get(e.blob) == disk.files[e.path].st_size)
    raw = tuple(sorted(disk.files.keys() - {entry.path for entry in plain}))
    note = _note(git, head, entries, staged, disk, raw, [blob for blob in wanted if blob not in sizes])
    return Sight(plain, raw, disk.files, tuple(sorted(wanted & sizes.keys())), note)


def index_entries(git: Git) -> tuple[Entry, ...]:
    rows = os.fsdecode(git.run("ls-files", "--stage", "-v", "-z")).split("\0")[:-1]
    return tuple(map(_entry, rows))


def _entry(row: str) -> Entry:
    head, _, path = row.partition("\t")
    tag, mode, blob, stage = head.split(" ")
    return Entry(tag, mode, blob, stage, path)


def mode_of(info: os.stat_result) -> str:
    if stat.S_ISLNK(info.st_mode):
        return LINK
    return "100755" if info.st_mode & 0o100 else "100644"


def _converted(git: Git, paths: Iterable[str]) -> dict[str, str]:
    """Path → filter, for files whose bytes may differ from their blob's without differing in size.

    A conversion of line endings always changes the size, so attributes need not be asked about that, and
    those that were in force when the file was checked out may be gone by now.
    """
    names = b"".join(os.fsencode(path) + b"\0" for path in paths)
    if not names:
        return {}
    said = os.fsdecode(git.run("check-attr", "-z", "--stdin", *_CONVERTING, stdin=names)).split("\0")[:-1]
    found: dict[str, str] = {}
    for path, attribute, value in zip(said[::3], said[1::3], said[2::3], strict=True):
        if value not in ("unspecified", "unset"):
            found[path] = value if attribute == "filter" else found.get(path, "")
    return found


def _changed(git: Git, converted: dict[str, str]) -> frozenset[str]:
    """Tracked paths that are not, by their stat data, what the index says."""
    settings = [*_STRICT]
    for name in sorted({name for name in converted.values() if name and "=" not in name}):
        settings += [f"filter.{name}.{key}=" for key in ("clean", "process", "required")]
    options = [word for setting in settings for word in ("-c", setting)]
    said = git.run(*options, "diff-files", "--name-only", "-z", "--ignore-submodules=none")
    return frozenset(os.fsdecode(said).split("\0")[:-1])


def _ignored(git: Git) -> frozenset[str]:
    """Files, and directories that hold nothing but ignored ones."""
    said = git.run("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
    return frozenset(path.rstrip("/") for path in os.fsdecode(said).split("\0")[:-1])


def _clean_submodules(git: Git, tracked: dict[str, Entry], changed: frozenset[str]) -> frozenset[str]:
    return frozenset(
        path
        for path, entry in tracked.items()
        if entry.mode == SUBMODULE
        and path not in changed
        and os.path.lexists(os.path.join(git.root, path, ".git"))
    )


def _objects(entries: tuple[Entry, ...], staged: tuple[Change, ...], *, unborn: bool) -> set[str]:
    """What HEAD does not keep: conflict stages and staged blobs; on an unborn branch all there is."""
    theirs = {e.blob for e in entries if (unborn or e.stage != "0") and e.mode != SUBMODULE}
    ours = {c.new_blob for c in staged if c.new_blob.strip("0") and c.new_mode != SUBMODULE}
    return theirs | ours


def _sizes(git: Git, blobs: set[str]) -> dict[str, int]:
    """Of those that exist."""
    if not blobs:
        return {}
    asked = "\n".join(sorted(blobs)).encode("ascii") + b"\n"
    said = git.run("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=asked).decode("ascii")
    rows = (line.split(" ") for line in said.splitlines())
    return {blob: int(size) for blob, size in rows if size != "missing"}


def _note(
    git: Git,
    head: str,
    entries: tuple[Entry, ...],
    staged: tuple[Change, ...],
    disk: Disk,
    raw: tuple[str, ...],
    lost: list[str],
) -> Note:
    operation = rescue_state.operation(git.git_dir)
    known = {entry.path for entry in entries if entry.tag not in "Ss" and entry.mode != SUBMODULE}
    known |= {change.path for change in staged if change.letter == "D"}
    deleted = tuple(sorted(known - disk.files.keys()))
    missing = [LeftOut(f"object {blob}", "named by the index, and git has lost it") for blob in sorted(lost)]
    return Note(
        root=git.root,
        branch=git.current_branch() or "",
        head=head,
        operation=operation,
        files=len(raw) + len(deleted),
        size=sum(disk.files[path].st_size for path in raw),
        deleted=deleted,
        empty_directories=disk.empty,
        permissions=tuple(_permissions(disk, raw)),
        refs=rescue_state.state_refs(git) if operation else (),
        left_out=(*disk.left_out, *missing),
    )


def _permissions(disk: Disk, raw: tuple[str, ...]) -> Iterable[tuple[str, int]]:
    for path in raw:
        mode = disk.files[path].st_mode
        if stat.S_ISREG(mode) and stat.S_IMODE(mode) not in (0o644, 0o755):
            yield path, stat.S_IMODE(mode)
