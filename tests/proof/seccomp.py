"""Starts a command all of whose changing system calls, and those of its children, wait for an answer.

Seccomp user notification: the filter is installed in the child, without root, and hands each call to whoever
holds the listener.
"""

import ctypes
import errno
import fcntl
import os
import platform
import socket
import struct
from typing import NamedTuple

from proof.calls import MACHINES, Machine, Stop

UNSUPPORTED = 77

PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
SET_MODE_FILTER, NEW_LISTENER = 1, 1 << 3
RET_ALLOW, RET_USER_NOTIF = 0x7FFF0000, 0x7FC00000
NOTIF_RECV, NOTIF_SEND = 0xC0502100, 0xC0182101
CONTINUE = 1
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Listener(NamedTuple):
    fd: int
    machine: Machine

    def receive(self) -> Stop | None:
        buffer = bytearray(80)
        try:
            fcntl.ioctl(self.fd, NOTIF_RECV, buffer)
        except FileNotFoundError:
            return None  # killed before we could look
        number, thread, _, call, _, _, *args = struct.unpack("QIIiIQ6Q", buffer)
        return Stop(number, _process_of(thread), self.machine.names[call], tuple(args))

    def answer(self, stop: Stop, error: int | None = None) -> None:
        """None lets the call take place; otherwise it does not, and 0 says that it did."""
        words = (0, CONTINUE) if error is None else (-error, 0)
        try:
            fcntl.ioctl(self.fd, NOTIF_SEND, bytearray(struct.pack("QqiI", stop.id, 0, *words)))
        except FileNotFoundError:
            return  # the caller is dead


def _process_of(thread: int) -> int:
    """The kernel names the thread that calls."""
    try:
        with open(f"/proc/{thread}/status", "rb") as f:
            return next(int(line.split()[1]) for line in f if line.startswith(b"Tgid:"))
    except OSError:
        return thread  # dead already


def start_held_up(command: list[str]) -> tuple[int, Listener]:
    """Its process id, and where its calls arrive. Orphans of its tree become children of the caller."""
    machine = MACHINES.get(platform.machine())
    if machine is None:
        raise OSError(errno.ENOSYS, f"no table of system calls for {platform.machine()}")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        _become(command, libc, machine, theirs)
    theirs.close()
    message, fds, _, _ = socket.recv_fds(ours, 16, 1)
    if not fds:
        os.waitpid(pid, 0)
        raise OSError(int(message or b"0"), os.strerror(int(message or b"0")))
    return pid, Listener(fds[0], machine)


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
