"""Files replaced whole and made durable: after these return, a power cut cannot take it back."""

import os
import stat
from collections.abc import Iterable

from holdfast.system import faults


def fsync_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_directory(path: str) -> None:
    """Create `path` and its parents, each entry durable in its parent."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    make_directory(parent)
    try:
        os.mkdir(path)
    except FileExistsError:
        return
    fsync_directory(parent)


def write_durably(path: str, data: bytes, *, fault: str) -> None:
    """Replace the file whole: a reader, also after a crash, sees the old bytes or the new ones."""
    make_directory(os.path.dirname(path))
    temporary = f"{path}.new"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        _keep_mode(fd, path)
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.fsync(fd)
    finally:
        os.close(fd)
    faults.point(f"{fault}.written")
    os.replace(temporary, path)
    fsync_directory(os.path.dirname(path))
    faults.point(f"{fault}.durable")


def _keep_mode(fd: int, path: str) -> None:
    if os.path.exists(path):
        os.fchmod(fd, os.stat(path).st_mode & 0o7777)


def remove_durably(path: str, *, fault: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    fsync_directory(os.path.dirname(path))
    faults.point(f"{fault}.removed")


def read_if_there(path: str) -> bytes | None:
    try:
        with open(path, "rb") as f:
            return f.read()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


MANY_FILES = 256


def flush(root: str, paths: Iterable[str]) -> None:
    """Force the data of these files, and the directories that name them, to disk.

    Past `MANY_FILES` one flush of the whole file system is cheaper than one per file.
    """
    wanted = list(paths)
    if len(wanted) > MANY_FILES:
        flush_file_systems(root)
        return
    directories = set()
    for path in wanted:
        full = os.path.join(root, path)
        directories.add(os.path.dirname(full))
        _fsync_file(full)
    for directory in directories:
        if os.path.isdir(directory):
            fsync_directory(directory)


def flush_file_systems(*directories: str) -> None:
    """All of them, for what others wrote and we cannot name, such as the objects of a commit the agent made.

    Not the whole machine's where that can be helped: somebody else may be writing gigabytes to another disk.
    """
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "syncfs"):
        os.sync()
        return
    for directory in {os.stat(directory).st_dev: directory for directory in directories}.values():
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if libc.syncfs(fd):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), directory)
        finally:
            os.close(fd)


def _fsync_file(path: str) -> None:
    """Only a regular file has data of its own to flush; one that is gone has none."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
