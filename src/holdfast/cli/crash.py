"""A crash becomes a file that is already a bug report."""

import os
import platform
import shlex
import sys
import tempfile
import time
import traceback

from holdfast import __version__
from holdfast.errors import HoldfastError
from holdfast.system.process import capture
from holdfast.system.redact import Secrets


def write_report(error: Exception, words: list[str]) -> str:
    """Where the report lies: the repository's state directory if it has one, else the temporary directory."""
    text = Secrets.of(os.environ).redacted(_report(error, words)).encode("utf-8", "backslashreplace")
    for directory in (_state_directory(), tempfile.gettempdir()):
        try:
            handle, path = tempfile.mkstemp(prefix="holdfast-crash-", suffix=".txt", dir=directory)
        except OSError:  # not there or not writable: the next place will do
            continue
        with os.fdopen(handle, "wb") as file:
            file.write(text)
        return path
    return "none could be written: neither the state directory nor the temporary directory is writable"


def _report(error: Exception, words: list[str]) -> str:
    facts = {
        "holdfast": __version__,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "python": sys.version.replace("\n", " "),
        "platform": platform.platform(),
        "git": _git("--version") or "not found",
        "command": shlex.join(["holdfast", *words]),
    }
    lines = [f"{name}: {value}" for name, value in facts.items()]
    return "\n".join([*lines, "", "".join(traceback.format_exception(error))])


def _state_directory() -> str:
    common = _git("rev-parse", "--path-format=absolute", "--git-common-dir")
    return os.path.join(common, "holdfast") if common else tempfile.gettempdir()


def _git(*words: str) -> str:
    """git's answer, "" when it has none: a report must never fail for want of a detail."""
    try:
        answer = capture(["git", *words], timeout=5.0)
    except (OSError, HoldfastError):
        return ""
    return os.fsdecode(answer.out).strip() if answer.code == 0 else ""
