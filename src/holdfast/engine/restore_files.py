"""Puts a plan for the tree into effect. Done again after a kill, it does what is left."""

import os
import shutil
from collections.abc import Iterator

from holdfast.engine.rescue_read import PIECE, Target, contents
from holdfast.engine.rescue_sight import LINK
from holdfast.engine.restore_plan import Plan
from holdfast.system import faults, files
from holdfast.system.git import Git

TEMPORARY = ".holdfast-restoring"
"""One name per directory: what a kill leaves behind, the next attempt writes over and renames."""


def put_tree(git: Git, plan: Plan, scratch: str) -> None:
    _make_room(git.root, plan)
    faults.point("unrescue.cleared")
    for path in plan.make:
        os.makedirs(os.path.join(git.root, path), exist_ok=True)
    umask = _umask()
    for target, source in _sources(git, plan.write, scratch):
        _put(os.path.join(git.root, target.path), target, source, umask)
        faults.point("unrescue.file")
    files.flush(git.root, [target.path for target in plan.write])
    faults.point("unrescue.files")


def _make_room(root: str, plan: Plan) -> None:
    for path in plan.remove:
        full = os.path.join(root, path)
        if os.path.lexists(full):
            os.unlink(full)
    for path in plan.clear:
        shutil.rmtree(os.path.join(root, path))
    for path in plan.remove:
        _prune(root, os.path.dirname(path))


def _prune(root: str, directory: str) -> None:
    """Directories that became empty go, as git itself does it."""
    while directory:
        try:
            os.rmdir(os.path.join(root, directory))
        except OSError:
            return
        directory = os.path.dirname(directory)


def _sources(git: Git, targets: tuple[Target, ...], scratch: str) -> Iterator[tuple[Target, bytes | str]]:
    """Each target with its bytes or, when they are many, the path of a file that holds them."""
    small: dict[str, list[Target]] = {}
    for target in targets:
        if target.size > PIECE:
            yield target, _unpack(git, target.blob, scratch)
        else:
            small.setdefault(target.blob, []).append(target)
    for blob, data in contents(git, ((same[0].blob, same[0].size) for same in small.values())):
        for target in small[blob]:
            yield target, data


def _unpack(git: Git, blob: str, scratch: str) -> str:
    """Git writes the file itself, without filters, so that its bytes need not pass through us."""
    name = git.text("--git-dir", git.git_dir, "-C", scratch, "unpack-file", blob)
    return os.path.join(scratch, name)


def _put(path: str, target: Target, source: bytes | str, umask: int) -> None:
    directory = os.path.dirname(path)
    os.makedirs(directory, exist_ok=True)
    temporary = os.path.join(directory, TEMPORARY)
    if os.path.lexists(temporary):
        os.unlink(temporary)
    if isinstance(source, str):
        shutil.move(source, temporary)
        os.chmod(temporary, _permissions(target, umask))
    elif target.mode == LINK:
        os.symlink(os.fsdecode(source), temporary)
    else:
        _write(temporary, source, _permissions(target, umask))
    os.replace(temporary, path)


def _write(path: str, data: bytes, permissions: int) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as f:
        f.write(data)
        os.fchmod(fd, permissions)


def _permissions(target: Target, umask: int) -> int:
    if target.permissions is not None:
        return target.permissions
    return (0o777 if target.mode == "100755" else 0o666) & ~umask


def _umask() -> int:
    umask = os.umask(0o077)
    os.umask(umask)
    return umask
