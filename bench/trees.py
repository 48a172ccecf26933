"""What a working tree of the run's own costs: made once, and given to the next task."""

import os
import shutil
from collections.abc import Iterator

from bench.figures import Figure, at_most, milliseconds
from bench.runs import PLAN, plan_text
from bench.scratch import HOLDFAST, Bench, Repo, make_repo

TARGET = 1.5


def measure(bench: Bench) -> Iterator[Figure]:
    files = 5_000 if bench.quick else 50_000
    repo = make_repo(bench, f"trees-{files}", files)
    repo.write(PLAN, plan_text(1))
    repo.commit("Set the plan")
    bare, made, found = [], [], []
    for number in range(2 if bench.quick else 3):
        bare.append(_worktree_add(repo, number))
        made.append(_set_up(repo))
        found.append(_set_up(repo))
        _remove(repo)
    floor = milliseconds(bare)
    what = f"a tree of its own, made, {files:,} files"
    yield Figure(what, milliseconds(made), floor, f"<= {TARGET} x", at_most(TARGET))
    yield Figure(f"  found again, {files:,} files", milliseconds(found), floor, "", at_most(1.0))


def _worktree_add(repo: Repo, number: int) -> float:
    """The floor: git alone, flushed as ours is."""
    path = f"{repo.path}-bare-{number}"
    seconds = repo.timed("/bin/sh", "-c", f"git worktree add --quiet --detach '{path}' && sync -f '{path}'")
    repo.git("worktree", "remove", "--force", path)
    return seconds


def _set_up(repo: Repo) -> float:
    return repo.timed(HOLDFAST, "run", PLAN, "--worktree", "--setup-only", "--quiet")


def _remove(repo: Repo) -> None:
    repo.git("worktree", "remove", "--force", f"{repo.path}-worktrees/plan")
    repo.git("branch", "--quiet", "-D", "holdfast/plan")
    shutil.rmtree(os.path.join(repo.path, ".git", "holdfast"), ignore_errors=True)
    orders = repo.git("for-each-ref", "--format=delete %(refname)", "refs/holdfast")
    repo.git("update-ref", "--stdin", stdin=f"{orders}\n".encode() if orders else b"")
