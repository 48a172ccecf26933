"""A task's commit carried onto another tip: the three-way merge, computed in objects alone.

The files of the plan are left out of it: what they say at the tip counts, and the task's mark is added when
the commit is made. So two tasks whose marks stand side by side do not meet in a conflict.
"""

import os
from typing import NamedTuple

from holdfast.engine.place import PlanPlace
from holdfast.engine.source import kept_files
from holdfast.system.git import Git

GONE = ("0", "0" * 40)


class Merged(NamedTuple):
    tree: str
    """With conflict markers in the files that conflict."""
    conflicts: tuple[str, ...]
    words: str
    """What git says about them."""


def merged_onto(git: Git, place: PlanPlace, commit: str, tip: str, scratch: str) -> Merged:
    """What `commit` changes, on top of `tip`. `scratch` is a file that may be written."""
    plan = {path: git.entry(tip, path) or GONE for path in kept_files(place)}
    base = _commit(git, _with_entries(git, f"{commit}^", plan, scratch))
    theirs = _commit(git, _with_entries(git, commit, plan, scratch), base)
    ours = _commit(git, f"{tip}^{{tree}}", base)
    code, out = git.answer("merge-tree", "--write-tree", "--name-only", "-z", ours, theirs, expect=(0, 1))
    tree, *rest = os.fsdecode(out).split("\0")
    names = rest[: rest.index("")] if code and "" in rest else []
    return Merged(tree, tuple(dict.fromkeys(names)), _said(rest[len(names) + 1 :]) if code else "")


def _with_entries(git: Git, commit: str, entries: dict[str, tuple[str, str]], index: str) -> str:
    """The tree of a commit with the plan's files as they are to be."""
    git.run("read-tree", f"--index-output={index}", commit, index=index)
    git.set_entries(index, [(mode, blob, path) for path, (mode, blob) in entries.items()])
    tree = git.write_tree(index)
    os.unlink(index)
    return tree


def _commit(git: Git, tree: str, *parents: str) -> str:
    """Nobody will ever see it: merge-tree wants commits, to find what they have in common."""
    words = [word for parent in parents for word in ("-p", parent)]
    return git.run("commit-tree", tree, *words, stdin=b"for a merge\n").decode("ascii").strip()


def _said(fields: list[str]) -> str:
    """Of git's records only the sentences that name a conflict."""
    return "\n".join(field.strip() for field in fields if field.startswith("CONFLICT"))
