"""The program behind the scripted agent: `python -m holdfast.agents.scripted_player SCRIPT`.

It is an agent and not a part of the runner, so it prints and exits by itself. Exit status: 0 played to the
end, 1 an action did not work, 2 the script is wrong or says nothing about the task.
"""

import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from signal import SIG_DFL, SIG_IGN, SIGINT, SIGKILL, SIGPIPE, SIGSTOP, Signals, signal
from typing import BinaryIO

from holdfast.agents.script import (
    Action,
    Complain,
    Delete,
    Exit,
    Hang,
    IgnoreSignal,
    KillSelf,
    Mkdir,
    Part,
    Run,
    Say,
    SignalFile,
    Sleep,
    WaitForFile,
    Write,
)
from holdfast.agents.script_file import load_script
from holdfast.agents.tags import MESSAGE_KEYWORD
from holdfast.errors import HoldfastError, UsageError

Fill = Callable[[str], str]

HANG_SECONDS = 24 * 3600.0
"""Longer than any timeout, yet no process is left behind for good when nobody ends it."""

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def main(argv: list[str], environ: Mapping[str, str]) -> int:
    for number in (SIGINT, SIGPIPE):
        signal(number, SIG_DFL)  # die quietly, like any program, and let started programs do the same
    try:
        return _play(argv, environ)
    except HoldfastError as error:
        _print(sys.stderr.buffer, f"scripted agent: {error.message} {error.fix}".rstrip())
        return error.exit_code
    except (OSError, ValueError) as error:
        _print(sys.stderr.buffer, f"scripted agent: {error}")
        return 1


class ActionFailed(HoldfastError):
    """Something the script asked for did not work."""


def _play(argv: list[str], environ: Mapping[str, str]) -> int:
    if len(argv) != 2 or not environ.get("HOLDFAST_TASK_ID"):
        raise UsageError("needs one script as its argument, and HOLDFAST_TASK_ID in its environment")
    task_id, attempt = environ["HOLDFAST_TASK_ID"], environ.get("HOLDFAST_ATTEMPT", "1")
    part = load_script(argv[1]).part(task_id, int(attempt) if attempt.isdecimal() else 1)
    title, here = environ.get("HOLDFAST_TASK_TITLE", ""), os.path.dirname(os.path.abspath(argv[1]))
    words = {"id": task_id, "title": title, "attempt": attempt, "here": here}
    _start(part, words)
    for turn in part.actions:
        for n in range(1, turn.repeat + 1):
            _perform(turn.action, _filler({**words, "n": str(n)}))
    _finish(part, _filler(words))
    return 0


def _start(part: Part, words: Mapping[str, str]) -> None:
    if not part.silent:
        _say("Reading the task and the code around it.")
        _say(f"Working on {words['id']}: {words['title']} (attempt {words['attempt']}).")


def _finish(part: Part, fill: Fill) -> None:
    if part.message:
        _say(f"{MESSAGE_KEYWORD} {fill(part.message)}")
    if part.failure:
        _say(f"<FAILURE>{fill(part.failure)}</FAILURE>")
    elif part.tag and not part.silent:
        _say(f"<SUCCESS>{fill(part.success)}</SUCCESS>")


def _filler(words: Mapping[str, str]) -> Fill:
    """In one pass, so that braces inside a title stay as they are."""
    return lambda text: _PLACEHOLDER.sub(lambda found: words.get(found[1], found[0]), text)


def _perform(action: Action, fill: Fill) -> None:
    """A dispatch as long as there are verbs; each case is one call."""
    match action:
        case Write(path, text, append):
            _write(fill(path), fill(text), "ab" if append else "wb")
        case Delete(path):
            _delete(fill(path))
        case Mkdir(path):
            os.makedirs(fill(path), exist_ok=True)
        case Say(text):
            _say(fill(text))
        case Complain(text):
            _print(sys.stderr.buffer, fill(text))
        case Sleep(seconds):
            time.sleep(seconds)
        case Run(argv, may_fail):
            _run([fill(word) for word in argv], may_fail)
        case SignalFile(path):
            _write(fill(path), "", "ab")
        case WaitForFile(path, timeout):
            _wait_for(fill(path), timeout)
        case IgnoreSignal(number):
            signal(number, SIG_IGN)
        case KillSelf(number):
            _kill_self(number)
        case Exit(code):
            sys.exit(code)
        case Hang(forever):
            time.sleep(HANG_SECONDS if forever else 0)


def _write(path: str, text: str, mode: str) -> None:
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, mode) as file:
        file.write(text.encode("utf-8", "surrogateescape"))


def _delete(path: str) -> None:
    from shutil import rmtree  # slow to load for a program that starts once per attempt

    if os.path.isdir(path) and not os.path.islink(path):
        rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)


def _run(argv: list[str], may_fail: bool) -> None:
    """A child of the agent's own: found and ended with the agent's tree, by whoever supervises that."""
    status = os.spawnvp(os.P_WAIT, argv[0], argv)
    if status and not may_fail:
        raise ActionFailed(f"{argv} ended with status {status}")


def _wait_for(path: str, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while not os.path.lexists(path):
        if time.monotonic() > deadline:
            raise ActionFailed(f"{path} did not appear within {timeout:g} s")
        time.sleep(0.01)


def _kill_self(number: Signals) -> None:
    if number not in (SIGKILL, SIGSTOP):
        signal(number, SIG_DFL)
    os.kill(os.getpid(), number)


def _say(text: str) -> None:
    _print(sys.stdout.buffer, text)


def _print(stream: BinaryIO, text: str) -> None:
    """Bytes, because the locale must not decide what a script can say; at once, because we may be killed."""
    stream.write(text.encode("utf-8", "surrogateescape") + b"\n")
    stream.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv, os.environ))
