"""Runs one program and answers for its whole process tree. Started as a script of its own, stdlib only.

    supervisor.py CONTROL_FD STATUS_FD TERMINAL_FD PROGRAM [ARGUMENT…]

The runner holds the other end of CONTROL_FD. `t` asks for a polite end (SIGTERM, then SIGKILL when the
grace period that follows in seconds, ended by a newline, is over); `k`, or the end of file that the
kernel delivers when the runner dies, kills at once. On Linux this process is a child subreaper: every
descendant, also one that called setsid or forked twice, becomes its child when it is orphaned, so
`waitpid` answering "no children" proves that the whole tree is dead. Only then is the last line written
to STATUS_FD: `exit CODE LEFTOVERS` or `signal NUMBER LEFTOVERS`.

Elsewhere the process group is killed and the runner sweeps by token.

TERMINAL_FD is -1, or the terminal that the program is to have: it then stays in the runner's session, in a
process group of its own in the foreground, so that Ctrl-C reaches it alone. When it is suspended, `stopped`
is written to STATUS_FD; `c` gives it the terminal again and lets it go on.
"""

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PROOF_DEADLINE = 30.0
# The last three stop a process that is not in the foreground of its terminal, which we never are.
IGNORED = (
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE),
    *(signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU),
)


class _Line(NamedTuple):
    """What connects us with the runner, and with the terminal (-1 for none)."""

    control: int
    status: int
    terminal: int


def main() -> None:
    control, status, terminal = (int(number) for number in sys.argv[1:4])
    _keep_from_children()
    for name in IGNORED:
        signal.signal(name, signal.SIG_IGN)
    if terminal >= 0:
        os.setpgid(0, 0)  # what kills the runner's whole group must leave us to do our duty
    prctl = _prctl()
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    wake = _wake_on_child()
    child = _start(sys.argv[4:], prctl, status, terminal)
    _let_go_of_output()
    ended = _watch(child, _Line(control, status, terminal), wake)
    leftovers = len(kill_tree() - set(ended))
    _say(status, f"{_describe(ended[child])} {leftovers}\n")


def _keep_from_children() -> None:
    """Whatever the runner handed down (control pipe, repository lock) stays here."""
    for fd in os.listdir("/dev/fd"):
        if int(fd) > 2:
            try:
                os.set_inheritable(int(fd), False)
            except OSError:
                continue  # the descriptor of the listing itself


def _prctl() -> Callable[[int, int], int]:
    if sys.platform != "linux":
        return lambda option, value: 0
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    return lambda option, value: int(libc.prctl(option, value, 0, 0, 0))


def _wake_on_child() -> int:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return reader


def _start(argv: list[str], prctl: Callable[[int, int], int], status: int, terminal: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        if terminal < 0:
            os.setsid()
        else:
            os.setpgid(0, 0)
            os.tcsetpgrp(terminal, os.getpid())
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        for number in (*IGNORED, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(argv[0], argv)
    except OSError as error:
        _say(status, f"unstartable {error.errno}\n")
    os._exit(127)


def _let_go_of_output() -> None:
    """Otherwise the runner would wait for the end of a pipe that we hold open ourselves."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)


def _watch(child: int, line: _Line, wake: int) -> dict[int, int]:
    """Until the program ends by itself, or has to be ended. Returns wait statuses by pid."""
    ended: dict[int, int] = {}
    kill_at: float | None = None
    while child not in ended:
        wait = None if kill_at is None else max(0.0, kill_at - time.monotonic())
        ready = select.select([line.control, wake], [], [], wait)[0]
        if wake in ready:
            os.read(wake, 512)
        if line.control in ready:
            order = os.read(line.control, 64)
            if not order or b"k" in order:
                return ended | _end_now(child)
            if b"c" in order:
                _go_on(child, line.terminal)
            if b"t" in order:
                if kill_at is None:
                    _signal_all(signal.SIGTERM)
                kill_at = time.monotonic() + float(order.rpartition(b"t")[2].split()[0])
        if kill_at is not None and time.monotonic() >= kill_at:
            return ended | _end_now(child)
        found = _reap(os.WUNTRACED if line.terminal >= 0 else 0)
        if child in found and os.WIFSTOPPED(found[child]):
            _say(line.status, "stopped\n")
        ended |= {pid: status for pid, status in found.items() if not os.WIFSTOPPED(status)}
    return ended


def _go_on(child: int, terminal: int) -> None:
    try:
        os.tcsetpgrp(terminal, child)
        os.killpg(child, signal.SIGCONT)
    except OSError:
        return  # it has ended meanwhile, or the terminal has gone


def _end_now(child: int) -> dict[int, int]:
    os.kill(child, signal.SIGKILL)
    return {child: os.waitpid(child, 0)[1]}


def _reap(options: int) -> dict[int, int]:
    found: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG | options)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        found[pid] = status


def kill_tree() -> set[int]:
    """Kill what lives below this process until the kernel says no child is left; who was killed."""
    killed: set[int] = set()
    deadline = time.monotonic() + PROOF_DEADLINE
    while time.monotonic() < deadline:
        killed.update(_signal_all(signal.SIGKILL))
        try:
            pid = os.waitpid(-1, os.WNOHANG)[0]
        except ChildProcessError:
            break
        if pid == 0:
            time.sleep(0.002)
    return killed


def kill_below(root: int) -> None:
    """This process and its descendants; those that are orphaned meanwhile come to whoever reaps here."""
    _signal([root, *descendants(root)], signal.SIGKILL)


def _signal_all(number: int) -> list[int]:
    alive = descendants(os.getpid())
    _signal(alive, number)
    return alive


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def descendants(root: int) -> list[int]:
    """Living descendants, parents before children; a zombie has nothing left to kill."""
    children: dict[int, list[int]] = {}
    zombies = set()
    for pid, parent, state in process_table():
        children.setdefault(parent, []).append(pid)
        if state == "Z":
            zombies.add(pid)
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return [pid for pid in found if pid not in zombies]


def process_table() -> list[tuple[int, int, str]]:
    """(pid, parent, state) of every process we may see."""
    if not os.path.isdir("/proc/self"):
        return _process_table_by_ps()
    table = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as f:
                fields = f.read().rpartition(b")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        table.append((int(name), int(fields[1]), fields[0].decode("ascii")))
    return table


def _process_table_by_ps() -> list[tuple[int, int, str]]:
    with os.popen("ps -axo pid=,ppid=,stat=") as ps:  # noqa: S605 (a constant, where there is no /proc)
        rows = [line.split() for line in ps]
    return [(int(pid), int(parent), state[0]) for pid, parent, state in rows]


def _describe(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    return f"exit {os.WEXITSTATUS(status)}"


def _say(fd: int, text: str) -> None:
    try:
        os.write(fd, text.encode("ascii"))
    except BrokenPipeError:
        return  # the runner is gone; the tree is dead, which is what matters


if __name__ == "__main__":
    main()
