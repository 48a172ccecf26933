"""What was built, and how to finish it: the words of `review`, `merge`, `discard` and the end of a run."""

from collections.abc import Sequence
from typing import NamedTuple

from holdfast.model.events import CriterionReported
from holdfast.model.plan import Plan, Status
from holdfast.model.state import State
from holdfast.views.status import Rescue, failed_tasks
from holdfast.views.text import plain, shorten
from holdfast.views.words import short_commit, usage

_MOST_COMMITS = 40
_MOST_FILES = 30
_MOST_CRITERIA = 40
_MOST_RESCUES = 5
_SIGNS = {"met": "✓", "not met": "✗"}


class BuiltCommit(NamedTuple):
    id: str
    subject: str
    task: str


class ChangedFile(NamedTuple):
    path: str
    added: int | None
    """Lines; None for a binary file."""
    removed: int | None


class Next(NamedTuple):
    """Something to type."""

    purpose: str
    command: str


class Review(NamedTuple):
    branch: str
    into: str
    """The branch it would be merged into, "" where there is none."""
    start: str
    """The commit where the two parted, "" when they never met."""
    tip: str
    tree: str
    """Where the run works, "" when there is no such tree."""
    merged: bool
    commits: tuple[BuiltCommit, ...]
    files: tuple[ChangedFile, ...]
    uncommitted: tuple[str, ...]
    """Files in the tree that are in no commit."""
    rescues: tuple[Rescue, ...]
    next: tuple[Next, ...]


def review_lines(plan: Plan, state: State, review: Review, *, width: int) -> list[str]:
    """Lines are cut at `width`, except for those that hold a command to type."""
    parts = (
        _heading(plan, state, review),
        _commits(review, width),
        _files(review, width),
        _criteria(plan, state, width),
        _open(plan, state, width),
        _uncommitted(review, width),
        _rescues(review, width),
        next_lines(review.next),
    )
    return [line for part in parts if part for line in ("", *part)][1:]


def review_json(plan: Plan, state: State, review: Review) -> dict[str, object]:
    open_tasks = [task.id for task in plan.tasks if not task.status.settled]
    return {
        "plan": plan.name,
        "path": plan.path,
        **{name: getattr(review, name) or None for name in ("branch", "into", "start", "tip", "tree")},
        "merged": review.merged,
        "done": plan.count(Status.COMPLETED),
        "skipped": plan.count(Status.SKIPPED),
        "total": len(plan.tasks),
        "open": open_tasks,
        "failed": [{"task": f.task.id, "reason": f.reason} for f in failed_tasks(plan, state)],
        "commits": [commit._asdict() for commit in review.commits],
        "files": [file._asdict() for file in review.files],
        "criteria": [said._asdict() for said in _said(plan, state)],
        "spent": state.spent._asdict(),
        "uncommitted": list(review.uncommitted),
        "rescues": [rescue._asdict() for rescue in review.rescues],
        "next": [step._asdict() for step in review.next],
    }


def next_lines(steps: Sequence[Next]) -> list[str]:
    column = max((len(step.purpose) for step in steps), default=0) + 1
    return [f"{f'{step.purpose}:':<{column}} {step.command}" for step in steps]


def how_to_finish(plan: str, branch: str, into: str, *, merged: bool) -> tuple[Next, ...]:
    """For the end of a run, and for `status` of one that is done. `plan` is ready to be typed."""
    if merged:
        return (Next("clean up", f"holdfast discard {plan}"),)
    where = f"   ({branch} into {into})" if into else ""
    return Next("review it", f"holdfast review {plan}"), Next("merge it", f"holdfast merge {plan}{where}")


def some(lines: Sequence[str], most: int) -> list[str]:
    more = len(lines) - most
    return [*lines[:most], *([f"  … and {more} more"] if more > 0 else [])]


def count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _heading(plan: Plan, state: State, review: Review) -> list[str]:
    done = sum(task.status.settled for task in plan.tasks)
    where = f" in {plain(review.tree)}" if review.tree else ""
    since = f"since {short_commit(review.start)}" if review.start else "from the first commit on"
    against = f"{since}, where it left {plain(review.into)}" if review.into else since
    spent = usage(*state.spent)
    return [
        f"{plain(plan.name)}: {done} of {len(plan.tasks)} tasks done",
        f"branch {plain(review.branch)}{where}",
        f"merged into {plain(review.into)}" if review.merged else against,
        *([f"spent: {spent}"] if spent else []),
    ]


def _commits(review: Review, width: int) -> list[str]:
    if not review.commits:
        return ["commits: none that are not merged" if review.merged else "commits: none"]
    lines = [shorten(f"  {short_commit(c.id)}  {plain(c.subject)}", width) for c in review.commits]
    return [f"commits: {len(lines)}", *some(lines, _MOST_COMMITS)]


def _files(review: Review, width: int) -> list[str]:
    if not review.files:
        return []
    added = sum(file.added or 0 for file in review.files)
    removed = sum(file.removed or 0 for file in review.files)
    lines = [shorten(f"  {_lines_of(file)}  {plain(file.path)}", width) for file in review.files]
    head = f"changed: {count(len(lines), 'file')}, {count(added, 'line')} added, {removed} removed"
    return [head, *some(lines, _MOST_FILES)]


def _lines_of(file: ChangedFile) -> str:
    if file.added is None:
        return f"{'binary':>13}"
    return f"{f'+{file.added}':>6} {f'-{file.removed}':>6}"


def _said(plan: Plan, state: State) -> list[CriterionReported]:
    return [said for task in plan.tasks for said in state.of(task).criteria]


def _criteria(plan: Plan, state: State, width: int) -> list[str]:
    said = _said(plan, state)
    if not said:
        return []
    met = sum(event.verdict == "met" for event in said)
    lines = [shorten(plain(_criterion(event)), width) for event in said]
    return [f"criteria: {met} of {len(said)} reported met", *some(lines, _MOST_CRITERIA)]


def _criterion(said: CriterionReported) -> str:
    note = f" ({said.note})" if said.note else ""
    return f"  {_SIGNS.get(said.verdict, '?')} {said.task}: {said.verdict}: {said.criterion}{note}"


def _open(plan: Plan, state: State, width: int) -> list[str]:
    failed = {failure.task.id: failure.reason for failure in failed_tasks(plan, state)}
    left = [task for task in plan.tasks if not task.status.settled]
    if not left:
        return []
    lines = [
        f"  ✗ {task.id}: {task.title}: {failed[task.id]}"
        if task.id in failed
        else f"  ○ {task.id}: {task.title}"
        for task in left
    ]
    return [f"open: {len(left)}", *some([shorten(plain(line), width) for line in lines], _MOST_FILES)]


def _uncommitted(review: Review, width: int) -> list[str]:
    if not review.uncommitted:
        return []
    names = [shorten(f"  {plain(path)}", width) for path in review.uncommitted]
    return [f"in the tree and in no commit: {count(len(names), 'file')}", *some(names, _MOST_FILES)]


def _rescues(review: Review, width: int) -> list[str]:
    if not review.rescues:
        return []
    lines = [f"in rescue: {len(review.rescues)}"]
    for rescue in review.rescues[-_MOST_RESCUES:]:
        lines += [shorten(f"  {plain(rescue.reason)}", width), f"    {plain(rescue.restore)}"]
    return lines
