"""Every error a user can meet, each with its one exit code.

A message says what was being done, what was found, and (in `fix`) the next thing to type.
"""

import errno
import os


class HoldfastError(Exception):
    exit_code = 1

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix


class TaskFailure(HoldfastError):
    """A task used up its attempts, or a gate, a hook or the signature refused it."""

    exit_code = 1


class GivenUp(TaskFailure):
    """A task used up its attempts; others may still be done."""

    def __init__(self, message: str, *, reason: str, fix: str = "") -> None:
        super().__init__(message, fix=fix)
        self.reason = reason


class UsageError(HoldfastError):
    """Bad arguments, bad configuration, or a place where Holdfast cannot work."""

    exit_code = 2


class PlanError(UsageError):
    """A plan that does not parse. `line` is 1-based; 0 means the file as a whole."""

    def __init__(self, path: str, line: int, message: str, *, fix: str = "") -> None:
        where = f"{path}:{line}" if line else path
        super().__init__(f"{where}: {message}", fix=fix)
        self.path = path
        self.line = line


class ConfigError(UsageError):
    """A configuration file or variable that says something Holdfast does not understand."""


class Refused(HoldfastError):
    """The workspace is not safe to touch."""

    exit_code = 3


class WaitingForSomeone(HoldfastError):
    """CI, an approval or a clarification has to come from outside."""

    exit_code = 4


class LimitReached(HoldfastError):
    """A cost cap, or a usage limit beyond the allowed wait."""

    exit_code = 5


class AgentUnavailable(HoldfastError):
    """The agent is not installed or not logged in."""

    exit_code = 69


class LockHeld(HoldfastError):
    """Another run holds this repository."""

    exit_code = 75


class Interrupted(HoldfastError):
    """A signal asked us to stop; the state is saved."""

    exit_code = 130

    def __init__(self, message: str, *, signal_number: int = 2, fix: str = "") -> None:
        super().__init__(message, fix=fix)
        self.exit_code = 128 + signal_number


class MachineTrouble(HoldfastError):
    """A full disk, a missing permission: nothing that the plan, the agent or this program could mend."""


class GitError(HoldfastError):
    """A git call that should have worked did not."""

    def __init__(self, message: str, *, stderr: str = "", fix: str = "") -> None:
        super().__init__(message, fix=fix)
        self.stderr = stderr

    @property
    def is_the_disks(self) -> bool:
        """git's own words are all there is to tell it by."""
        return any(os.strerror(number) in self.stderr for number in _OF_THE_DISK)


AGAIN = "then run the same command again: it goes on from here"
_OF_THE_DISK = {
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room in your quota",
    errno.EIO: "see to the disk (dmesg may tell more)",
    errno.EROFS: "make the file system writable",
}
_REMEDIES = _OF_THE_DISK | {
    errno.EACCES: "make it writable for yourself",
    errno.EPERM: "make it writable for yourself",
    errno.EMFILE: "allow more open files (ulimit -n)",
    errno.ENFILE: "close other programs: the system has too many files open",
}


def machine_trouble(error: OSError) -> MachineTrouble | None:
    """None for an error that only a mistake in the program can have led to."""
    remedy = _REMEDIES.get(error.errno or 0)
    if remedy is None:
        return None
    where = f": {error.filename}" if error.filename else ""
    return MachineTrouble(f"a file operation failed: {error.strerror}{where}", fix=f"{remedy}, {AGAIN}")
