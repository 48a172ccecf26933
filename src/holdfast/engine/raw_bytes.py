"""Ids of files by their raw bytes, no filter applied: one call of git for all, whatever their names."""

import os
import re

from holdfast.system.git import Git

# Git reads a large file in pieces, and stores it as it is: compressing it would take most of the time.
_STREAMING = ("-c", "core.bigFileThreshold=8m", "-c", "core.compression=1", "-c", "pack.compression=0")


def blob_ids(git: Git, paths: list[str]) -> list[str]:
    return _hash(git, paths, "hash-object")


def store(git: Git, paths: list[str], *, durable: bool = True) -> list[str]:
    """Also keeps them. Not durable: somebody will flush the whole disk."""
    options = () if durable else ("-c", "core.fsync=none")
    return _hash(git, paths, *options, *_STREAMING, "hash-object", "-w")


def _hash(git: Git, paths: list[str], *command: str) -> list[str]:
    if not paths:
        return []
    listing = b"".join(b'"' + _quoted(os.fsencode(path)) + b'"\n' for path in paths)
    return git.run(*command, "--no-filters", "--stdin-paths", stdin=listing).decode("ascii").split()


def _quoted(path: bytes) -> bytes:
    return re.sub(rb"[^ !#-\[\]-~]", lambda match: b"\\%03o" % match[0][0], path)
