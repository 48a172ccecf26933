"""The promise, checked from outside: only git, the process table and a ledger the test agent writes.

Nothing of the product is imported here.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

from scratch import Repo

AGENT = """\
echo "start $HOLDFAST_TASK_ID" >> "$LEDGER"
echo "work of $HOLDFAST_TASK_ID" > "work-$HOLDFAST_TASK_ID.txt"
mkdir -p shared && echo "$HOLDFAST_TASK_ID" > "shared/$HOLDFAST_TASK_ID"
echo "end $HOLDFAST_TASK_ID" >> "$LEDGER"
echo "<SUCCESS>task implemented</SUCCESS>"
"""
"""Writes two files per task and says in a ledger outside the repository when it starts and ends."""


def files_of(task: str) -> set[str]:
    return {f"work-{task}.txt", f"shared/{task}"}


class Expectation(NamedTuple):
    plan: str
    tasks: tuple[str, ...]
    base: str
    """The commit the run started from."""
    ledger: Path


def broken_invariants(repo: Repo, expected: Expectation) -> list[str]:
    """Every broken promise as a sentence; empty is good."""
    problems: list[str] = []
    commits = repo.git("rev-list", "--reverse", f"{expected.base}..HEAD").split()
    owners = [_trailer(repo, commit, "Holdfast-Task") for commit in commits]
    problems += _one_commit_each(owners, expected)
    for commit, task in zip(commits, owners, strict=True):
        problems += _commit_holds_its_task_alone(repo, commit, task, expected.plan)
    problems += _sound(repo)
    problems += _nothing_left(repo)
    return problems


def frozen(repo: Repo) -> dict[str, object]:
    """What one more rerun must not change: refs, tree and the index to the byte."""
    tree = {
        str(p.relative_to(repo.path)): p.read_bytes()
        for p in sorted(repo.path.rglob("*"))
        if p.is_file() and ".git" not in p.relative_to(repo.path).parts
    }
    return {
        "refs": repo.git("for-each-ref"),
        "head": (repo.path / ".git/HEAD").read_text(),
        "index": (repo.path / ".git/index").read_bytes(),
        "tree": tree,
        "config": (repo.path / ".git/config").read_bytes(),
    }


def processes_marked_with(text: str) -> list[int]:
    """Processes whose environment contains the text."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            environment = Path(f"/proc/{name}/environ").read_bytes()
        except OSError:
            continue
        if text.encode() in environment:
            found.append(int(name))
    return found


def _trailer(repo: Repo, commit: str, name: str) -> str:
    return repo.git("log", "-1", f"--format=%(trailers:key={name},valueonly,separator=%x2C)", commit).strip()


def _one_commit_each(owners: list[str], expected: Expectation) -> list[str]:
    if owners == list(expected.tasks):
        return []
    return [f"I1: commits for tasks {owners}, expected {list(expected.tasks)}"]


def _commit_holds_its_task_alone(repo: Repo, commit: str, task: str, plan: str) -> list[str]:
    changed = set(repo.git("diff-tree", "--no-commit-id", "--name-only", "-r", "-z", commit).split("\0")) - {
        ""
    }
    problems = []
    if changed != {plan, *files_of(task)}:
        problems.append(f"I2: the commit of {task} changes {sorted(changed)}")
    before, after = (_ticks(repo.git("show", f"{rev}:{plan}")) for rev in (f"{commit}^", commit))
    if len(after) - len(before) != 1 or not before < after:
        problems.append(f"I2: the commit of {task} changes the marks {before ^ after}")
    return problems


def _ticks(plan: str) -> set[int]:
    return {n for n, line in enumerate(plan.splitlines()) if re.match(r"- \[x\]", line)}


def _sound(repo: Repo) -> list[str]:
    problems = []
    fsck = repo.git("fsck", "--strict", "--no-dangling")
    if fsck:
        problems.append(f"I7: fsck says {fsck}")
    status = repo.git("status", "--porcelain", "--untracked-files=all")
    if status:
        problems.append(f"I7: the tree is not clean: {status}")
    locks = [str(p) for p in (repo.path / ".git").rglob("*.lock")]
    if locks:
        problems.append(f"I7: lock files left: {locks}")
    return problems


def _nothing_left(repo: Repo) -> list[str]:
    helpers = repo.git("for-each-ref", "refs/holdfast/base", "refs/holdfast/candidate")
    record = list((repo.path / ".git/holdfast").rglob("in-flight.json"))
    return [f"helpers left: {helpers or record}"] if helpers or record else []


def agent_starts(ledger: Path) -> dict[str, int]:
    counts: dict[str, int] = {}
    if ledger.exists():
        for line in ledger.read_text().splitlines():
            word, task = line.split()
            counts[task] = counts.get(task, 0) + (word == "start")
    return counts
