"""The linked working trees of a repository, read from its files: `status` has no time for a call of git."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.system import files
from holdfast.system.files import read_if_there
from holdfast.system.git import Git
from holdfast.system.lock import exclusive
from holdfast.workspaces.base import state_directory

INITIALIZING = b"initializing\n"
TO_REPOSITORY = b"../..\n"


class Tree(NamedTuple):
    admin: str
    """Its directory below `worktrees/` in the common directory."""
    root: str
    """Where it is said to be; "" when its files do not tell."""
    branch: str
    """Full ref name of what is checked out there; "" when HEAD is detached or cannot be read."""

    @property
    def there(self) -> bool:
        """Can be worked in: the directory exists and leads back to the repository, and git has made all of
        it. Until then git keeps it locked, with a HEAD that leads nowhere."""
        if read_if_there(os.path.join(self.admin, "locked")) == INITIALIZING or not self._has_head():
            return False
        link = read_if_there(os.path.join(self.root, ".git")) if self.root else None
        leads_to = os.fsdecode(link or b"").removeprefix("gitdir:").strip()
        return bool(leads_to) and os.path.realpath(leads_to) == os.path.realpath(self.admin)

    def _has_head(self) -> bool:
        head = os.fsdecode(read_if_there(os.path.join(self.admin, "HEAD")) or b"").strip()
        return bool(head.strip("0")) and os.path.exists(os.path.join(self.admin, "commondir"))

    def git(self, common_dir: str) -> Git:
        return Git(self.root, self.admin, common_dir)


def linked_trees(common_dir: str) -> Iterator[Tree]:
    home = os.path.join(common_dir, "worktrees")
    names = sorted(os.listdir(home)) if os.path.isdir(home) else []
    return (_tree(os.path.join(home, name)) for name in names)


def making(git: Git) -> str:
    """Two runs must not make the same tree: one waits for the other, then finds it made."""
    directory = os.path.join(state_directory(git), "trees")
    files.make_directory(directory)
    return directory


def mend_torn(git: Git) -> None:
    """While one tree's note of where its repository is has no content, as a death of git or of the power may
    leave it, most git calls fail everywhere. There is only one thing that it can say."""
    notes = [os.path.join(tree.admin, "commondir") for tree in linked_trees(git.common_dir)]
    torn = [note for note in notes if read_if_there(note) == b""]
    if torn:
        with exclusive(making(git)):
            for note in torn:
                files.write_durably(note, TO_REPOSITORY, fault="tree.note")


def tree_on(common_dir: str, branch: str) -> Tree | None:
    """The linked tree that has the branch checked out; one that is there before one that is gone."""
    found = [tree for tree in linked_trees(common_dir) if tree.branch == branch]
    return next((tree for tree in found if tree.there), found[0] if found else None)


def main_branch(common_dir: str) -> str:
    """What the main working tree has checked out; "" when HEAD is detached."""
    return _branch(os.path.join(common_dir, "HEAD"))


def _tree(admin: str) -> Tree:
    link = os.fsdecode(read_if_there(os.path.join(admin, "gitdir")) or b"").strip()
    root = os.path.dirname(os.path.normpath(os.path.join(admin, link))) if link else ""
    return Tree(admin, root, _branch(os.path.join(admin, "HEAD")))


def _branch(head: str) -> str:
    text = os.fsdecode(read_if_there(head) or b"").strip()
    return text.removeprefix("ref:").strip() if text.startswith("ref:") else ""
