"""Finds and ends what a dead run left alive, by the token every agent, gate and hook has in its environment.

Only whoever holds the tree's lock may call this: then no living run can own such a process.
"""

import os
import signal
import time

from holdfast.errors import Refused

TOKEN_VARIABLE = "HOLDFAST_TOKEN"
PROOF_DEADLINE = 10.0


def end_leftovers(token_prefix: str) -> int:
    """Kill every process marked with a token of this tree, prove them dead, return how many there were."""
    ended: set[int] = set()
    deadline = time.monotonic() + PROOF_DEADLINE
    while alive := _marked(token_prefix):
        ended.update(alive)
        for pid in alive:
            _kill(pid)
        if time.monotonic() > deadline:
            raise Refused(
                f"processes of an earlier run do not die: {', '.join(map(str, sorted(alive)))}",
                fix="end them by hand (they may be waiting for a disk), then run again",
            )
        time.sleep(0.01)
    return len(ended)


def _marked(token_prefix: str) -> list[int]:
    if not os.path.isdir("/proc/self"):
        return _marked_by_ps(token_prefix)
    needle = f"\0{TOKEN_VARIABLE}={token_prefix}".encode()
    spared = _self_and_ancestors()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) in spared:
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as f:
                environment = f.read()
        except OSError:
            continue  # gone, a zombie, or another user's
        if needle in b"\0" + environment:
            found.append(int(name))
    return found


def _marked_by_ps(token_prefix: str) -> list[int]:
    """macOS shows the environment of the user's own processes to `ps -E`."""
    from holdfast.system.process import capture

    listing = capture(["ps", "-axwwE", "-o", "pid=,command="]).out.decode("utf-8", "replace")
    needle = f"{TOKEN_VARIABLE}={token_prefix}"
    return [int(row.split()[0]) for row in listing.splitlines() if needle in row]


def _self_and_ancestors() -> set[int]:
    """An agent of one run may itself start a run: its ancestors are not leftovers."""
    spared = {os.getpid()}
    pid = os.getppid()
    while pid > 1 and pid not in spared:
        spared.add(pid)
        try:
            with open(f"/proc/{pid}/stat", "rb") as f:
                pid = int(f.read().rpartition(b")")[2].split()[1])
        except OSError:
            break
    return spared


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
