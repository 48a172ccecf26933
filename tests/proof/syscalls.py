"""Runs a command and strikes its whole process tree at its Nth change of the file system.

    python -m proof.syscalls [--at N] [--kill everything|caller|runner] [--list] COMMAND [ARGUMENT…]
                             [--cut DISK [--names-first]] [--fail ERRNO [--whose runner|git] [--lasting]]

Every system call that changes something, of every process below the command, is held up by the kernel
(seccomp user notification: no root, no ptrace) until this program lets it go, so the calls have one global
order. At call N the caller stays held up and the victims are killed; or the power of a disk is cut, and all
are killed; or the call does not take place and fails. The rest goes on until it ends by itself. Standard
library only; Linux 5.9 or newer.
"""

import argparse
import errno
import fcntl
import json
import os
import select
import signal
import struct
import sys
import time
from typing import NamedTuple

from proof.calls import (
    FAILURES,
    FLUSHES,
    UNCHECKED_BY_GIT,
    Stop,
    changes_something,
    describe,
    is_own_git,
    program,
    written_file,
)
from proof.seccomp import UNSUPPORTED, Listener, start_held_up

DEADLINE = 60.0

EXT4_SHUTDOWN, WITHOUT_FLUSH = 0x8004587D, 2


class Kill(NamedTuple):
    whom: str = "everything"


class Cut(NamedTuple):
    """The power of the ext4 file system mounted at `disk` fails, then everything dies."""

    disk: str
    names_first: bool
    """The file system has just written its own journal, as it does every few seconds: names and sizes are
    on disk, file contents that nobody flushed are not. Otherwise nothing is that nobody flushed."""


class Fail(NamedTuple):
    """The call does not take place."""

    error: str
    whose: str
    lasting: bool
    """So do all later calls of its kind."""


class Order(NamedTuple):
    at: int
    """0 only counts."""
    blow: Kill | Cut | Fail
    listed: bool = False
    flushing: bool = True
    """False: whoever asks for a flush is told that it was done, and it was not."""


class Outcome(NamedTuple):
    points: int
    by_others: tuple[int, ...]
    """The points at which the caller was not the command itself but something it had started."""
    hit: str
    """The call the blow fell at; "" when it was not reached."""
    code: int
    """Of the command; negative: the signal that ended it."""
    alive_after: tuple[str, ...]
    """Processes of the tree that lived on after the command had ended by itself, or would not end."""


def main() -> None:
    args = _arguments()
    try:
        outcome = run(args.command, _order(args))
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


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="proof.syscalls", usage="[OPTIONS] COMMAND [ARGUMENT…]")
    parser.add_argument("--at", type=int, default=0)
    parser.add_argument("--kill", choices=("everything", "caller", "runner"), default="everything")
    parser.add_argument("--cut", metavar="DISK", help="where the ext4 file system is mounted")
    parser.add_argument("--names-first", action="store_true", help="names are on disk, contents are not")
    parser.add_argument("--fail", choices=sorted(FAILURES))
    parser.add_argument("--whose", choices=("runner", "git"), default="runner", help="calls that can fail")
    parser.add_argument("--lasting", action="store_true", help="later calls fail too")
    parser.add_argument("--no-flush", action="store_true", help="flushes only seem to be done")
    parser.add_argument("--report", metavar="FILE")
    parser.add_argument("--list", action="store_true", help="every call, by its number, to standard error")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args()


def _order(args: argparse.Namespace) -> Order:
    blow: Kill | Cut | Fail = Kill(args.kill)
    if args.cut:
        blow = Cut(args.cut, args.names_first)
    elif args.fail:
        blow = Fail(args.fail, args.whose, args.lasting)
    return Order(args.at, blow, args.list, flushing=not args.no_flush)


def run(command: list[str], order: Order) -> Outcome:
    runner, listener = start_held_up(command)
    return _Tracer(listener, runner, order).follow()


class _Tracer:
    def __init__(self, listener: Listener, runner: int, order: Order) -> None:
        self._listener, self._runner, self._order = listener, runner, order
        self._count = 0
        self._by_others: list[int] = []
        self._written: tuple[int, str] = (0, "")
        self._times = 0
        self._hit = ""
        self._code: int | None = None
        self._alive_after: list[str] = []

    def follow(self) -> Outcome:
        poll = select.poll()
        poll.register(self._listener.fd, select.POLLIN)
        deadline = time.monotonic() + DEADLINE
        while self._reap():
            for _, happened in poll.poll(10):
                if happened & select.POLLIN:
                    self._serve()
                else:
                    poll.unregister(self._listener.fd)  # the last process under the filter is gone
            if time.monotonic() > deadline:
                self._give_up()
        assert self._code is not None
        return Outcome(self._count, tuple(self._by_others), self._hit, self._code, tuple(self._alive_after))

    def _serve(self) -> None:
        stop = self._listener.receive()
        if stop is None:
            return
        if not self._order.flushing and stop.name in FLUSHES:
            self._listener.answer(stop, error=0)
            return
        blow = self._order.blow
        matters = self._matters(stop)
        reached = matters and not self._goes_on_writing(stop) and self._is_the_point(stop)
        if isinstance(blow, Fail):
            failing = reached or (matters and blow.lasting and self._hit != "")
            self._listener.answer(stop, error=getattr(errno, blow.error) if failing else None)
        elif not (
            reached and self._strike(blow, stop.pid)
        ):  # an answer could let a dying caller's call through
            self._listener.answer(stop)

    def _matters(self, stop: Stop) -> bool:
        """Whether the blow could fall here."""
        blow = self._order.blow
        if not isinstance(blow, Fail):
            return changes_something(stop)
        if stop.name not in FAILURES[blow.error]:
            return False
        if blow.whose == "runner":
            return stop.pid == self._runner and changes_something(stop)
        return stop.name not in UNCHECKED_BY_GIT and is_own_git(stop.pid) and changes_something(stop)

    def _goes_on_writing(self, stop: Stop) -> bool:
        """The third and later writes in a row to one file leave nothing new: it is torn after the first."""
        file = (stop.pid, written_file(stop))
        self._times = self._times + 1 if file[1] and file == self._written else 0
        self._written = file
        return self._times > 1

    def _is_the_point(self, stop: Stop) -> bool:
        self._count += 1
        if stop.pid != self._runner:
            self._by_others.append(self._count)
        if self._order.listed:
            sys.stderr.write(f"{self._count} {describe(stop)}\n")
        if self._count != self._order.at:
            return False
        self._hit = describe(stop)
        return True

    def _strike(self, blow: Kill | Cut, caller: int) -> bool:
        """Whether the caller is among the victims."""
        if isinstance(blow, Cut):
            _cut_power(blow)
        whom = blow.whom if isinstance(blow, Kill) else "everything"
        victims = {"runner": [self._runner], "caller": [caller], "everything": [self._runner, *descendants()]}
        for pid in victims[whom]:
            _kill(pid)
        if whom == "everything":
            for pid in descendants():  # born while we were killing
                _kill(pid)
        return caller in victims[whom]

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
                    self._alive_after = [program(p) for p in descendants()]

    def _give_up(self) -> None:
        left = descendants()
        self._alive_after += [f"{program(pid)} (would not end)" for pid in left]
        for pid in left:
            _kill(pid)


def _cut_power(blow: Cut) -> None:
    """By the ioctl that file systems are tested with: from here on not one more byte gets to the disk."""
    fd = os.open(blow.disk, os.O_RDWR | os.O_TMPFILE, 0o600)
    if blow.names_first:
        os.write(fd, b"of somebody else")
        os.fsync(fd)  # there is one journal for all files: this commits the names that everybody made
    fcntl.ioctl(fd, EXT4_SHUTDOWN, struct.pack("I", WITHOUT_FLUSH))
    os.close(fd)


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
