"""What a restore would do to the tree that is there, worked out before any of it is done."""

import hashlib
import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.engine.raw_bytes import blob_ids
from holdfast.engine.rescue_read import Kept, Target
from holdfast.engine.rescue_sight import LINK, index_entries, mode_of
from holdfast.system.git import Git


class Plan(NamedTuple):
    write: tuple[Target, ...]
    remove: tuple[str, ...]
    """Files and links."""
    clear: tuple[str, ...]
    """Directories that stand where a file belongs."""
    make: tuple[str, ...]
    """Directories that were empty."""
    lost: tuple[str, ...]
    """Files among them whose present bytes neither HEAD nor the snapshot keeps."""


def make_plan(git: Git, kept: Kept) -> Plan:
    present = _Present(git, kept.work)
    clear = tuple(path for path in kept.work if present.is_directory(path))
    in_the_way = {present.obstacle(path) for path in (*kept.work, *kept.note.empty_directories)} - {""}
    in_the_way |= {path for path in kept.note.empty_directories if present.is_file(path)}
    tracked = {entry.path: entry for entry in index_entries(git)}
    gone = (path for path in {*tracked, *kept.note.deleted} - kept.work.keys() if present.is_file(path))
    below = (path for directory in clear for path in present.files_below(directory))
    remove = {*in_the_way, *gone, *below}
    write = tuple(target for target in kept.work.values() if not present.holds(target))
    overwritten = {t.path for t in write if present.is_file(t.path) and not present.has_bytes(t)}
    safe = {path for path, entry in tracked.items() if entry.tag == "H"} - {*git.dirt().paths}
    lost = tuple(sorted((remove | overwritten) - safe))
    return Plan(write, tuple(sorted(remove)), clear, kept.note.empty_directories, lost)


class _Present:
    """The tree as it is now. No question is answered through a symbolic link."""

    def __init__(self, git: Git, targets: dict[str, Target]) -> None:
        self._root = git.root
        self._real: dict[str, bool] = {"": True}
        self._seen: dict[str, os.stat_result | None] = {}
        alike = [path for path, target in targets.items() if self._may_hold(target)]
        self._ids = dict(zip(alike, blob_ids(git, [f"{git.root}/{path}" for path in alike]), strict=True))

    def at(self, path: str) -> os.stat_result | None:
        if path not in self._seen:
            self._seen[path] = self._look(path) if self._is_real(os.path.dirname(path)) else None
        return self._seen[path]

    def is_directory(self, path: str) -> bool:
        info = self.at(path)
        return info is not None and stat.S_ISDIR(info.st_mode)

    def is_file(self, path: str) -> bool:
        """Or a link, or anything else that is not a directory."""
        info = self.at(path)
        return info is not None and not stat.S_ISDIR(info.st_mode)

    def obstacle(self, path: str) -> str:
        """What stands where one of the path's directories belongs, else ""."""
        if self._is_real(os.path.dirname(path)):
            return ""
        while path := os.path.dirname(path):
            if self.is_file(path):
                return path
        return ""

    def files_below(self, directory: str) -> Iterator[str]:
        for here, directories, names in os.walk(os.path.join(self._root, directory)):
            links = (name for name in directories if os.path.islink(os.path.join(here, name)))
            yield from (os.path.relpath(os.path.join(here, name), self._root) for name in (*names, *links))

    def holds(self, target: Target) -> bool:
        info = self.at(target.path)
        if info is None or stat.S_ISDIR(info.st_mode) or mode_of(info) != target.mode:
            return False
        wanted = target.permissions
        return (wanted is None or stat.S_IMODE(info.st_mode) == wanted) and self.has_bytes(target)

    def has_bytes(self, target: Target) -> bool:
        info = self.at(target.path)
        if info is not None and stat.S_ISLNK(info.st_mode) and target.mode == LINK:
            return _link_id(os.path.join(self._root, target.path), target) == target.blob
        return self._ids.get(target.path) == target.blob

    def _may_hold(self, target: Target) -> bool:
        """A regular file of the right size. One that may not be read is taken for another one."""
        info = self.at(target.path)
        if info is None or not stat.S_ISREG(info.st_mode) or target.mode == LINK:
            return False
        return info.st_size == target.size and os.access(os.path.join(self._root, target.path), os.R_OK)

    def _look(self, path: str) -> os.stat_result | None:
        try:
            return os.lstat(os.path.join(self._root, path))
        except FileNotFoundError:
            return None

    def _is_real(self, directory: str) -> bool:
        if directory not in self._real:
            parts = directory.split("/")
            for end in range(1, len(parts) + 1):
                here, parent = "/".join(parts[:end]), "/".join(parts[: end - 1])
                full = os.path.join(self._root, here)
                self._real[here] = self._real[parent] and os.path.isdir(full) and not os.path.islink(full)
        return self._real[directory]


def _link_id(path: str, target: Target) -> str:
    text = os.fsencode(os.readlink(path))
    algorithm = hashlib.sha1 if len(target.blob) == 40 else hashlib.sha256
    return algorithm(b"blob %d\0" % len(text) + text).hexdigest()
