"""What a merge would lead to: the commit, made as an object that no ref names yet."""

import os
import secrets
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from holdfast.engine.build import Build, Commit, short
from holdfast.engine.commit import commit_tree
from holdfast.engine.hooks import Ground, run_hook_in
from holdfast.engine.message import MERGED, PLAN, RUN, missing_trailers, with_trailers
from holdfast.errors import Refused, TaskFailure
from holdfast.model.plan import Plan
from holdfast.system import files
from holdfast.system.git import Git

UNSPOKEN = ("main", "master")
"""Branches that git, too, leaves out of the message of a merge."""
USAGE = 129
MOST_NAMED = 12


class Style(StrEnum):
    AS_FITS = "fast-forward where that is possible, else a merge commit"
    MERGE = "a merge commit"
    SQUASH = "one commit"


class Way(NamedTuple):
    """How the run branch gets into the target."""

    style: Style
    tree: str
    """"" for a fast-forward: the tip itself becomes the target's."""

    @property
    def words(self) -> str:
        if not self.tree:
            return "fast-forward"
        return "squashed into one commit" if self.style is Style.SQUASH else "by a merge commit"


def find_way(git: Git, style: Style, target: str, tip: str, names: tuple[str, str]) -> Way:
    """Looks only; Refused where the two conflict. `names` are those of the run branch and the target."""
    if git.is_ancestor(target, tip):
        ahead = "" if style is Style.AS_FITS else git.resolve(f"{tip}^{{tree}}") or ""
        return Way(style, ahead)
    return Way(style, _merged_tree(git, target, tip, names))


def _merged_tree(git: Git, target: str, tip: str, names: tuple[str, str]) -> str:
    """By merge-tree, which touches neither index nor files."""
    question = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", target, tip)
    code, out = git.answer(*question, expect=(0, 1, USAGE))
    run_branch, into = names
    if code == USAGE:
        version = git.text("version").removeprefix("git version ")
        raise Refused(
            f"{run_branch} and {into} have both moved on, and git {version} cannot tell beforehand whether "
            "they conflict (git 2.38 can)",
            fix=f"install a newer git, or merge by hand: git switch {into} && git merge {run_branch}",
        )
    tree, *conflicted = (os.fsdecode(name) for name in out.split(b"\0") if name)
    if code == 1:
        raise _conflict(conflicted, run_branch, into)
    return tree


def _conflict(paths: Sequence[str], run_branch: str, into: str) -> Refused:
    named = "".join(f"\n  {path}" for path in paths[:MOST_NAMED])
    more = f"\n  … and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return Refused(
        f"nothing was merged: {run_branch} and {into} conflict in{named}{more}",
        fix=f"resolve it by hand: git switch {into} && git merge {run_branch}\n"
        "(edit the files, git add them, git commit; or git merge --abort)",
    )


def make_commit(ground: Ground, build: Build, way: Way, old: str, message: str, scratch: str) -> str:
    """The tip itself for a fast-forward; else a new commit, its message as the commit-msg hook leaves it."""
    if not way.tree:
        return build.tip
    trailers = {PLAN: build.place.path, RUN: build.run, MERGED: build.tip}
    path = os.path.join(scratch, "MERGE_EDITMSG")
    files.make_directory(scratch)
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write(with_trailers(message, trailers))
    _ask_hook(ground, path, trailers)
    parents = [old] if way.style is Style.SQUASH else [old, build.tip]
    return commit_tree(ground.git, way.tree, parents, path)


def _ask_hook(ground: Ground, path: str, trailers: dict[str, str]) -> None:
    ran = run_hook_in(ground, f"merge.{secrets.token_hex(8)}", "commit-msg", path)
    if ran is not None and not ran.passed:
        raise TaskFailure(
            f"nothing was merged: the commit-msg hook refused the message:\n{ran.output}",
            fix="mend the hook, or merge by hand with a message that it takes",
        )
    with open(path, encoding="utf-8", errors="surrogateescape") as f:
        lost = missing_trailers(f.read(), trailers)
    if lost:
        raise TaskFailure(
            f"nothing was merged: the commit-msg hook removed the trailers {', '.join(lost)}",
            fix="let it keep lines that begin with `Holdfast-` at the end",
        )


def merge_message(build: Build, target: str) -> str:
    into = "" if short(target) in UNSPOKEN else f" into {short(target)}"
    return f"Merge branch '{build.name}'{into}"


def squash_message(plan: Plan, commits: Sequence[Commit]) -> str:
    """Which tasks, in the words of the plan; then the commits that are no task's."""
    done = sum(task.status.settled for task in plan.tasks)
    whole = done == len(plan.tasks)
    subject = f"Complete plan: {plan.name}" if whole else f"{done} of {len(plan.tasks)} tasks: {plan.name}"
    titles = {task.id: task.title for task in plan.tasks}
    lines = [f"- {c.task}: {titles.get(c.task, c.subject)}" if c.task else f"- {c.subject}" for c in commits]
    return "\n".join((f"[holdfast] {subject}", "", *lines))
