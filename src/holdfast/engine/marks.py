"""Commits that change the plan alone: adding it, taking in the user's edits, `skip` and `reset`."""

import os

from holdfast.engine import refuse
from holdfast.engine.begin import begin
from holdfast.engine.commit import Contents, Rejected, Sealed, prepare_index, seal
from holdfast.engine.flight import Flight
from holdfast.engine.land import land
from holdfast.engine.landed import ANEW
from holdfast.engine.message import KEY, PLAN, RUN, STATUS, TASK
from holdfast.engine.observe import same_words, with_marks_of
from holdfast.engine.site import Site
from holdfast.engine.source import kept_files, plan_in_tree
from holdfast.errors import PlanError, TaskFailure
from holdfast.model.events import GateFinished, Noticed
from holdfast.model.identity import by_title
from holdfast.model.plan import Document, Status, Task
from holdfast.system import files


def commit_plan(site: Site, tip: str, at_tip: Document | None) -> None:
    """The plan in the tree becomes part of the branch, so that marks have a base to stand on."""
    if site.plan.must_be_committed:
        raise refuse.idea_not_committed(site.plan)
    verb = "Add" if at_tip is None else "Update"
    document = _clean(site, _without_ignored(site, plan_in_tree(site.git.root, site.plan), at_tip))
    trailers = {PLAN: site.plan.path, RUN: site.run}
    message = f"[holdfast] {verb} plan: {site.plan.name}"
    beside = tuple(path for path in site.plan.companions if path not in kept_files(site.plan))
    _commit_marks(site, tip, document, message, trailers, _whole_plan(site), beside)
    did = "added" if at_tip is None else "took in your edits of"
    site.record(Noticed(f"{did} {site.plan.path} as a commit"))


def _without_ignored(site: Site, document: Document, at_tip: Document | None) -> Document:
    """Told apart only here: the tree does not say which of its files git would not add."""
    new = [path for path in site.plan.dialect.keeps(site.plan.path) if not at_tip or path not in at_tip.files]
    return document._replace(ignored=at_tip.ignored if at_tip else tuple(site.git.ignored(new)))


def commit_edit(site: Site, flight: Flight, tip: str, at_tip: Document) -> str:
    """The user edited the plan while a task was in flight: their words, the tip's marks, one commit.

    Without a record of its own: that place is the task's. Until the branch has moved nothing has happened,
    and after that the task's record finds the branch ahead of it.
    """
    document = _edited(site, at_tip)
    files.write_durably(os.path.join(site.git.root, site.plan.path), document.data, fault="plan.edit")
    prepare_index(site, tip)
    trailers = {PLAN: site.plan.path, RUN: site.run}
    message = f"[holdfast] Update plan: {site.plan.name}"
    sealed = seal_plan(site, Contents(tip, _clean(site, document), message, trailers, flight.token, only=()))
    # Before the branch moves: after that nothing would tell an old entry from one that the agent staged.
    _stage_changes(site, sealed)
    site.git.move_ref(site.branch, sealed.commit, tip, "plan edited", fault="edit")
    return sealed.commit


def _stage_changes(site: Site, sealed: Sealed) -> None:
    rows = [(change.new_mode, change.new_blob, change.path) for change in sealed.changes]
    site.git.set_entries(os.path.join(site.git.git_dir, "index"), rows)


def commit_words(site: Site, tip: str, at_tip: Document) -> None:
    """The same with nothing in flight: a task marked in the tree stays so, for its work is there too."""
    document = _clean(site, _edited(site, at_tip))
    trailers = {PLAN: site.plan.path, RUN: site.run}
    message = f"[holdfast] Update plan: {site.plan.name}"
    _commit_marks(site, tip, document, message, trailers, _whole_plan(site))
    site.record(Noticed(f"took in your edits of {site.plan.path} as a commit"))


def marks_differ(site: Site, at_tip: Document, but: str = "") -> bool:
    """Does the plan in the tree mark a task otherwise than the tip? `but` is the id of one that may."""
    try:
        plan = plan_in_tree(site.git.root, site.plan).plan
        same = by_title(at_tip.plan, plan)
    except PlanError:  # an agent may make anything of it
        return False
    now = {task.id: task.status for task in plan.tasks}
    compared = [task for task in at_tip.plan.tasks if task.id in same and task.id != but]
    return any(now[same[task.id]] != task.status for task in compared)


def only_marked(site: Site, at_base: Document, task: str) -> bool:
    """Is the plan in the tree the base's, but for what is done of one task?"""
    try:
        now = plan_in_tree(site.git.root, site.plan)
    except PlanError:
        return False
    return same_words(site.plan.dialect, now, at_base) and not marks_differ(site, at_base, but=task)


def _edited(site: Site, at_tip: Document) -> Document:
    """The words of the tree, the marks of the tip."""
    edited = _without_ignored(site, plan_in_tree(site.git.root, site.plan), at_tip)
    return with_marks_of(site.plan.dialect, edited, at_tip)._replace(ignored=edited.ignored)


def _clean(site: Site, document: Document) -> Document:
    """As git would store the files if they were in the tree: line endings and filters undone."""
    ours = [p for p in kept_files(site.plan) if p in document.files and p not in document.ignored]
    stored = {path: _stored(site, path, document.files[path]) for path in ours}
    beside = tuple((path, stored.get(path, data)) for path, data in document.beside)
    return document._replace(data=stored.get(site.plan.path, document.data), beside=beside)


def _stored(site: Site, path: str, data: bytes) -> bytes:
    blob = site.git.run("hash-object", "-w", f"--path={path}", "--stdin", stdin=data)
    return site.git.run("cat-file", "blob", blob.decode("ascii").strip())


def commit_state(
    site: Site, tip: str, before: Document, after: Document, message: str
) -> tuple[str, Document]:
    """What the plan's files say, changed without a task's work: the new tip, and the plan there.

    What git tracks becomes a commit, what it ignores is written. Doing it twice changes nothing.
    """
    after = after._replace(ignored=before.ignored)
    changed = [path for path, data in after.files.items() if before.files.get(path) != data]
    if set(changed) - set(after.ignored):
        trailers = {PLAN: site.plan.path, RUN: site.run}
        tip = _commit_marks(site, tip, after, message, trailers, _whole_plan(site))
    for path in set(changed) & set(after.ignored):
        files.write_durably(os.path.join(site.git.root, path), after.files[path], fault="plan.derived")
    return tip, after


def commit_anew(site: Site, tip: str, document: Document, archive: str = "") -> str:
    """The plan with nothing done. What commits said about it before this one no longer counts."""
    names = [path for path in (*kept_files(site.plan), archive) if path]
    new = [
        p
        for p, data in zip(names, site.git.objects([f"{tip}:{p}" for p in names]), strict=True)
        if data is None
    ]
    ignored = site.git.ignored(new)
    trailers = {PLAN: site.plan.path, RUN: site.run, STATUS: ANEW}
    message = f"[holdfast] Start {site.plan.name} anew"
    beside = (archive,) if archive and archive not in ignored else ()
    document = document._replace(ignored=tuple(ignored))
    commit = _commit_marks(site, tip, document, message, trailers, _whole_plan(site), beside)
    for path in set(ignored) & set(document.files):
        files.write_durably(os.path.join(site.git.root, path), document.files[path], fault="plan.derived")
    return commit


def commit_mark(site: Site, tip: str, at_tip: Document, task: Task, status: Status, verb: str) -> str:
    """One task's mark changed by hand; returns the commit."""
    document = site.plan.dialect.mark(at_tip, task.id, status)._replace(ignored=at_tip.ignored)
    trailers = {PLAN: site.plan.path, TASK: task.id, KEY: task.key, RUN: site.run, STATUS: status.value}
    message = f"[holdfast] {verb} task {task.id}: {task.title}"
    return _commit_marks(site, tip, document, message, trailers, task)


def mark_in_tree(site: Site, plan: Document, task: Task) -> Document:
    """Without a commit the mark goes to the file as it is now: the agent may have worked on it."""
    current = plan_in_tree(site.git.root, site.plan)
    same = by_title(plan.plan, current.plan).get(task.id)
    if same is None:
        raise PlanError(site.plan.path, 0, f"task {task.id} is gone from the plan: it cannot be marked")
    marked = site.plan.dialect.mark(current, same, Status.COMPLETED)
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
    flight = begin(site, task, document, tip, attempt=0)
    prepare_index(site, tip)
    contents = Contents(tip, document, message, trailers, flight.token, only=companions)
    sealed = seal_plan(site, contents)
    land(site, flight, sealed)
    return sealed.commit


def seal_plan(site: Site, contents: Contents) -> Sealed:
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
