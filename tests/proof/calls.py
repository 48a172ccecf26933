"""System calls as numbers and words: which of them change something, which can fail how, what they are about.

Looks and changes nothing; `syscalls` is what holds calls up.
"""

import os
import stat
from typing import NamedTuple


class Machine(NamedTuple):
    """What differs between processors."""

    audit: int
    seccomp: int
    opens: dict[int, int]
    """Call number → which argument holds the flags."""
    names: dict[int, str]


def _machine(audit: int, seccomp: int, opens: dict[int, int], table: str) -> Machine:
    names = {int(number): name for name, _, number in (word.partition("=") for word in table.split())}
    return Machine(audit, seccomp, opens, names)


MACHINES = {
    "x86_64": _machine(
        0xC000003E,
        317,
        {2: 1, 257: 2},
        "write=1 open=2 pwrite64=18 writev=20 sendfile=40 execve=59 kill=62 flock=73 fsync=74 fdatasync=75 "
        "truncate=76 ftruncate=77 rename=82 mkdir=83 rmdir=84 creat=85 link=86 unlink=87 symlink=88 chmod=90 "
        "fchmod=91 sync=162 openat=257 mkdirat=258 unlinkat=263 renameat=264 linkat=265 symlinkat=266 "
        "fchmodat=268 sync_file_range=277 utimensat=280 fallocate=285 pwritev=296 syncfs=306 renameat2=316 "
        "copy_file_range=326",
    ),
    "aarch64": _machine(
        0xC00000B7,
        277,
        {56: 2},
        "flock=32 mkdirat=34 unlinkat=35 symlinkat=36 linkat=37 renameat=38 truncate=45 ftruncate=46 "
        "fallocate=47 fchmod=52 fchmodat=53 openat=56 write=64 writev=66 pwrite64=68 pwritev=70 sendfile=71 "
        "sync=81 fsync=82 fdatasync=83 sync_file_range=84 utimensat=88 kill=129 execve=221 syncfs=267 "
        "renameat2=276 copy_file_range=285",
    ),
}
PATHS = {"execve": (0,), "open": (0,), "creat": (0,), "truncate": (0,), "mkdir": (0,), "rmdir": (0,)} | {
    "unlink": (0,),
    "chmod": (0,),
    "rename": (0, 1),
    "link": (0, 1),
    "symlink": (0, 1),
    "openat": (1,),
    "mkdirat": (1,),
    "unlinkat": (1,),
    "fchmodat": (1,),
    "utimensat": (1,),
    "symlinkat": (0, 2),
    "renameat": (1, 3),
    "renameat2": (1, 3),
    "linkat": (1, 3),
}
"""Which arguments of a call are paths."""

WRITES = frozenset(["write", "pwrite64", "writev", "pwritev", "sendfile", "copy_file_range"])
FLUSHES = frozenset(["fsync", "fdatasync", "sync", "sync_file_range", "syncfs"])
_OPENS = frozenset(["open", "openat", "creat"])
_NAMES = frozenset(PATHS) - _OPENS - {"execve", "truncate"}
_SIZES = frozenset(["truncate", "ftruncate", "fallocate"])
FAILURES = {
    "ENOSPC": _OPENS | WRITES | _SIZES | {"fsync", "fdatasync", "syncfs"} | (_NAMES - {"unlink", "unlinkat"}),
    "EIO": _OPENS | WRITES | _SIZES | _NAMES | FLUSHES - {"sync"} | {"fchmod"},
    "EACCES": _OPENS | _NAMES | {"truncate"},
}
"""Which calls can end how: a full disk takes back no name, a permission is asked for by path."""

UNCHECKED_BY_GIT = frozenset(["unlink", "unlinkat", "rmdir"])
"""git does not ask whether it could remove a lock of its own, and exits 0 with the lock still there."""


class Stop(NamedTuple):
    """One call of one process, held up."""

    id: int
    pid: int
    name: str
    args: tuple[int, ...]


def changes_something(stop: Stop) -> bool:
    """The filter sees numbers only: pipes, devices and the like are told from files here."""
    if stop.name == "kill":
        return stop.args[1] != 0
    if stop.name in WRITES:
        try:
            return stat.S_ISREG(os.stat(_descriptor(stop)).st_mode)
        except OSError:
            return False
    paths = _paths(stop)
    if stop.name == "execve":
        return os.path.exists(paths[0])  # not each place where PATH is searched in vain
    return not any(path in ("/dev/null", "/dev/tty") or path.startswith("/proc/") for path in paths)


def written_file(stop: Stop) -> str:
    """Which file a write goes to; "" for any other call."""
    return _link(_descriptor(stop)) if stop.name in WRITES else ""


def describe(stop: Stop) -> str:
    paths = _paths(stop)
    if not paths and stop.name not in ("kill", "sync"):
        paths = [_link(_descriptor(stop))]
    return f"{stop.name}({', '.join(paths)}) by {program(stop.pid)}"


def program(pid: int) -> str:
    """Its command line, cut short."""
    words = _read(f"/proc/{pid}/cmdline").decode("utf-8", "replace").split("\0")
    return " ".join(words)[:200].replace("\n", " ") or "?"


def is_own_git(pid: int) -> bool:
    """A git call of the runner's own: those of agents, gates and hooks carry a token."""
    name = os.path.basename(_link(f"/proc/{pid}/exe"))
    return name == "git" and b"HOLDFAST_TOKEN=" not in _read(f"/proc/{pid}/environ")


def _descriptor(stop: Stop) -> str:
    return f"/proc/{stop.pid}/fd/{stop.args[2 if stop.name == 'copy_file_range' else 0]}"


def _paths(stop: Stop) -> list[str]:
    return [_text(stop.pid, stop.args[n]) for n in PATHS.get(stop.name, ())]


def _text(pid: int, address: int) -> str:
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as f:
            f.seek(address)
            return f.read(min(4096, 4096 - address % 4096)).split(b"\0")[0].decode("utf-8", "replace")
    except (OSError, ValueError, OverflowError):
        return "?"


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return "?"


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""
