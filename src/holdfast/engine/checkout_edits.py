"""The user edits the plan in their own checkout while the run has a tree of its own: whose words count.

The run branch's plan is the one that counts. Words that the user changed since we last saw them are taken
over, with the marks of the run branch, task by task; where both have changed nobody is overruled: it is said.
"""

import os

from holdfast.engine.observe import plan_at_tip, without_marks
from holdfast.engine.place import PlanPlace, read_plan
from holdfast.engine.repair import recover
from holdfast.engine.site import Site
from holdfast.engine.source import other_files, plan_in_tree
from holdfast.errors import PlanError, Refused
from holdfast.model.events import Noticed
from holdfast.model.identity import match_tasks
from holdfast.model.plan import Document
from holdfast.plans.base import Dialect
from holdfast.system import files
from holdfast.system.git import ABSENT, Git


def take_in_edits(site: Site, checkout: Git) -> None:
    if not site.workspace.own or checkout.git_dir == site.git.git_dir:
        return
    theirs = _in_checkout(site, checkout)
    ours = _at_tip(site)
    if theirs is not None and ours is not None and (_half_taken(site) or not agree(site.plan, theirs, ours)):
        recover(site)  # what a dead run had sealed lands first, or the edit would take its mark away
        ours = _at_tip(site)
    if theirs is None or (ours is not None and site.plan.path in ours.ignored):
        return
    if ours is None:
        _require_committed(site, checkout, theirs)
        _take(site, theirs)
    elif not agree(site.plan, theirs, ours) and not _weigh(site, checkout, theirs, ours):
        return
    taken = site.taken_ref if site.git.resolve(site.taken_ref) else ""
    _note(site, site.seen_ref, theirs, "plan seen", fault="seen", along=taken)


def _at_tip(site: Site) -> Document | None:
    tip = site.git.resolve(site.branch)
    return plan_at_tip(site, tip) if tip else None


def agree(place: PlanPlace, theirs: Document, ours: Document) -> bool:
    """In all words: only marks and line endings may differ."""
    return _words(place, theirs.data) == _words(place, ours.data)


def _in_checkout(site: Site, checkout: Git) -> Document | None:
    try:
        return plan_in_tree(checkout.root, site.plan)
    except PlanError as error:
        site.record(Noticed(f"the plan in your checkout is not taken in: {error.message}"))
        return None


def _weigh(site: Site, checkout: Git, theirs: Document, ours: Document) -> bool:
    """Whether what they say is settled: taken over, or nothing that they changed."""
    place, seen = site.plan, ours.data if _is_theirs(site, checkout, ours) else _seen(site, checkout)
    if seen is not None and _words(place, theirs.data) == _words(place, seen):
        return True
    if seen is not None and _words(place, ours.data) != _words(place, seen):
        _report(site, "both it and the one on the run branch have changed since they were the same")
        return False
    if place.dialect.keeps(place.path) and not _marks_are_elsewhere(place):
        _report(site, "this kind of plan holds marks between its words, so that is left to you")
        return False
    _note(site, site.taken_ref, theirs, "to be taken in", fault="taken")
    _take(site, with_marks_by_identity(place.dialect, theirs, ours))
    return True


def _report(site: Site, why: str) -> None:
    site.record(
        Noticed(
            f"{site.plan.path} was edited in your checkout, and the edit is not taken in: {why}. "
            f"Edit {os.path.join(site.git.root, site.plan.path)} as well"
        )
    )


def _take(site: Site, document: Document) -> None:
    """Into the tree: recovery makes a commit of an edited plan, whatever else is under way there."""
    for path in (site.plan.path, *site.plan.companions):
        data = document.files.get(path)
        if data is not None:
            files.write_durably(os.path.join(site.git.root, path), data, fault="plan.taken")
    recover(site)


def _require_committed(site: Site, checkout: Git, theirs: Document) -> None:
    """The first commit of a run holds the plan; what it refers to has to be there already."""
    wanted = [
        p for p in other_files(site.plan, theirs.data) if os.path.isfile(os.path.join(checkout.root, p))
    ]
    found = site.git.files_in(site.branch, wanted)
    kept = site.plan.dialect.keeps(site.plan.path)
    missing = [path for path, data in found.items() if data is None and path not in kept]
    if missing:
        names = " ".join((site.plan.path, *missing))
        raise Refused(
            f"files that {site.plan.path} refers to are not committed: {', '.join(missing)}",
            fix=f"git add {names} && git commit -m 'Add the plan', then run again",
        )


def with_marks_by_identity(dialect: Dialect, words: Document, marks: Document) -> Document:
    """A task that was renumbered or given another title is the same task still."""
    pairs = match_tasks(marks.plan, words.plan).pairs
    for task in marks.plan.tasks:
        now = words.plan.task(pairs[task.id]) if task.id in pairs else None
        if now and now.status is not task.status:
            words = dialect.mark(words, now.id, task.status)
    return words


def _marks_are_elsewhere(place: PlanPlace) -> bool:
    return place.dialect.marks_in(place.path) != place.path


def _words(place: PlanPlace, data: bytes) -> object:
    """Of a plan without its marks, however its lines end."""
    if _marks_are_elsewhere(place):
        return data.replace(b"\r\n", b"\n")
    document = read_plan(place, data)
    if place.dialect.keeps(place.path):
        return [(task.title, task.body) for task in document.plan.tasks]
    return without_marks(document)


# -- what we saw last ------------------------------------------------------------------------------------


def _seen(site: Site, checkout: Git) -> bytes | None:
    data = site.git.blob(site.seen_ref)
    head = checkout.resolve("HEAD") if data is None else None
    common = site.git.text("merge-base", head, site.branch, expect=(0, 1)) if head else ""
    return site.git.file_in(common, site.plan.path) if common else data


def _is_theirs(site: Site, checkout: Git, ours: Document) -> bool:
    """Does the run branch say what they had us take in last, or what they have committed themselves?

    Of that their plan is an edit, though a run that died may not have got to remember it.
    """
    words = _words(site.plan, ours.data)
    known = (site.git.blob(site.taken_ref), checkout.blob(f"HEAD:{site.plan.path}"))
    return any(data is not None and _words(site.plan, data) == words for data in known)


def _half_taken(site: Site) -> bool:
    taken = site.git.resolve(site.taken_ref)
    return taken is not None and taken != site.git.resolve(site.seen_ref)


def _note(site: Site, ref: str, theirs: Document, why: str, *, fault: str, along: str = "") -> None:
    blob = site.git.write_blob(theirs.data)
    known = site.git.resolve(ref) or ABSENT
    if known != blob or (along and site.git.resolve(along) != blob):
        site.git.move_ref(ref, blob, known, why, fault=fault, along=along)
