"""A merge, rebase, cherry-pick, revert, am or bisect under way, as it lies in the git directory."""

import os
import re
from collections.abc import Iterable

from holdfast.system.git import Git

MARKERS = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase or am",
    "BISECT_LOG": "bisect",
    "BISECT_START": "bisect",
    "sequencer": "cherry-pick or revert",
}
NAMES = frozenset(
    (
        *MARKERS,
        *[
            "MERGE_MODE",
            "MERGE_MSG",
            "MERGE_RR",
            "MERGE_AUTOSTASH",
            "SQUASH_MSG",
            "AUTO_MERGE",
            "REBASE_HEAD",
        ],
    )
)
KEPT_WHEN_GONE = ("ORIG_HEAD", "sharedindex.")
"""Kept with the rest, but a restore of a state that had none leaves those that are there alone."""
REFS = ("refs/bisect/", "refs/rewritten/")

LARGEST_READ = 1 << 20
_ID = re.compile(rb"\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b")


def belongs(name: str) -> bool:
    """Whether a file of the git directory, by its path there, is part of this state."""
    first = name.split("/", 1)[0]
    return first in NAMES or first.startswith("BISECT_") or name.startswith(KEPT_WHEN_GONE)


def operation(git_dir: str) -> str:
    return next((what for name, what in MARKERS.items() if os.path.lexists(os.path.join(git_dir, name))), "")


def state_files(git_dir: str) -> tuple[str, ...]:
    """Paths below the git directory."""
    tops = sorted(filter(belongs, os.listdir(git_dir)))
    return tuple(
        os.path.relpath(path, git_dir) for top in tops for path in _below(os.path.join(git_dir, top))
    )


def state_refs(git: Git) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(git.refs(*REFS).items()))


def named_objects(git_dir: str, names: Iterable[str]) -> tuple[str, ...]:
    """Everything in these files that looks like the id of an object."""
    found: dict[str, None] = {}
    for name in names:
        if name.startswith("sharedindex."):
            continue
        with open(os.path.join(git_dir, name), "rb") as f:
            text = f.read(LARGEST_READ)
        found |= dict.fromkeys(match.decode("ascii") for match in _ID.findall(text))
    return tuple(found)


def _below(path: str) -> list[str]:
    if not os.path.isdir(path):
        return [path]
    return [os.path.join(here, name) for here, _, names in os.walk(path) for name in sorted(names)]
