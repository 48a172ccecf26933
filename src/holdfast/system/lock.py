"""One run per working tree, by a kernel lock on the tree's git directory itself.

A lock *file* can be deleted while it is held, and a second run would then lock a new one; the git
directory cannot go away without the repository going with it. The lock dies with its holders: the runner,
and the git calls and supervisors it started, which inherit the descriptor. So a run that was killed keeps
others out exactly as long as something of it is still alive. The file beside it only names the holder.
"""

import contextlib
import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator
from types import TracebackType

from holdfast.errors import LockHeld, Refused
from holdfast.system import clock

DYING_RUN_PATIENCE = 15.0
"""How long the leftovers of a dead run may take to end before we call it held."""
MAKING_PATIENCE = 600.0
"""How long another run may take to check out a large repository."""


class TreeLock:
    def __init__(self, git_dir: str, holder_file: str) -> None:
        self._git_dir = git_dir
        self._holder_file = holder_file
        self._fd = -1

    @property
    def descriptor(self) -> int:
        return self._fd

    def __enter__(self) -> "TreeLock":
        deadline = time.monotonic() + DYING_RUN_PATIENCE
        while not self._try():
            holder = read_holder(self._holder_file)
            if (holder is not None and holder.alive) or time.monotonic() > deadline:
                raise _held(holder)
            time.sleep(0.02)
        self._write_holder()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)
        self._fd = -1

    def _try(self) -> bool:
        fd = os.open(self._git_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(fd)
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return False
            raise Refused(
                f"cannot lock {self._git_dir}: {error.strerror}",
                fix="Holdfast needs a file system that supports flock; move the repository to a local disk.",
            ) from error
        os.set_inheritable(fd, True)  # our git calls keep the lock for as long as they live
        self._fd = fd
        return True

    def _write_holder(self) -> None:
        """Not durable on purpose: it is only a name for a message, and dies in meaning with the process."""
        pid = os.getpid()
        text = json.dumps({"pid": pid, "start": clock.process_start(pid), "since": int(clock.now())})
        os.makedirs(os.path.dirname(self._holder_file), exist_ok=True)
        temporary = f"{self._holder_file}.{pid}"
        with open(temporary, "w", encoding="ascii") as f:
            f.write(text)
        os.replace(temporary, self._holder_file)


@contextlib.contextmanager
def exclusive(directory: str) -> Iterator[None]:
    """For what takes a moment and must not be done by two at once: the second waits for the first, and for
    what a dead one started."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    os.set_inheritable(fd, True)
    deadline = time.monotonic() + MAKING_PATIENCE
    try:
        while not _locked(fd):
            if time.monotonic() > deadline:
                raise LockHeld(
                    f"another run has been making a working tree for {MAKING_PATIENCE:.0f} s",
                    fix="look for a left-over holdfast or git process, end it, then run again",
                )
            time.sleep(0.02)
        yield
    finally:
        os.close(fd)


def _locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Holder:
    def __init__(self, pid: int, start: str, since: int) -> None:
        self.pid = pid
        self.since = since
        self.alive = clock.is_alive(pid) and clock.process_start(pid) == start


def read_holder(holder_file: str) -> Holder | None:
    try:
        with open(holder_file, encoding="ascii") as f:
            data = json.load(f)
        return Holder(int(data["pid"]), str(data["start"]), int(data["since"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_held(git_dir: str) -> bool:
    """Only for showing: the answer may be old the moment it is given."""
    fd = os.open(git_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def _held(holder: Holder | None) -> LockHeld:
    if holder is None or not holder.alive:
        return LockHeld(
            "another run holds this repository; the run that started it is gone, but something it started "
            f"is still alive after {DYING_RUN_PATIENCE:.0f} s",
            fix="look for a left-over git or agent process in this repository and end it, then run again",
        )
    since = time.strftime("%H:%M:%S", time.localtime(holder.since))
    return LockHeld(
        f"another run holds this repository: process {holder.pid}, since {since}",
        fix=f"wait for it, or stop it with: kill {holder.pid}",
    )
