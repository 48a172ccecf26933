"""What the branch and the working tree of a plan are called. The same plan always gets the same names."""

import os
from binascii import crc32

from holdfast.workspaces.base import Wanted
from holdfast.workspaces.trees import linked_trees

HEADS = "refs/heads/"


def wanted_tree(common_dir: str, plan_name: str, template: str, home: str) -> Wanted:
    name = safe_name(plan_name)
    branch = HEADS + template.replace("{name}", name).removeprefix(HEADS)
    return Wanted(branch, _free_directory(common_dir, home or home_of_trees(common_dir), name, branch))


def home_of_trees(common_dir: str) -> str:
    """Beside the repository, never in the system's temporary directory."""
    root = os.path.dirname(common_dir) if os.path.basename(common_dir) == ".git" else common_dir
    return f"{root.removesuffix('.git')}-worktrees"


def safe_name(text: str) -> str:
    """Fit for a branch and for a directory."""
    kept = "".join(c if c.isalnum() or c in "-_." else "-" for c in text)
    while ".." in kept:
        kept = kept.replace("..", ".")
    return kept.removesuffix(".lock").strip("-.")[:80] or "plan"


def _free_directory(common_dir: str, home: str, name: str, branch: str) -> str:
    """Two plans of one name on two branches must not meet in one directory."""
    plain = os.path.join(home, name)
    taken = any(tree.root == plain and tree.branch not in ("", branch) for tree in linked_trees(common_dir))
    return f"{plain}-{crc32(os.fsencode(branch)):08x}" if taken else plain
