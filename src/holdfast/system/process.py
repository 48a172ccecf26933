"""The only place that starts programs: `capture` for short ones, `supervise` for agents, gates and hooks.

`Child` is for one that goes on while we do, such as a run that is watched and killed by the demo; `Peer` for
one that is spoken with, by a program of ours that is itself supervised.
"""

import os
import select
import signal
import sys
import time
from _thread import allocate_lock
from collections.abc import Callable, Mapping
from typing import NamedTuple

from holdfast.errors import HoldfastError
from holdfast.system.terminal import Terminal

CHUNK = 1 << 16
PIPE_SIZE = 1 << 20
F_SETPIPE_SZ = 1031
SUSPENDED = b"stopped\n"
"""What the supervisor says when its program, which has our terminal, was suspended."""


_STARTING, _BURYING = allocate_lock(), allocate_lock()
_own: set[int] = set()
"""Children that somebody here started and waits for, in whichever thread."""


def _forget(pid: int) -> None:
    with _STARTING:
        _own.discard(pid)


class Completed(NamedTuple):
    code: int
    """Negative: the signal that ended it."""
    out: bytes
    err: bytes


class ProgramTimeout(HoldfastError):
    """A program that should have been quick was not; it has been killed."""


def capture(
    argv: tuple[str, ...] | list[str],
    *,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout: float = 600.0,
    own_group: bool = True,
) -> Completed:
    """Run a short program to its end and return what it said.

    In a process group of its own, so that a Ctrl-C in the terminal reaches the runner and not, say, a git
    call in the middle of a commit. By posix_spawn rather than `subprocess`, which costs `status` a third of
    its time to import.
    """
    ours, theirs = _three_pipes()
    actions = [(os.POSIX_SPAWN_DUP2, theirs[fd], fd) for fd in range(3)]
    try:
        pid = _spawned(argv, os.environ if env is None else env, actions, own_group)
    except OSError:
        for fd in ours:
            os.close(fd)
        raise
    finally:
        for fd in theirs:
            os.close(fd)
    try:
        out, err = _converse(ours, stdin, time.monotonic() + timeout)
    except TimeoutError as error:
        os.kill(pid, signal.SIGKILL)
        _buried(pid)
        raise ProgramTimeout(f"`{' '.join(argv)}` did not end within {timeout:.0f} s") from error
    return Completed(os.waitstatus_to_exitcode(_buried(pid)), out, err)


def _spawned(
    argv: tuple[str, ...] | list[str],
    environment: Mapping[str, str],
    actions: list[tuple[int, int, int]],
    own_group: bool,
) -> int:
    with _STARTING:
        if own_group:
            pid = os.posix_spawnp(argv[0], argv, environment, file_actions=actions, setpgroup=0)
        else:
            pid = os.posix_spawnp(argv[0], argv, environment, file_actions=actions)
        _own.add(pid)
    return pid


def _buried(pid: int) -> int:
    status = os.waitpid(pid, 0)[1]
    _forget(pid)
    return status


def _three_pipes() -> tuple[list[int], list[int]]:
    stdin_end, stdin = os.pipe()
    stdout, stdout_end = os.pipe()
    stderr, stderr_end = os.pipe()
    return [stdin, stdout, stderr], [stdin_end, stdout_end, stderr_end]


def _converse(ours: list[int], stdin: bytes, deadline: float) -> tuple[bytes, bytes]:
    """Feed and drain until both outputs end. Closes all three of our descriptors, whatever happens."""
    to_child, out, err = ours
    said: dict[int, list[bytes]] = {out: [], err: []}
    pending = memoryview(stdin)
    poll = select.poll()
    os.set_blocking(to_child, False)
    open_fds = {to_child, out, err}
    for fd in (out, err):
        poll.register(fd, select.POLLIN)
    poll.register(to_child, select.POLLOUT)
    try:
        while open_fds - {to_child}:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError
            for fd, _ in poll.poll(remaining * 1000):
                if fd == to_child:
                    pending = _feed(fd, pending)
                    finished = not pending
                else:
                    chunk = os.read(fd, CHUNK)
                    said[fd].append(chunk)
                    finished = not chunk
                if finished:
                    poll.unregister(fd)
                    os.close(fd)
                    open_fds.discard(fd)
    finally:
        for fd in open_fds:
            os.close(fd)
    return b"".join(said[out]), b"".join(said[err])


def _feed(fd: int, pending: memoryview) -> memoryview:
    try:
        return pending[os.write(fd, pending) :] if pending else pending
    except BlockingIOError:
        return pending
    except BrokenPipeError:
        return memoryview(b"")


class Program(NamedTuple):
    """Something to run under supervision."""

    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]
    stdin: str = ""
    """A file to read from; "" means /dev/null."""
    lock: int = -1
    """The repository lock, held on to by the supervisor (not by the program) until the tree is dead."""
    terminal: bool = False
    """It gets our terminal, in the foreground, instead of `stdin` and of being heard."""


class Limits(NamedTuple):
    timeout: float
    idle: float = float("inf")
    grace: float = 5.0


class Ended(NamedTuple):
    exit_code: int | None
    signal: int | None
    why: str
    """"" when it ended by itself, else "timeout", "idle" or "stopped"."""
    leftovers: int
    seconds: float


class Unstartable(HoldfastError):
    """The program does not exist or may not be executed."""


class Stops:
    """Somebody may ask for a stop at any time. `fileno` becomes readable when they do."""

    def __init__(self) -> None:
        self.signal_number = 0
        self.hurried = False
        self._reader, self._writer = os.pipe()

    def request(self, signal_number: int) -> None:
        """Safe in a signal handler. A second request only shortens the grace."""
        self.hurried = self.signal_number != 0
        self.signal_number = self.signal_number or signal_number
        os.write(self._writer, b".")

    def fileno(self) -> int:
        return self._reader

    @property
    def requested(self) -> bool:
        return self.signal_number != 0

    def wait(self, seconds: float) -> bool:
        """Whether a stop was asked for within that time; ends at once when it is."""
        if not self.requested:
            select.select([self._reader], [], [], seconds)
        return self.requested


def supervise(
    program: Program,
    limits: Limits,
    stops: Stops,
    heard: Callable[[int, bytes], None],
) -> Ended:
    """Run a program and its whole tree; when this returns, however it returns, all of it is dead.

    `heard(1 or 2, chunk)` gets standard output and standard error as they come.
    """
    child = _Supervised(program)
    try:
        return child.follow(limits, stops, heard)
    finally:
        child.close()


class _Supervised:
    def __init__(self, program: Program) -> None:
        import subprocess  # heavy, and `status` never gets here

        supervisor = os.path.join(os.path.dirname(os.path.abspath(__file__)), "supervisor.py")
        control_end, self._control = os.pipe()
        self._status, status_end = os.pipe()
        inherited = [control_end, status_end] + ([program.lock] if program.lock >= 0 else [])
        self._terminal = Terminal() if program.terminal else None
        inherited += [self._terminal.fd] if self._terminal else []
        numbers = (control_end, status_end, self._terminal.fd if self._terminal else -1)
        argv = [sys.executable, "-I", "-S", supervisor, *map(str, numbers), *program.argv]
        self._name = program.argv[0]
        self._began = time.monotonic()
        output = None if program.terminal else subprocess.PIPE
        try:
            with open(program.stdin or os.devnull, "rb") as stdin, _STARTING:
                self._process = subprocess.Popen(
                    argv,
                    cwd=program.cwd,
                    env=dict(program.environment),
                    stdin=None if program.terminal else stdin,
                    stdout=output,
                    stderr=output,
                    pass_fds=inherited,
                    start_new_session=not program.terminal,
                    bufsize=0,
                )
                _own.add(self._process.pid)
        except OSError:
            os.close(self._control)
            os.close(self._status)
            if self._terminal:
                self._terminal.take_back()
            raise
        finally:
            os.close(control_end)
            os.close(status_end)
        streams = ((self._process.stdout, 1), (self._process.stderr, 2))
        self._outputs = {stream.fileno(): number for stream, number in streams if stream}
        for fd in self._outputs:
            _enlarge_pipe(fd)

    def follow(self, limits: Limits, stops: Stops, heard: Callable[[int, bytes], None]) -> Ended:
        poll = select.poll()
        for fd in (*self._outputs, self._status):
            poll.register(fd, select.POLLIN)
        if not stops.requested:
            poll.register(stops.fileno(), select.POLLIN)
        report = b""
        why = ""
        hurried = False
        last_heard = self._began
        watched = {*self._outputs, self._status}
        while watched:
            if not why:
                why = self._reason_to_stop(limits, stops, last_heard)
                if why:
                    self._order(b"t%f\n" % limits.grace)
            if why and stops.hurried and not hurried:
                hurried = True
                self._order(b"k")
            for fd, _ in poll.poll(self._patience(limits, last_heard, stopping=bool(why))):
                if fd == stops.fileno():
                    poll.unregister(fd)  # left unread: other threads are to be woken by it too
                    continue
                chunk = os.read(fd, CHUNK if fd == self._status else PIPE_SIZE)
                if not chunk:
                    poll.unregister(fd)
                    watched.discard(fd)
                    if fd == self._status and not report:
                        self._bury_supervisor()
                elif fd == self._status:
                    report += chunk.replace(SUSPENDED, b"")
                    if SUSPENDED in chunk and self._terminal:
                        self._terminal.suspend_us()
                        self._order(b"c")
                else:
                    last_heard = time.monotonic()
                    heard(self._outputs[fd], chunk)
        self._process.wait()
        return self._ended(report, why)

    def _reason_to_stop(self, limits: Limits, stops: Stops, last_heard: float) -> str:
        now = time.monotonic()
        if stops.requested:
            return "stopped"
        if now - self._began >= limits.timeout:
            return "timeout"
        if now - last_heard >= limits.idle:
            return "idle"
        return ""

    def _patience(self, limits: Limits, last_heard: float, *, stopping: bool) -> float | None:
        """Milliseconds until the next deadline; while stopping the supervisor keeps the time, and only a
        second request to stop is looked for."""
        if stopping:
            return 100.0
        until = min(self._began + limits.timeout, last_heard + limits.idle)
        return max(0.0, until - time.monotonic()) * 1000 if until != float("inf") else None

    def _order(self, order: bytes) -> None:
        try:
            os.write(self._control, order)
        except BrokenPipeError:
            return  # it is ending already; its report or its absence will tell

    def _ended(self, report: bytes, why: str) -> Ended:
        seconds = time.monotonic() - self._began
        lines = report.decode("ascii").splitlines()
        if any(line.startswith("unstartable") for line in lines):
            code = int(lines[0].split()[1])
            raise Unstartable(f"cannot start {self._name}: {os.strerror(code)}")
        if not lines:  # the supervisor itself was killed, see _bury_supervisor
            return Ended(None, int(signal.SIGKILL), why, 0, seconds)
        word, number, leftovers = lines[-1].split()
        if word == "exit":
            return Ended(int(number), None, why, int(leftovers), seconds)
        return Ended(None, int(number), why, int(leftovers), seconds)

    def _bury_supervisor(self) -> None:
        """It was killed without a report. What it answered for has become ours, see become_subreaper."""
        self._process.wait()
        _forget(self._process.pid)
        _kill_orphans()

    def close(self) -> None:
        """Closing the control pipe is the order to kill; then wait for the proof."""
        os.close(self._control)
        os.close(self._status)
        for stream in (self._process.stdout, self._process.stderr):
            if stream:
                stream.close()
        self._process.wait()
        _forget(self._process.pid)
        if self._terminal:
            self._terminal.take_back()


class Child:
    """A program beside us, its standard output and error to be read. Leaving the `with` block kills it."""

    def __init__(self, argv: tuple[str, ...], *, cwd: str, env: Mapping[str, str]) -> None:
        import subprocess  # heavy, and `status` never gets here

        devnull, pipe, both = subprocess.DEVNULL, subprocess.PIPE, subprocess.STDOUT
        self._process = subprocess.Popen(
            argv, cwd=cwd, env=dict(env), stdin=devnull, stdout=pipe, stderr=both, bufsize=0
        )
        assert self._process.stdout
        self._output = self._process.stdout
        self.pid = self._process.pid

    def read(self, timeout: float) -> bytes | None:
        """What it says next, b"" at its end, None when nothing came in time."""
        if not select.select([self._output], [], [], timeout)[0]:
            return None
        return os.read(self._output.fileno(), CHUNK)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def wait(self, timeout: float) -> int:
        """Its exit code, negative for a signal; killed when it takes longer."""
        import subprocess

        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            return -signal.SIGKILL

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._output.close()


class Peer:
    """A program we speak with: its standard input and output are ours to write and read, its error is ours.

    Leaving the `with` block ends it. What it has started in turn is left to the supervisor above us.
    """

    def __init__(self, argv: tuple[str, ...], grace: float = 1.0) -> None:
        import subprocess  # heavy, and `status` never gets here

        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self._process.stdin and self._process.stdout
        self._grace = grace
        self.to, self.out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self.to, False)

    def status(self) -> int | None:
        """Its exit code, negative for a signal, once it has ended by itself; None when it does not."""
        import subprocess

        try:
            return self._process.wait(self._grace)
        except subprocess.TimeoutExpired:
            return None

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_: object) -> None:
        """The end of its input is the polite way; some hang on SIGTERM, so the last is not polite."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                stream.close()
        if self.status() is None:
            self._process.terminate()
        if self.status() is None:
            self._process.kill()
            self._process.wait()


def _enlarge_pipe(fd: int) -> None:
    """Fewer wake-ups for an agent that prints a gigabyte; where it is not allowed, the default will do."""
    import fcntl

    try:
        fcntl.fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE)
    except OSError:
        return


def _kill_orphans() -> None:
    """Whatever became our child because its own parent died, with all below it, until none is left.

    One thread at a time: of two that find the same orphan the second would wait for, or kill, somebody else.
    """
    from holdfast.system import supervisor

    deadline = time.monotonic() + supervisor.PROOF_DEADLINE
    with _BURYING:
        while (orphans := _orphans()) and time.monotonic() < deadline:
            for pid in orphans:
                supervisor.kill_below(pid)
                os.waitpid(pid, 0)


def _orphans() -> list[int]:
    from holdfast.system import supervisor

    with _STARTING:
        children = [pid for pid, parent, _ in supervisor.process_table() if parent == os.getpid()]
        return [pid for pid in children if pid not in _own]


def become_subreaper() -> None:
    """Orphans of a supervisor that was itself killed become our children, where we can find them."""
    if sys.platform == "linux":
        import ctypes

        from holdfast.system import supervisor

        ctypes.CDLL(None).prctl(supervisor.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
