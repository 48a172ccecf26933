"""What git, the lock and the in-flight record say about a plan, asked with as few git calls as possible.

Nothing is changed: no file, no ref, not even the index.
"""

import os
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from holdfast.cli.place import first_readable
from holdfast.cli.terminal import moment
from holdfast.engine.flight import Damaged, Flight, read_flight
from holdfast.engine.place import PlanPlace, read_plan, run_id
from holdfast.engine.rescue_format import PREFIX
from holdfast.errors import PlanError
from holdfast.model.plan import Plan, Task
from holdfast.system.files import read_if_there
from holdfast.system.git import Git
from holdfast.system.lock import is_held, read_holder
from holdfast.workspaces.base import Workspace
from holdfast.workspaces.trees import linked_trees


class Glance(NamedTuple):
    plan: Plan
    """As it is at the tip; the file in the tree when git does not track it."""
    branch: str
    """Full ref name, "" when HEAD is detached."""
    run: str
    in_flight: tuple[str, ...]
    """The tasks that were begun and are still open; more than one where they are worked on at once."""
    holder: str
    """Who holds the lock, in words, "" when nobody does."""
    rescues: dict[str, str]
    """Ref to the first line of its commit's message."""
    notes: tuple[str, ...]
    """Sentences about what is out of the ordinary."""


def glance(git: Git, place: PlanPlace, wanted: str = "", slots: str = "") -> Glance:
    """`wanted` is the branch of a run with a tree of its own: its commits count, also where the tree is gone.
    One that is not there yet is shown all the same: it is where the commits will be. `slots` is how the paths
    of trees begin in which tasks are worked on at once."""
    checked_out, kept, known = _refs(git, wanted)
    branch = wanted or checked_out
    tip = wanted if known and wanted != checked_out else "HEAD"
    run = run_id(place.path, branch)
    record = read_flight(Workspace(git, branch).tree_state)
    mine = {ref: commit for ref, commit in kept.items() if ref.startswith(f"{PREFIX}{run}/")}
    base = record.base if isinstance(record, Flight) and record.run == run else tip
    asked = (f"{tip}:{place.path}", f"{base}:{place.path}", *mine.values())
    at_tip, begun, *commits = git.objects(asked)
    in_tree = _file(os.path.join(git.root, place.path))
    plan = _plan(git, place, record, (tip, base), at_tip, begun)
    own = _open_task(record, run, plan)
    in_flight = (own, *(_open_task(each, run, plan) for each in _records_beside(git, slots)))
    notes = [_about_head(branch), _about_record(record, run, own)]
    if record is None and at_tip is not None and in_tree is not None and not place.dialect.keeps(place.path):
        notes.append(_about_edits(place, plan, at_tip, in_tree))
    rescues = dict(zip(mine, map(_subject, commits), strict=True))
    return Glance(
        plan, branch, run, tuple(filter(None, in_flight)), _holder(git), rescues, tuple(filter(None, notes))
    )


def _plan(
    git: Git,
    place: PlanPlace,
    record: Flight | Damaged | None,
    revisions: tuple[str, str],
    at_tip: bytes | None,
    begun: bytes | None,
) -> Plan:
    if at_tip is not None and not place.dialect.keeps(place.path):
        versions = (partial(read_plan, place, data) for data in (at_tip, begun) if data is not None)
        return first_readable(place, versions, ()).plan
    from holdfast.engine.source import plan_at, plan_in_tree  # not all of it is one file in a commit

    ignored = record.ignored if isinstance(record, Flight) and record.plan == place.path else {}
    commits = (partial(plan_at, git, place, revision, ignored) for revision in revisions)
    return first_readable(place, commits, [partial(plan_in_tree, git.root, place)]).plan


def _refs(git: Git, wanted: str) -> tuple[str, dict[str, str], bool]:
    """The branch HEAD is on, everything under rescue, and whether the wanted branch exists."""
    listing = git.text("for-each-ref", "--format=%(HEAD)%(objectname) %(refname)", "refs/heads", PREFIX)
    branch, rescues, known = "", {}, False
    for row in listing.splitlines():
        commit, ref = row[1:].split(" ", 1)
        known = known or ref == wanted
        if row[0] == "*":
            branch = ref
        elif ref.startswith(PREFIX):
            rescues[ref] = commit
    return branch or git.current_branch() or "", rescues, known


def _file(path: str) -> bytes | None:
    """An agent can leave anything there: a directory, a pipe."""
    return read_if_there(path) if os.path.isfile(path) else None


def _open_task(record: Flight | Damaged | None, run: str, plan: Plan) -> str:
    if not isinstance(record, Flight) or record.run != run or record.by_hand:
        return ""
    task = plan.task(record.task)
    return "" if task is None or task.status.settled else task.id


def _records_beside(git: Git, slots: str) -> Iterator[Flight | Damaged | None]:
    trees = (tree for tree in linked_trees(git.common_dir) if slots and tree.root.startswith(slots))
    return (read_flight(Workspace(tree.git(git.common_dir), "").tree_state) for tree in trees)


def _about_record(record: Flight | Damaged | None, run: str, in_flight: str) -> str:
    if isinstance(record, Damaged):
        return f"the in-flight record cannot be read ({record.problem}); the next run sets it aside"
    if record is None or in_flight:
        return ""
    what = "a change of its marks" if record.by_hand else f"task {record.task}"
    if record.run != run:
        return f"{what} of {record.plan} on {_short(record.branch)} was begun here and not finished"
    return f"{what} was cut off while it was brought in line; the next run finishes that"


def _about_head(branch: str) -> str:
    return "" if branch else "HEAD is detached: a run needs a branch, see `git switch`"


def _about_edits(place: PlanPlace, plan: Plan, at_tip: bytes, in_tree: bytes) -> str:
    if in_tree == at_tip:
        return ""
    try:
        edited = read_plan(place, in_tree).plan
    except PlanError as error:
        return f"the plan in the tree cannot be read: {error.message}"
    if list(map(_said, edited.tasks)) == list(map(_said, plan.tasks)):
        return ""  # line endings, or text around the tasks
    return f"{place.path} has edits that are not committed and not shown here; a run commits them first"


def _said(task: Task) -> tuple[object, ...]:
    return task.id, task.title, task.status, task.body, task.depends_on


def _holder(git: Git) -> str:
    if not is_held(git.git_dir):
        return ""
    holder = read_holder(Workspace(git, "").holder_file)
    if holder is None or not holder.alive:
        return "what a dead run left alive"
    return f"process {holder.pid} since {moment(holder.since)}"


def _subject(commit: bytes | None) -> str:
    message = (commit or b"").partition(b"\n\n")[2]
    return message.partition(b"\n")[0].decode("utf-8", "replace")


def _short(branch: str) -> str:
    return branch.removeprefix("refs/heads/")
