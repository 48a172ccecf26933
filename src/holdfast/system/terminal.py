"""Our terminal while a program of ours has it, and how it comes back."""

import os
import signal
import time

# Ends what a program may have left switched on: another screen, a hidden cursor, reports of the mouse, of
# focus, of pasting and of keys.
_QUIET = b"\x1b[?1047l\x1b[?25h\x1b[?1000;1002;1003;1004;1006;2004l\x1b[<u\x1b[0m"


def has_terminal() -> bool:
    """Whether there is one that we may hand on: we must be in its foreground."""
    try:
        fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return all(map(os.isatty, (0, 1))) and os.tcgetpgrp(fd) == os.getpgrp()
    finally:
        os.close(fd)


class Terminal:
    """As it is now, to be put back."""

    def __init__(self) -> None:
        import termios  # only a program with an interface of its own needs it

        self.fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
        self._modes = termios.tcgetattr(self.fd)

    def suspend_us(self) -> None:
        """The program was suspended, so we are, as a shell would expect; returns in the foreground."""
        self._restore()
        os.killpg(0, signal.SIGTSTP)
        while self._in_background():
            os.killpg(0, signal.SIGTTIN)
            time.sleep(0.1)

    def take_back(self) -> None:
        """For good."""
        self._restore()
        os.close(self.fd)

    def _restore(self) -> None:
        import termios

        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        try:
            os.write(self.fd, _QUIET)
            os.tcsetpgrp(self.fd, os.getpgrp())
            termios.tcsetattr(self.fd, termios.TCSADRAIN, self._modes)
        except (OSError, termios.error):
            return  # it was closed under us
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _in_background(self) -> bool:
        try:
            return os.tcgetpgrp(self.fd) != os.getpgrp()
        except OSError:
            return False
