"""Runs a command and stops its whole process tree at its Nth change of the file system.

    syscalls.py [--at N] [--kill everything|caller|runner] [--report FILE] [--list] COMMAND [ARGUMENT…]

Every system call that changes something, of every process below the command, is held up by the kernel
(seccomp user notification: no root, no ptrace) until this program lets it go, so the calls have one global
order. At call N the caller stays held up, the victims are killed, and the rest goes on until it ends by
itself. Standard library only; Linux 5.9 or newer.
"""

import argparse
import ctypes
import errno
import fcntl
import json
import os
import platform
import select
import signal
import socket
import stat
import struct
import sys
import time
from typing import NamedTuple

DEADLINE = 60.0
UNSUPPORTED = 77

PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
SET_MODE_FILTER, NEW_LISTENER = 1, 1 << 3
RET_ALLOW, RET_USER_NOTIF = 0x7FFF0000, 0x7FC00000
NOTIF_RECV, NOTIF_SEND = 0xC0502100, 0xC0182101
CONTINUE = 1
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Machine(NamedTuple):
    """What differs between processors."""

    audit: int
    seccomp: int
    opens: dict[int, int]
    """Call number → which argument holds the flags."""
    writes: frozenset[int]
    names: dict[int, str]


def _machine(audit: int, seccomp: int, opens: dict[int, int], writes: str, table: str) -> Machine:
    names = {int(number): name for name, _, number in (word.partition("=") for word in table.split())}
    return Machine(
        audit, seccomp, opens, frozenset(n for n, name in names.items() if name in writes.split()), names
    )


_WRITES = "write pwrite64 writev pwritev sendfile copy_file_range"
MACHINES = {
    "x86_64": _machine(
        0xC000003E,
        317,
        {2: 1, 257: 2},
        _WRITES,
        "write=1 open=2 pwrite64=18 writev=20 sendfile=40 execve=59 kill=62 flock=73 fsync=74 fdatasync=75 "
        "truncate=76 ftruncate=77 rename=82 mkdir=83 rmdir=84 creat=85 link=86 unlink=87 symlink=88 chmod=90 "
        "fchmod=91 sync=162 openat=257 mkdirat=258 unlinkat=263 renameat=264 linkat=265 symlinkat=266 "
        "fchmodat=268 utimensat=280 fallocate=285 pwritev=296 syncfs=306 renameat2=316 copy_file_range=326",
    ),
    "aarch64": _machine(
        0xC00000B7,
        277,
        {56: 2},
        _WRITES,
        "flock=32 mkdirat=34 unlinkat=35 symlinkat=36 linkat=37 renameat=38 truncate=45 ftruncate=46 "
        "fallocate=47 fchmod=52 fchmodat=53 openat=56 write=64 writev=66 pwrite64=68 pwritev=70 sendfile=71 "
        "sync=81 fsync=82 fdatasync=83 utimensat=88 kill=129 execve=221 syncfs=267 renameat2=276 "
        "copy_file_range=285",
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


class Stop(NamedTuple):
    """One call of one process, held up."""

    id: int
    pid: int
    name: str
    args: tuple[int, ...]


class Outcome(NamedTuple):
    points: int
    by_others: tuple[int, ...]
    """The points at which the caller was not the command itself but something it had started."""
    hit: str
    """The call the kill happened at; "" when it was not reached."""
    code: int
    """Of the command; negative: the signal that ended it."""
    alive_after: tuple[str, ...]
    """Processes of the tree that lived on after the command had ended by itself, or would not end."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="syscalls.py", usage=(__doc__ or "").splitlines()[2].strip())
    parser.add_argument("--at", type=int, default=0)
    parser.add_argument("--kill", choices=("everything", "caller", "runner"), default="everything")
    parser.add_argument("--report")
    parser.add_argument("--list", action="store_true", help="every call, by its number, to standard error")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    try:
        outcome = run(args.command, args.at, args.kill, listed=args.list)
    except OSError as error:
        sys.stderr.write(f"the kernel does not let system calls be held up: {error}\n")
        sys.exit(UNSUPPORTED)
    text = json.dumps(outcome._asdict())
    if args.report:
        with open(args.report, "w", encoding="utf-8") as f:
            f.write(text)
    else:
        sys.stderr.write(f"{text}\n")
    sys.exit(outcome.code if outcome.code >= 0 else 128 - outcome.code)


def run(command: list[str], at: int, kill: str, *, listed: bool = False) -> Outcome:
    """`at` 0 only counts."""
    machine = MACHINES.get(platform.machine())
    if machine is None:
        raise OSError(errno.ENOSYS, f"no table of system calls for {platform.machine()}")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    ours, theirs = socket.socketpair()
    runner = os.fork()
    if runner == 0:
        ours.close()
        _become(command, libc, machine, theirs)
    theirs.close()
    message, fds, _, _ = socket.recv_fds(ours, 16, 1)
    if not fds:
        os.waitpid(runner, 0)
        raise OSError(int(message or b"0"), os.strerror(int(message or b"0")))
    return _Tracer(fds[0], runner, machine, at, kill, listed).follow()


def _become(command: list[str], libc: ctypes.CDLL, machine: Machine, channel: socket.socket) -> None:
    """In the child: install the filter, hand the listener over, turn into the command. Never returns."""
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    code = _filter(machine)
    buffer = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer)))
    fd = libc.syscall(machine.seccomp, SET_MODE_FILTER, NEW_LISTENER, program)
    if fd < 0:
        channel.send(str(ctypes.get_errno()).encode())
        os._exit(UNSUPPORTED)
    socket.send_fds(channel, [b"ok"], [fd])
    os.close(fd)
    channel.close()
    try:
        os.execvp(command[0], command)
    except OSError:
        os._exit(127)


def _filter(machine: Machine) -> bytes:
    """Classic BPF: hold up every call of the table, an open only when its flags say that it may write."""
    load, equal, any_bit, answer = 0x20, 0x15, 0x45, 0x06

    def op(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
        return struct.pack("HBBI", code, then, otherwise, value)

    program = [op(load, 4), op(equal, machine.audit, 1, 0), op(answer, RET_ALLOW), op(load, 0)]
    for number in sorted(machine.names):
        if number in machine.opens:
            flags = 16 + 8 * machine.opens[number]
            program += [op(equal, number, 0, 4), op(load, flags), op(any_bit, WRITING, 0, 1)]
            program += [op(answer, RET_USER_NOTIF), op(answer, RET_ALLOW)]
        else:
            program += [op(equal, number, 0, 1), op(answer, RET_USER_NOTIF)]
    return b"".join([*program, op(answer, RET_ALLOW)])


class _Tracer:
    def __init__(
        self, listener: int, runner: int, machine: Machine, at: int, kill: str, listed: bool
    ) -> None:
        self._listener, self._runner, self._machine = listener, runner, machine
        self._at, self._kill, self._listed = at, kill, listed
        self._count = 0
        self._by_others: list[int] = []
        self._written: tuple[int, str] = (0, "")
        self._times = 0
        self._hit = ""
        self._code: int | None = None
        self._alive_after: list[str] = []

    def follow(self) -> Outcome:
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        deadline = time.monotonic() + DEADLINE
        while self._reap():
            for _, happened in poll.poll(10):
                if happened & select.POLLIN:
                    self._serve()
                else:
                    poll.unregister(self._listener)  # the last process under the filter is gone
            if time.monotonic() > deadline:
                self._give_up()
        assert self._code is not None
        return Outcome(self._count, tuple(self._by_others), self._hit, self._code, tuple(self._alive_after))

    def _serve(self) -> None:
        stop = self._receive()
        if stop is None:
            return
        if _changes_something(stop) and not self._goes_on_writing(stop):
            self._count += 1
            if stop.pid != self._runner:
                self._by_others.append(self._count)
            if self._listed:
                sys.stderr.write(f"{self._count} {_describe(stop)}\n")
            if self._count == self._at:
                self._hit = _describe(stop)
                if self._strike(stop.pid):
                    return  # an answer could still let the dying caller's call through
        try:
            fcntl.ioctl(self._listener, NOTIF_SEND, bytearray(struct.pack("QqiI", stop.id, 0, 0, CONTINUE)))
        except FileNotFoundError:
            return  # the caller is dead

    def _receive(self) -> Stop | None:
        buffer = bytearray(80)
        try:
            fcntl.ioctl(self._listener, NOTIF_RECV, buffer)
        except FileNotFoundError:
            return None  # killed before we could look
        number, pid, _, call, _, _, *args = struct.unpack("QIIiIQ6Q", buffer)
        return Stop(number, pid, self._machine.names[call], tuple(args))

    def _goes_on_writing(self, stop: Stop) -> bool:
        """The third and later writes in a row to one file leave nothing new: it is torn after the first."""
        file = (
            stop.pid,
            _link(f"/proc/{stop.pid}/fd/{stop.args[0]}") if stop.name in _WRITES.split() else "",
        )
        self._times = self._times + 1 if file[1] and file == self._written else 0
        self._written = file
        return self._times > 1

    def _strike(self, caller: int) -> bool:
        """Whether the caller is among the victims."""
        victims = {"runner": [self._runner], "caller": [caller], "everything": [self._runner, *descendants()]}
        for pid in victims[self._kill]:
            _kill(pid)
        if self._kill == "everything":
            for pid in descendants():  # born while we were killing
                _kill(pid)
        return caller in victims[self._kill]

    def _reap(self) -> bool:
        """Whether anything of the tree is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._runner:
                self._code = os.waitstatus_to_exitcode(status)
                if self._code >= 0:
                    self._alive_after = [_name(p) for p in descendants()]

    def _give_up(self) -> None:
        left = descendants()
        self._alive_after += [f"{_name(pid)} (would not end)" for pid in left]
        for pid in left:
            _kill(pid)


def _changes_something(stop: Stop) -> bool:
    """The filter sees numbers only: pipes, devices and the like are told from files here."""
    if stop.name == "kill":
        return stop.args[1] != 0
    if stop.name in _WRITES.split():
        fd = stop.args[2 if stop.name == "copy_file_range" else 0]
        try:
            return stat.S_ISREG(os.stat(f"/proc/{stop.pid}/fd/{fd}").st_mode)
        except OSError:
            return False
    paths = [_text(stop.pid, stop.args[n]) for n in PATHS.get(stop.name, ())]
    if stop.name == "execve":
        return os.path.exists(paths[0])  # not each place where PATH is searched in vain
    return not any(path in ("/dev/null", "/dev/tty") or path.startswith("/proc/") for path in paths)


def _describe(stop: Stop) -> str:
    paths = [_text(stop.pid, stop.args[n]) for n in PATHS.get(stop.name, ())]
    if not paths and stop.name not in ("kill", "sync"):
        paths = [_link(f"/proc/{stop.pid}/fd/{stop.args[0]}")]
    return f"{stop.name}({', '.join(paths)}) by {_name(stop.pid)}"


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


def _name(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            words = f.read().decode("utf-8", "replace").split("\0")
    except OSError:
        words = ["?"]
    return " ".join(words)[:200].replace("\n", " ")


def descendants() -> list[int]:
    """Living descendants of this process, the nearest first."""
    children: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as f:
                state, parent = f.read().rpartition(b")")[2].split()[:2]
        except OSError:
            continue
        if state not in (b"Z", b"X"):
            children.setdefault(int(parent), []).append(int(name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(0), [])
        found += below
        waiting += below
    return found


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


if __name__ == "__main__":
    main()
