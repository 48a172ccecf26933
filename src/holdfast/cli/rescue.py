"""`holdfast rescue`: look at what was kept before something could discard it, bring it back, let go of it."""

import json
import os
import shlex
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable

from holdfast.cli.place import repository
from holdfast.engine.rescue_format import LeftOut, Note, decode
from holdfast.engine.rescue_list import Rescue, drop, find, list_rescues
from holdfast.errors import UsageError
from holdfast.system.git import Git
from holdfast.system.lock import TreeLock
from holdfast.views.text import plain
from holdfast.workspaces.base import Workspace

MOST_LINES = 20
"""Of files, and of what was left out, before the rest is only counted."""


def configure(parser: ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="what is kept, oldest first")
    listing.add_argument("--json", action="store_true", help="print one JSON object per rescue")
    show = verbs.add_parser("show", help="why and when it was taken, and what is in it")
    _add_ref(show)
    show.add_argument("--patch", action="store_true", help="also what it changes, as a patch")
    restore = verbs.add_parser("restore", help="bring it back: files, index, HEAD, a merge under way")
    _add_ref(restore)
    restore.add_argument(
        "--force", action="store_true", help="keep what is in the way as a rescue, then go on"
    )
    restore.add_argument("--into", metavar="DIR", help="into a new working tree, leaving this one alone")
    dropping = verbs.add_parser("drop", help="let go of it for good")
    dropping.add_argument("refs", metavar="REF", nargs="*", help="name or number, as `list` shows them")
    dropping.add_argument("--all", action="store_true", help="every rescue of this repository")
    dropping.add_argument("--yes", action="store_true", help="needed with --all")


def execute(args: Namespace) -> int:
    VERBS[args.verb](repository(), args)
    return 0


def restore_command(rescue: Rescue, *, in_place: bool) -> str:
    if rescue.note is None:
        return f"git worktree add --detach {shlex.quote(f'../{rescue.name}')} {rescue.ref}"
    into = "" if in_place else f" --into {shlex.quote(f'../{rescue.name}')}"
    return f"holdfast rescue restore {rescue.name}{into}"


def _add_ref(parser: ArgumentParser) -> None:
    parser.add_argument("ref", metavar="REF", help="name or number, as `list` shows them")


# -- looking -------------------------------------------------------------------------------------------


def _list(git: Git, args: Namespace) -> None:
    rescues = list_rescues(git)
    tips = git.refs("refs/heads/")
    for number, rescue in enumerate(rescues, 1):
        command = restore_command(rescue, in_place=_fits(rescue, git, tips))
        if args.json:
            print(json.dumps(_values(number, rescue, command)))
            continue
        print(f"{number:>3}  {rescue.name}")
        print(f"     {_moment(rescue.when)}  {plain(rescue.reason)}")
        print(f"     {_summary(rescue)}")
        print(f"     {command}")
    if not rescues and not args.json:
        print("nothing is kept under rescue")


def _show(git: Git, args: Namespace) -> None:
    rescue = find(list_rescues(git), args.ref)
    print(rescue.ref)
    print(f"reason:   {plain(rescue.reason)}")
    print(f"taken:    {_moment(rescue.when)}")
    if rescue.note is not None:
        _show_note(rescue.note)
    _show_files(git, rescue)
    fits = _fits(rescue, git, git.refs("refs/heads/"))
    print(f"restore:  {restore_command(rescue, in_place=fits)}")
    if args.patch:
        print(
            git.run("diff", "--no-ext-diff", "--no-textconv", *_sides(git, rescue)).decode("utf-8", "replace")
        )


def _show_note(note: Note) -> None:
    print(f"branch:   {note.branch.removeprefix('refs/heads/') or '(HEAD was detached)'}")
    print(f"base:     {note.head or '(no commit yet)'}")
    print(f"tree:     {plain(note.root)}")
    if note.operation:
        print(f"under way: a {note.operation}")
    _print_left_out(note.left_out)


def _show_files(git: Git, rescue: Rescue) -> None:
    old, new = _sides(git, rescue)
    changes = git.changes_between(old, new)
    rows = git.text("ls-tree", "-r", "-l", "-z", "--full-tree", new).split("\0")[:-1]
    sizes = {name: head.split()[3] for head, _, name in (row.partition("\t") for row in rows)}
    lines = [
        f"  {c.letter} {sizes.get(c.path, '-'):>10}  {plain(decode(c.path) if rescue.note else c.path)}"
        for c in changes
    ]
    print(f"files:    {len(lines)}, against {'its base' if rescue.head else 'nothing'}")
    _print_some(lines)


def _sides(git: Git, rescue: Rescue) -> tuple[str, str]:
    """Two trees whose difference is what the rescue holds."""
    nothing = git.run("mktree").decode("ascii").strip()
    if rescue.note is None:
        return git.resolve(f"{rescue.commit}^^{{tree}}") or nothing, f"{rescue.commit}^{{tree}}"
    old = git.resolve(f"{rescue.note.head}^{{tree}}") if rescue.note.head else None
    return old or nothing, git.resolve(f"{rescue.commit}:work") or nothing


def _fits(rescue: Rescue, git: Git, tips: dict[str, str]) -> bool:
    """Whether it can come back right here: its working tree, its branch where it was."""
    note = rescue.note
    if note is None or (note.root != git.root and os.path.isdir(note.root)):
        return False
    return not note.branch or tips.get(note.branch, note.head) == note.head


def _values(number: int, rescue: Rescue, command: str) -> dict[str, object]:
    return {
        "number": number,
        "ref": rescue.ref,
        "name": rescue.name,
        "kind": "snapshot" if rescue.note else "commit",
        "when": rescue.when,
        "reason": rescue.reason,
        "branch": rescue.branch or None,
        "head": rescue.head or None,
        "files": rescue.files,
        "bytes": rescue.size,
        "left_out": [left._asdict() for left in rescue.note.left_out] if rescue.note else [],
        "restore": command,
    }


def _summary(rescue: Rescue) -> str:
    if rescue.note is None:
        return f"commit {rescue.commit[:12]}"
    place = rescue.branch or "detached HEAD"
    left_out = f", {len(rescue.note.left_out)} left out" if rescue.note.left_out else ""
    base = rescue.head[:12] or "its start"
    return f"{_files(rescue.files)}, {_size(rescue.size)}{left_out}, on {place} at {base}"


# -- changing ------------------------------------------------------------------------------------------


def _restore(git: Git, args: Namespace) -> None:
    from holdfast.engine.restore import restore, restore_into

    rescue = find(list_rescues(git), args.ref)
    workspace = Workspace(git, "")
    with TreeLock(git.git_dir, workspace.holder_file):
        if args.into is None:
            done = restore(workspace, rescue.ref, force=args.force)
        else:
            done = restore_into(git, rescue.ref, os.path.abspath(args.into))
    if done.saved:
        print(f"what was there is kept as {done.saved}")
    print(f"restored {rescue.name} in {plain(done.root)}")
    written, removed = len(done.written), len(done.removed)
    print(
        f"  {_files(written)} written, {removed} removed"
        if written + removed
        else "  all files were in place"
    )
    for notice in done.notices:
        print(f"  {notice}")
    _print_left_out(done.left_out)


def _drop(git: Git, args: Namespace) -> None:
    if bool(args.refs) == args.all:
        raise UsageError("rescue drop: say which", fix="holdfast rescue drop REF…, or: drop --all --yes")
    if args.all and not args.yes:
        raise UsageError("rescue drop --all lets go of every rescue for good", fix="add --yes if you mean it")
    with TreeLock(git.git_dir, Workspace(git, "").holder_file):
        rescues = list_rescues(git)
        wanted = rescues if args.all else tuple(dict.fromkeys(find(rescues, word) for word in args.refs))
        drop(git, wanted)
    for rescue in wanted:
        print(f"dropped {rescue.name} (until git gc: git show {rescue.commit[:12]})")
    if not wanted:
        print("nothing is kept under rescue")


VERBS = {"list": _list, "show": _show, "restore": _restore, "drop": _drop}


# -- wording -------------------------------------------------------------------------------------------


def _print_left_out(left_out: Iterable[LeftOut]) -> None:
    lines = [f"  {plain(left.path)}: {left.why}" for left in left_out]
    if lines:
        print(f"not in the snapshot: {len(lines)}")
        _print_some(lines)


def _print_some(lines: list[str]) -> None:
    for line in lines[:MOST_LINES]:
        print(line)
    if len(lines) > MOST_LINES:
        print(f"  … and {len(lines) - MOST_LINES} more")


def _moment(when: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(when))


def _files(number: int) -> str:
    return "1 file" if number == 1 else f"{number} files"


def _size(size: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
