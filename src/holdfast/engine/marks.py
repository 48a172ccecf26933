"""Commits that change the plan alone: adding it, taking in the user's edits, `skip` and `reset`."""

import os

from holdfast.engine.begin import begin
from holdfast.engine.commit import Contents, Rejected, Sealed, prepare_index, seal
from holdfast.engine.flight import Flight
from holdfast.engine.land import land
from holdfast.engine.message import PLAN, RUN, TASK
from holdfast.engine.site import Site
from holdfast.errors import PlanError, Refused, TaskFailure
from holdfast.model.events import GateFinished, Noticed
from holdfast.model.plan import Document, Status, Task
from holdfast.system import files


def commit_plan(site: Site, tip: str, at_tip: Document | None) -> None:
    """The plan in the tree becomes part of the branch, so that marks have a base to stand on."""
    if site.plan.must_be_committed:
        raise _must_be_committed(site)
    document = plan_in_tree(site)
    verb = "Add" if at_tip is None else "Update"
    document = _clean(site, document)
    trailers = {PLAN: site.plan.path, RUN: site.run}
    message = f"[holdfast] {verb} plan: {site.plan.name}"
    beside = tuple(path for path in site.plan.companions if path != site.plan.path)
    _commit_marks(site, tip, document, message, trailers, _whole_plan(site), beside)
    did = "added" if at_tip is None else "took in your edits of"
    site.record(Noticed(f"{did} {site.plan.path} as a commit"))


def commit_edit(site: Site, flight: Flight, tip: str, at_tip: Document) -> str:
    """The user edited the plan while a task was in flight: their words, the tip's marks, one commit.

    Without a record of its own: that place is the task's. Until the branch has moved nothing has happened,
    and after that the task's record finds the branch ahead of it.
    """
    document = _with_marks_of(site, plan_in_tree(site), at_tip)
    files.write_durably(os.path.join(site.git.root, site.plan.path), document.data, fault="plan.edit")
    prepare_index(site, tip)
    trailers = {PLAN: site.plan.path, RUN: site.run}
    message = f"[holdfast] Update plan: {site.plan.name}"
    sealed = _seal_plan(site, Contents(tip, _clean(site, document), message, trailers, flight.token, only=()))
    site.git.move_ref(site.branch, sealed.commit, tip, "plan edited", fault="edit")
    return sealed.commit


def _with_marks_of(site: Site, edited: Document, at_tip: Document) -> Document:
    """Marks in the tree are no evidence: an agent may have made them."""
    known = {task.key: task.status for task in at_tip.plan.tasks}
    for task in edited.plan.tasks:
        status = known.get(task.key, task.status)
        if status != task.status:
            edited = site.plan.dialect.mark(edited, task.id, status)
    return edited


def _clean(site: Site, document: Document) -> Document:
    """As git stores the file that is in the tree: line endings and filters undone."""
    blob = site.git.text("hash-object", "-w", f"--path={site.plan.path}", "--", site.plan.path)
    return document._replace(data=site.git.run("cat-file", "blob", blob))


def commit_mark(site: Site, tip: str, at_tip: Document, task: Task, status: Status, verb: str) -> str:
    """One task's mark changed by hand; returns the commit."""
    document = site.plan.dialect.mark(at_tip, task.id, status)
    trailers = {PLAN: site.plan.path, TASK: task.id, RUN: site.run}
    message = f"[holdfast] {verb} task {task.id}: {task.title}"
    return _commit_marks(site, tip, document, message, trailers, task)


def plan_in_tree(site: Site) -> Document:
    data = files.read_if_there(os.path.join(site.git.root, site.plan.path))
    if data is None:
        raise PlanError(site.plan.path, 0, "no such file")
    return site.plan.dialect.read(data, site.plan.path, site.plan.name)


def mark_in_tree(site: Site, plan: Document, task: Task) -> Document:
    """Without a commit the mark goes to the file as it is now: the agent may have worked on it."""
    current = plan_in_tree(site)
    same = next((t for t in current.plan.tasks if t.key == task.key), None)
    if same is None:
        raise PlanError(site.plan.path, 0, f"task {task.id} is gone from the plan: it cannot be marked")
    marked = site.plan.dialect.mark(current, same.id, Status.COMPLETED)
    files.write_durably(os.path.join(site.git.root, site.plan.path), marked.data, fault="plan.marked")
    return marked


def _commit_marks(
    site: Site,
    tip: str,
    document: Document,
    message: str,
    trailers: dict[str, str],
    task: Task,
    companions: tuple[str, ...] = (),
) -> str:
    flight = begin(site, task, tip, attempt=0)
    prepare_index(site, tip)
    contents = Contents(tip, document, message, trailers, flight.token, only=companions)
    sealed = _seal_plan(site, contents)
    land(site, flight, sealed)
    return sealed.commit


def _seal_plan(site: Site, contents: Contents) -> Sealed:
    try:
        return seal(
            site,
            contents,
            inspect=lambda changes: None,
            hooked=lambda run: site.record(
                GateFinished("", 0, f"{run.name} hook", run.passed, run.seconds, run.output)
            ),
            verify_again=lambda: None,
        )
    except Rejected as rejected:
        raise TaskFailure(
            f"the plan could not be committed: {rejected.feedback}",
            fix=f"commit {site.plan.path} yourself (or mend the hook), then run again",
        ) from rejected


def _whole_plan(site: Site) -> Task:
    """Stands for the plan as such where a record needs a task."""
    return Task("plan", f"the plan {site.plan.name}", Status.PENDING, 0)


def _must_be_committed(site: Site) -> Refused:
    names = " ".join(site.plan.files)
    return Refused(
        "the idea's files have changes that are not committed",
        fix=f"git add {names} && git commit, or run with --ignore-uncommitted-idea-changes",
    )
