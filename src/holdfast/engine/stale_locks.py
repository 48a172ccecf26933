"""Lock files of git calls that were killed: nobody will finish those, and git waits for them for ever."""

import contextlib
import os
from collections.abc import Iterable

from holdfast.system import clock, files
from holdfast.system.git import Git

PATIENCE = 2.0


def move_aside(paths: Iterable[str], tree_state: str) -> list[str]:
    """Those that are still there after a while go below `tree_state`; returns what was done."""
    moved = []
    for path in still_there(paths):
        aside = os.path.join(tree_state, "stale-locks", f"{os.path.basename(path)}.{clock.stamp()}")
        files.make_directory(os.path.dirname(aside))
        with contextlib.suppress(FileNotFoundError):  # it was alive after all, and is gone by itself
            os.replace(path, aside)
            moved.append(f"a lock file was left behind; moved {path} to {aside}")
    return moved


def still_there(paths: Iterable[str]) -> list[str]:
    """Those that do not vanish by themselves within a moment; one that is made anew meanwhile is alive."""
    known = {path: file for path in paths if (file := _file(path))}
    deadline = clock.monotonic() + PATIENCE
    while known and clock.monotonic() < deadline:
        clock.sleep(0.05)
        known = {path: file for path, file in known.items() if _file(path) == file}
    return list(known)


def locks_below(git: Git, refs: str) -> list[str]:
    """On refs whose names begin like this."""
    below = os.path.join(git.common_dir, refs)
    return [os.path.join(d, n) for d, _, names in os.walk(below) for n in names if n.endswith(".lock")]


def locks_of_run(git: Git, run: str, *refs: str) -> list[str]:
    """On helpers and rescues of a run and on these refs; with one of them there, on git's packed refs too."""
    own = [path for path in locks_below(git, "refs/holdfast") if f"/{run}" in path]
    own += [path for ref in refs if os.path.exists(path := os.path.join(git.common_dir, f"{ref}.lock"))]
    return [*own, packed_refs_lock(git)] if own else []


def packed_refs_lock(git: Git) -> str:
    """Git holds it while it deletes a ref, and lets go of it last."""
    return os.path.join(git.common_dir, "packed-refs.lock")


def _file(path: str) -> tuple[int, int] | None:
    """Which file this is: the number alone is soon given to another."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns
