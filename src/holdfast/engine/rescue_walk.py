"""Everything that lies in a working tree, found by looking rather than by asking git what it cares about.

What git ignores is kept up to limits; whatever is passed over is written down with the reason.
"""

import os
import stat
from typing import NamedTuple

from holdfast.engine.rescue_format import LeftOut
from holdfast.errors import Refused
from holdfast.system.git import Git

MIB = 1 << 20
LARGEST_IGNORED = MIB
ALL_IGNORED = 32 * MIB
MOST_IGNORED = 2000
NESTED_GIT_SIZE = 32 * MIB
NESTED_GIT_FILES = 5000

CACHES = frozenset(
    [
        "node_modules",
        "bower_components",
        ".venv",
        "venv",
        ".tox",
        ".nox",
        ".eggs",
        "site-packages",
        "__pycache__",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
        ".hypothesis",
        ".cache",
        ".parcel-cache",
        ".turbo",
        ".next",
        ".nuxt",
        ".gradle",
        ".terraform",
        ".dart_tool",
        "target",
        "Pods",
        "DerivedData",
        "elm-stuff",
    ]
)
"""Directories that a tool makes again from what is committed."""


class Disk(NamedTuple):
    files: dict[str, os.stat_result]
    """Regular files and symbolic links, by their path below the root."""
    empty: tuple[str, ...]
    left_out: tuple[LeftOut, ...]


class _Below(NamedTuple):
    path: str
    nested: bool
    """Inside a repository of its own, where our ignore rules say nothing."""


def walk(git: Git, ignored: frozenset[str], submodules: frozenset[str]) -> Disk:
    """`ignored`: files and directories git ignores. `submodules`: those that hold nothing of their own."""
    survey = _Survey(git, ignored, submodules)
    pending = [_Below("", False)]
    while pending:
        pending += survey.visit(pending.pop())
    survey.take_ignored()
    return Disk(survey.files, tuple(sorted(survey.empty)), tuple(sorted(survey.left_out)))


class _Survey:
    def __init__(self, git: Git, ignored: frozenset[str], submodules: frozenset[str]) -> None:
        self._root, self._own = git.root, {git.git_dir, git.common_dir}
        self._worktrees = os.path.join(git.common_dir, "worktrees")
        self._ignored, self._submodules = ignored, submodules
        self._ignored_here: list[str] = []
        self.files: dict[str, os.stat_result] = {}
        self.empty: list[str] = []
        self.left_out: list[LeftOut] = []

    def visit(self, here: _Below) -> list[_Below]:
        """Takes in the files of a directory; returns the directories to visit next."""
        entries = self._entries(here.path)
        if here.path and any(entry.name == ".git" for entry in entries):
            if self._is_our_worktree(here.path):
                self._leave_out(f"{here.path}/", "another working tree of this repository")
                return []
            here = here._replace(nested=True)
        if not entries and here.path:
            self.empty.append(here.path)
        return [below for entry in entries for below in self._sort(here, entry)]

    def _sort(self, here: _Below, entry: "os.DirEntry[str]") -> list[_Below]:
        path = f"{here.path}/{entry.name}" if here.path else entry.name
        if path in self._ignored:
            self._ignored_here.append(path)
        elif not entry.is_dir(follow_symlinks=False):
            self._take(path, entry.stat(follow_symlinks=False))
        elif path == ".git" or os.path.join(self._root, path) in self._own:
            return []
        elif path in self._submodules:
            self._leave_out(f"{path}/", "a submodule without changes: git submodule update brings it back")
        elif entry.name == ".git":
            self._take_nested_git(path)
        elif here.nested and entry.name in CACHES:
            self._leave_out(f"{path}/", "a cache or dependency directory in a nested repository")
        else:
            return [_Below(path, here.nested)]
        return []

    def _take(self, path: str, info: os.stat_result) -> None:
        if path == ".git":  # a linked working tree: it only names its git directory
            return
        if stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode):
            self.files[path] = info
        else:
            self._leave_out(path, "neither a file nor a symbolic link")

    def _is_our_worktree(self, path: str) -> bool:
        link = os.path.join(self._root, path, ".git")
        if not os.path.isfile(link):
            return False
        with open(link, "rb") as f:
            text = os.fsdecode(f.read(8192)).strip()
        return text.removeprefix("gitdir: ").startswith(f"{self._worktrees}{os.sep}")

    def _take_nested_git(self, path: str) -> None:
        """All of it or nothing: half a repository is none."""
        found: dict[str, os.stat_result] = {}
        empty: list[str] = []
        size = 0
        pending = [path]
        while pending:
            here = pending.pop()
            entries = self._entries(here)
            if not entries:
                empty.append(here)
            for entry in entries:
                below = f"{here}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    pending.append(below)
                    continue
                found[below] = info = entry.stat(follow_symlinks=False)
                size += info.st_size
                if size > NESTED_GIT_SIZE or len(found) > NESTED_GIT_FILES:
                    self._leave_out(f"{path}/", "the git directory of a nested repository, too large to keep")
                    return
        self.empty += empty
        for below, info in found.items():
            self._take(below, info)

    def take_ignored(self) -> None:
        room = ALL_IGNORED
        number = MOST_IGNORED
        pending = sorted(self._ignored_here, reverse=True)
        while pending:
            path = pending.pop()
            full = os.path.join(self._root, path)
            info = os.lstat(full)
            if stat.S_ISDIR(info.st_mode):
                pending += self._ignored_below(path, number)
            elif info.st_size > LARGEST_IGNORED:
                self._leave_out(path, "ignored by git and larger than 1 MiB")
            elif info.st_size > room or number == 0:
                self._leave_out(path, "ignored by git, and more of that than is kept")
            elif not stat.S_ISLNK(info.st_mode) and not os.access(full, os.R_OK):
                self._leave_out(path, "ignored by git, and it cannot be read")
            else:
                room -= info.st_size
                number -= 1
                self._take(path, info)

    def _ignored_below(self, path: str, number: int) -> list[str]:
        if os.path.basename(path) in CACHES:
            self._leave_out(f"{path}/", "a cache or dependency directory that git ignores")
            return []
        try:
            names = sorted(os.listdir(os.path.join(self._root, path)), reverse=True)
        except PermissionError:
            self._leave_out(f"{path}/", "ignored by git, and it cannot be read")
            return []
        if len(names) > number:
            self._leave_out(f"{path}/", "ignored by git, and more files than are kept")
            return []
        if not names:
            self.empty.append(path)
        return [f"{path}/{name}" for name in names]

    def _entries(self, directory: str) -> "list[os.DirEntry[str]]":
        try:
            with os.scandir(os.path.join(self._root, directory)) as entries:
                return list(entries)
        except PermissionError as error:
            raise unreadable(directory) from error

    def _leave_out(self, path: str, why: str) -> None:
        self.left_out.append(LeftOut(path, why))


def unreadable(path: str) -> Refused:
    """Rather stop than call a snapshot complete that is not."""
    return Refused(
        f"cannot keep {path} under rescue: it may not be read", fix=f"chmod u+rX '{path}', then run again"
    )
