"""The promise, checked from outside: only git, the process table and a ledger the test agent writes.

Nothing of the product is imported here. The numbers are those of docs/PROOF.md.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from scratch import Repo, run

AGENT = """\
test ! -e "$LEDGER" || while read -r word task head pid; do
  test "$word" = start && kill -0 "$pid" 2>/dev/null && grep -qs "$LEDGER" "/proc/$pid/environ" &&
  echo "overlap $HOLDFAST_TASK_ID $pid" >> "$LEDGER"
done < "$LEDGER"
echo "start $HOLDFAST_TASK_ID $(git rev-parse HEAD) $$" >> "$LEDGER"
echo "work of $HOLDFAST_TASK_ID" > "work-$HOLDFAST_TASK_ID.txt"
mkdir -p shared && echo "$HOLDFAST_TASK_ID by $$" >> "shared/$HOLDFAST_TASK_ID" &&
echo "wrote $HOLDFAST_TASK_ID by $$" >> "$LEDGER" || exit 1
echo "end $HOLDFAST_TASK_ID" >> "$LEDGER"
echo "<SUCCESS>task implemented</SUCCESS>"
"""
"""Writes two files per task, one of them with a line of its own for every start, and keeps a ledger outside
the repository: where HEAD was when it started, whether another agent was alive then, what it had written."""


BY_HAND = "By hand"


def files_of(task: str) -> set[str]:
    return {f"work-{task}.txt", f"shared/{task}"}


class Expectation(NamedTuple):
    plan: str
    tasks: tuple[str, ...]
    base: str
    """The commit the run started from."""
    ledger: Path
    belongings: Mapping[str, object] | None = None
    """What `belongings` said before the run, where that matters."""
    trailer: str = "Holdfast-Task"
    """What tells whose commit one is."""
    in_order: bool = True
    """Tasks that are worked on at once land in any order."""
    also: str = ""
    """What a task's commit may hold beside its usual files, as a regular expression."""
    by_hand: tuple[int, ...] = (0,)
    """How many commits of the user's, of nothing, with the subject `BY_HAND`, there may be."""


def broken_invariants(repo: Repo, expected: Expectation) -> list[str]:
    """Every broken promise as a sentence; empty is good."""
    commits = repo.git("rev-list", "--reverse", f"{expected.base}..HEAD").split()
    theirs = [c for c in commits if repo.git("log", "-1", "--format=%s", c) == BY_HAND]
    commits = [c for c in commits if c not in theirs]
    owners = [trailer(repo, commit, expected.trailer) for commit in commits]
    problems = _one_commit_each(owners, expected)
    if len(theirs) not in expected.by_hand:
        problems.append(f"I5: {len(theirs)} commits by hand, expected one of {expected.by_hand}")
    for commit, task in zip(commits, owners, strict=True):
        problems += _commit_holds_its_task_alone(repo, commit, task, expected)
    problems += _nothing_lost(repo, expected.ledger)
    problems += _nothing_done_again(dict(zip(owners, commits, strict=True)), commits, expected.ledger)
    problems += agents_overlapped(expected.ledger)
    problems += unsound(repo)
    problems += helpers_left(repo)
    if expected.belongings is not None and expected.belongings != belongings(repo, _branch(repo)):
        problems.append("I9: the user's refs, reflogs, config or hooks have changed")
    return problems


def frozen(repo: Repo) -> dict[str, object]:
    """What one more rerun must not change (I8): refs, tree and the index to the byte."""
    return {
        "refs": repo.git("for-each-ref"),
        "head": (git_dir(repo) / "HEAD").read_text(),
        "index": (git_dir(repo) / "index").read_bytes(),
        "tree": tree(repo),
        "config": (common_dir(repo) / "config").read_bytes(),
    }


def git_dir(repo: Repo) -> Path:
    """Of this working tree: a linked one has a file that says where."""
    found = repo.path / ".git"
    return found if found.is_dir() else Path(found.read_text().removeprefix("gitdir:").strip())


def common_dir(repo: Repo) -> Path:
    own = git_dir(repo)
    return own.parent.parent if own.parent.name == "worktrees" else own


def belongings(repo: Repo, branch: str) -> dict[str, object]:
    """What is the user's alone (I9): refs other than the run branch, their reflogs, config, hooks, ignored
    files."""
    git_dir = repo.path / ".git"
    refs = repo.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    ours = ("refs/holdfast/", "refs/heads/holdfast-task/", f"{branch} ")
    logs = {
        str(p.relative_to(git_dir)): p.read_bytes() for p in (git_dir / "logs/refs").rglob("*") if p.is_file()
    }
    info = [git_dir / "info" / name for name in ("attributes", "exclude", "grafts", "sparse-checkout")]
    kept = [git_dir / "config", *info, *sorted((git_dir / "hooks").glob("*"))]
    ignored = repo.git("ls-files", "--others", "--ignored", "--exclude-standard").split()
    return {
        "head": (git_dir / "HEAD").read_text(),
        "refs": [ref for ref in refs if not ref.startswith(ours)],
        "logs": {n: d for n, d in logs.items() if not f"{n.removeprefix('logs/')} ".startswith(ours)},
        "files": {p.name: p.read_bytes() for p in kept if p.is_file()},
        "ignored": {name: (repo.path / name).read_bytes() for name in ignored},
    }


def unlisted_rescues(repo: Repo, status: str) -> list[str]:
    """I12: `status` is what `holdfast status` printed."""
    refs = repo.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue").split()
    return [f"I12: status does not name {ref}" for ref in refs if ref not in status]


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


def trailer(repo: Repo, commit: str, name: str) -> str:
    return repo.git("log", "-1", f"--format=%(trailers:key={name},valueonly,separator=%x2C)", commit).strip()


def _one_commit_each(owners: list[str], expected: Expectation) -> list[str]:
    if (owners if expected.in_order else sorted(owners)) == list(expected.tasks):
        return []
    return [f"I1: commits for tasks {owners}, expected {list(expected.tasks)}"]


def _commit_holds_its_task_alone(repo: Repo, commit: str, task: str, expected: Expectation) -> list[str]:
    plan = expected.plan
    names = repo.git("diff-tree", "--no-commit-id", "--name-only", "-r", "-z", commit).split("\0")
    changed = {name for name in names if name and not (task and re.fullmatch(expected.also, name))}
    problems = []
    if changed != {plan, *(files_of(task) if task else ())}:
        problems.append(f"I2: the commit of {task or 'the plan'} changes {sorted(changed)}")
    if not task:
        return problems
    before, after = (_ticks(repo.git("show", f"{rev}:{plan}")) for rev in (f"{commit}^", commit))
    if len(after) - len(before) != 1 or not before < after:
        problems.append(f"I2: the commit of {task} changes the marks {before ^ after}")
    return problems


def _ticks(plan: str) -> set[int]:
    return {n for n, line in enumerate(plan.splitlines()) if re.match(r"- \[x\]", line)}


def _nothing_lost(repo: Repo, ledger: Path) -> list[str]:
    """I3: every line an agent says it wrote is in the tree, on a branch, in a stash or under rescue."""
    lines = [" ".join(words) for word, *words in read_ledger(ledger) if word == "wrote"]
    kept = b"".join(data for data in tree(repo).values()) if lines else b""
    if any(f"{line}\n".encode() not in kept for line in lines):
        kept += all_that_is_reachable(repo)
    return [f"I3: the line {line!r} is lost" for line in lines if f"{line}\n".encode() not in kept]


def all_that_is_reachable(repo: Repo) -> bytes:
    stashes = repo.git("stash", "list", "--format=%H").split()
    refs = ("--branches", "--glob=refs/holdfast/rescue", *stashes)
    names = repo.git("rev-list", "--objects", "--no-object-names", *refs)
    return repo.git("cat-file", "--batch", input=f"{names}\n").encode("utf-8", "surrogateescape")


def _nothing_done_again(commit_of: dict[str, str], commits: list[str], ledger: Path) -> list[str]:
    """I4: where HEAD was at each start, the task's commit was not there yet."""
    problems = []
    for word, *words in read_ledger(ledger):
        if word != "start":
            continue
        task, head = words[:2]
        since = commits[commits.index(commit_of[task]) :] if task in commit_of else []
        if head in since:
            problems.append(f"I4: an agent was started for {task} at {head[:12]}, which holds its commit")
    return problems


def agents_overlapped(ledger: Path) -> list[str]:
    """I6: each agent looked, as it started, whether an earlier one was still alive."""
    overlaps = [words for word, *words in read_ledger(ledger) if word == "overlap"]
    return [f"I6: the agent of {task} started while {pid} was alive" for task, pid in overlaps]


def read_ledger(ledger: Path) -> list[list[str]]:
    return [line.split() for line in ledger.read_text().splitlines()] if ledger.is_file() else []


def unsound(repo: Repo) -> list[str]:
    problems = []
    fsck = run(("git", "fsck", "--strict", "--no-dangling", "--no-progress"), cwd=repo.path, env=repo.env)
    if fsck.code or fsck.out:
        problems.append(f"I7: fsck says {fsck.out}{fsck.err}")
    status = repo.git("--no-optional-locks", "status", "--porcelain", "--untracked-files=all")
    if status:
        problems.append(f"I7: the tree is not clean: {status}")
    locks = [str(p) for p in common_dir(repo).rglob("*.lock")]
    if locks:
        problems.append(f"I7: lock files left: {locks}")
    return problems


def helpers_left(repo: Repo) -> list[str]:
    kinds = ("base", "candidate", "done", "tip")
    helpers = repo.git(
        "for-each-ref", *(f"refs/holdfast/{kind}" for kind in kinds), "refs/heads/holdfast-task"
    )
    record = list((common_dir(repo) / "holdfast").rglob("in-flight.json"))
    return [f"helpers left: {helpers or record}"] if helpers or record else []


def _branch(repo: Repo) -> str:
    return repo.git("symbolic-ref", "HEAD")


def tree(repo: Repo) -> dict[str, bytes]:
    found = {str(p.relative_to(repo.path)): p for p in sorted(repo.path.rglob("*")) if p.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if not name.startswith(".git/")}


def agent_starts(ledger: Path) -> dict[str, int]:
    counts: dict[str, int] = {}
    for word, task, *_ in read_ledger(ledger):
        counts[task] = counts.get(task, 0) + (word == "start")
    return counts
