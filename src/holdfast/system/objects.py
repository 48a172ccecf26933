"""Loose objects of git as files: whoever else writes them does not wait until they are on the disk.

Our own git calls do. But git takes an object that is there for one it need not write: a commit of ours may
stand on what an agent's `git add` has left in the page cache, or on what a power cut has torn since.
"""

import contextlib
import os
import stat
from collections.abc import Iterator

from holdfast.system import clock, files

LAG = 0.02
"""File times come from a clock that ticks more slowly than ours."""
CHUNK = 1 << 16


@contextlib.contextmanager
def made_durable(common_dir: str) -> Iterator[None]:
    """Objects that are written inside by whomever are on the disk afterwards."""
    began = clock.now()
    try:
        yield
    finally:
        flush_since(common_dir, began)


def flush_since(common_dir: str, moment: float) -> None:
    files.flush(_directory(common_dir), _written_since(common_dir, moment))


def remove_torn_since(common_dir: str, moment: float) -> int:
    """After a power cut: objects whose contents are not what their name says. How many there were."""
    directory = _directory(common_dir)
    paths = [os.path.join(directory, name) for name in _written_since(common_dir, moment)]
    torn = [path for path in paths if not _is_whole(path)]
    for path in torn:
        os.unlink(path)
    return len(torn)


def _directory(common_dir: str) -> str:
    return os.path.join(common_dir, "objects")


def _written_since(common_dir: str, moment: float) -> list[str]:
    """Paths below the directory of objects. A directory that nothing was added to is not even opened."""
    found = []
    for parent in os.scandir(_directory(common_dir)):
        if len(parent.name) == 2 and _is_since(parent.stat().st_mtime, moment):
            below = [e for e in os.scandir(parent.path) if len(e.name) > 30 and _is_object(e, moment)]
            found += [os.path.join(parent.name, entry.name) for entry in below]
    return found


def _is_object(entry: os.DirEntry[str], moment: float) -> bool:
    try:
        info = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    return stat.S_ISREG(info.st_mode) and _is_since(info.st_ctime, moment)


def _is_since(time: float, moment: float) -> bool:
    """Some file systems know only whole seconds."""
    return time >= (int(moment) if time == int(time) else moment - LAG)


def _is_whole(path: str) -> bool:
    import hashlib
    import zlib

    name = "".join(path.split(os.sep)[-2:])
    digest = hashlib.sha1(usedforsecurity=False) if len(name) == 40 else hashlib.sha256()
    unpacked = zlib.decompressobj()
    try:
        with open(path, "rb") as f:
            while chunk := f.read(CHUNK):
                digest.update(unpacked.decompress(chunk))
    except zlib.error:
        return False
    return unpacked.eof and digest.hexdigest() == name
