"""How a ref got where it is: the newest move first, and no further back than anybody would have to look.

Read as a file where there is one: git itself shows where a ref was moved to and not from where, and after a
power cut the entry before may be missing, with as many zero bytes in its place as it had letters.
"""

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.system import files
from holdfast.system.git import Git

MOST = 200
_LINE = re.compile(r"(?P<old>[0-9a-f]{40,64}) (?P<new>[0-9a-f]{40,64}) [^\t]*(?:\t(?P<action>.*))?")


class Move(NamedTuple):
    old: str
    """"" where git does not tell."""
    new: str
    action: str


def moves(git: Git, ref: str) -> Iterator[Move]:
    """HEAD has one in each working tree."""
    data = files.read_if_there(os.path.join(git.git_dir if ref == "HEAD" else git.common_dir, "logs", ref))
    return _as_git_tells(git, ref) if data is None else entries(data)


def entries(data: bytes) -> Iterator[Move]:
    """Those of a reflog's file, the last first."""
    for line in reversed(data.split(b"\n")[-MOST:]):
        found = _LINE.fullmatch(line.lstrip(b"\0").decode("utf-8", "replace"))
        if found:
            yield Move(found["old"], found["new"], found["action"] or "")


def _as_git_tells(git: Git, ref: str) -> Iterator[Move]:
    listing = git.text("reflog", "show", "--format=%H %gs", "-n", str(MOST), ref, "--", expect=(0, 128))
    for row in listing.splitlines():
        new, _, action = row.partition(" ")
        yield Move("", new, action)
