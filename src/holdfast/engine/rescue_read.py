"""A snapshot, read back. What is in it was written by whoever can write refs, so every path is checked."""

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from holdfast.engine import rescue_state
from holdfast.engine.rescue_format import NOTE, Note, decode, read_note
from holdfast.errors import Refused
from holdfast.system.git import Git

PIECE = 8 << 20
"""Most bytes of files held in memory at a time; a larger file never is."""


class Target(NamedTuple):
    """A file as it was."""

    path: str
    mode: str
    blob: str
    size: int
    permissions: int | None = None


class Kept(NamedTuple):
    ref: str
    commit: str
    note: Note
    work: dict[str, Target]
    state: dict[str, Target]
    index_file: Target | None
    blobs: frozenset[str]
    """Every blob that the snapshot keeps."""


def read_snapshot(git: Git, ref: str) -> Kept:
    commit = git.resolve(f"{ref}^{{commit}}")
    note = read_note((git.blob(f"{commit}:{NOTE}") if commit else None) or b"")
    if commit is None or note is None:
        raise Refused(
            f"{ref} is not a snapshot of a working tree but a commit",
            fix=f"look at it with: git log {ref}\nwork on it with: git worktree add --detach ../kept {ref}",
        )
    rows = list(_rows(git, commit))
    permissions = dict(note.permissions)
    work = {row.path: row._replace(permissions=permissions.get(row.path)) for row in _under("work/", rows)}
    state = {row.path: row for row in _under("state/", rows)}
    _check(ref, note, work, state)
    index = next((row for row in rows if row.path == "index"), None)
    return Kept(ref, commit, note, work, state, index, frozenset(row.blob for row in rows))


def contents(git: Git, blobs: Iterable[tuple[str, int]]) -> Iterator[tuple[str, bytes]]:
    """The bytes of blobs no larger than `PIECE`, each of them once, fetched many at a time."""
    batch: list[str] = []
    room = PIECE
    for blob, size in dict(blobs).items():
        if batch and size > room:
            yield from _fetch(git, batch)
            batch, room = [], PIECE
        batch.append(blob)
        room -= size
    yield from _fetch(git, batch)


def _fetch(git: Git, blobs: list[str]) -> Iterator[tuple[str, bytes]]:
    for blob, data in zip(blobs, git.objects(blobs) if blobs else (), strict=True):
        if data is None:
            raise Refused(f"the repository has lost blob {blob}", fix="git fsck says what else is missing")
        yield blob, data


def _rows(git: Git, commit: str) -> Iterator[Target]:
    for row in os.fsdecode(git.run("ls-tree", "-r", "-l", "-z", "--full-tree", commit)).split("\0")[:-1]:
        head, _, name = row.partition("\t")
        mode, kind, blob, size = head.split()
        if kind == "blob":
            yield Target(name, mode, blob, int(size))


def _under(prefix: str, rows: list[Target]) -> Iterator[Target]:
    for row in rows:
        if row.path.startswith(prefix):
            yield row._replace(path=decode(row.path.removeprefix(prefix)))


def _check(ref: str, note: Note, work: Iterable[str], state: Iterable[str]) -> None:
    paths = (*work, *note.empty_directories, *note.deleted)
    strange = [path for path in paths if not _is_inside(path)]
    strange += [name for name in state if not (_is_inside(name) and rescue_state.belongs(name))]
    strange += [name for name, _ in note.refs if not name.startswith(rescue_state.REFS)]
    strange += [note.branch] if note.branch and not note.branch.startswith("refs/heads/") else []
    if strange:
        raise Refused(
            f"{ref} was not made by Holdfast: it holds {strange[0]!r}, which a restore must not touch",
            fix=f"look at it with: git show {ref}",
        )


def _is_inside(path: str) -> bool:
    parts = path.split("/")
    return not {"", ".", ".."} & {*parts} and parts[0].lower() != ".git" and "\0" not in path
