"""Where we stand: the repository around the current directory, as git sees it."""

import os

from holdfast.errors import UsageError
from holdfast.system.process import capture


def repository_root() -> str:
    answer = capture(["git", "rev-parse", "--show-toplevel"], env={"LC_ALL": "C"})
    if answer.code != 0:
        words = os.fsdecode(answer.err).strip().splitlines()
        raise UsageError(
            f"this directory is not in a git work tree ({words[0] if words else 'git gave no reason'})",
            fix="change to your project's directory, or make it a repository with `git init`",
        )
    return os.fsdecode(answer.out).rstrip("\n")
