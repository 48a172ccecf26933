"""Somebody at a terminal: a program started there, what it shows, and the keys that are pressed."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping
from pathlib import Path

PATIENCE = 60.0
ROWS, COLUMNS = 40, 120


class Typist:
    """Leaving the `with` block closes the terminal, which hangs up on whatever is left in it."""

    def __init__(self, argv: tuple[str, ...], cwd: Path, env: Mapping[str, str]) -> None:
        self.pid, self._screen = pty.fork()
        if not self.pid:
            os.chdir(cwd)
            os.execvpe(argv[0], argv, {**env, "TERM": "xterm"})
        fcntl.ioctl(self._screen, termios.TIOCSWINSZ, struct.pack("4H", ROWS, COLUMNS, 0, 0))
        self.seen = b""

    def press(self, keys: str) -> None:
        os.write(self._screen, keys.encode())

    def sees(self, text: str) -> None:
        """Waits for it; what stood there before does not count the next time."""
        while text.encode() not in self.seen:
            assert self._look(), f"it ended without showing {text!r}: {self.seen!r}"
        self.seen = self.seen.partition(text.encode())[2]

    def leaves_by(self, key: str) -> tuple[int, str]:
        """Pressed again and again until it ends: some ask back, or are busy."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            self.press(key)
            while select.select([self._screen], [], [], 0.5)[0]:
                if not self._look():
                    return self.sees_the_end()
        raise AssertionError(f"it does not end: {self.seen!r}")

    def sees_the_end(self) -> tuple[int, str]:
        """Exit code (negative: a signal), and what was shown since."""
        while self._look():
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]), self.seen.decode("utf-8", "replace")

    def _look(self) -> bool:
        deadline = time.monotonic() + PATIENCE
        ready = select.select([self._screen], [], [], max(0.0, deadline - time.monotonic()))[0]
        assert ready, f"nothing more within {PATIENCE:g} s: {self.seen!r}"
        try:
            shown = os.read(self._screen, 65536)
        except OSError:  # how Linux says that nobody has the terminal open any more
            return False
        self.seen += shown
        return bool(shown)

    def __enter__(self) -> "Typist":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._screen)
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            return
