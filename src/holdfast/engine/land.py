"""Land: the candidate becomes the branch's tip by one compare-and-swap, then tree and index follow.

`finish` is what recovery calls: each of its steps may be done already, so it asks git how things stand.
`land` has just sealed the commit and takes the same steps knowing the answers.
"""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from holdfast.engine.commit import Sealed, prepare_index, still_staged
from holdfast.engine.flight import Flight, clear_flight
from holdfast.engine.observe import same_words
from holdfast.engine.site import Site
from holdfast.engine.source import in_tree, kept_files, plan_at, plan_in_tree
from holdfast.errors import GitError, PlanError, Refused
from holdfast.model.identity import by_title
from holdfast.model.plan import Document, Plan, Task
from holdfast.system import clock, faults, files
from holdfast.system.git import ABSENT, GitKilled

INDEX_PATIENCE = 10.0
PAGE = 4096
"""Every kernel's pages are a multiple of this."""


class Around(NamedTuple):
    """A file of the plan around a commit."""

    path: str
    before: bytes | None
    after: bytes
    edited: bool = False
    """Somebody has committed another one since."""
    from_tree: bool = False
    """The commit took in an edit of the user's: what it says was in the tree first, and a file that says what
    was before is their next edit."""


def land(site: Site, flight: Flight, sealed: Sealed) -> None:
    if sealed.landed:
        files.flush_file_systems(site.git.root, site.git.common_dir)
        drop_helpers(site)
        return
    files.flush(site.git.root, (change.path for change in sealed.changes))
    candidate = site.candidate_ref(flight.key)
    site.git.move_ref(candidate, sealed.commit, ABSENT, f"candidate for {flight.task}", fault="candidate")
    _move_branch(site, flight, sealed.commit)
    if flight.by_hand or not still_staged(site, sealed):
        finish(site, flight, sealed.commit)
        return
    _install_index(site, _changed_files(site, sealed), sealed.commit)
    bring_ignored_files(site, flight, sealed.commit)
    _drop(site, {candidate: sealed.commit, site.base_ref: flight.base})


def publish(site: Site, flight: Flight, commit: str) -> None:
    _move_branch(site, flight, commit)
    finish(site, flight, commit)


def _move_branch(site: Site, flight: Flight, commit: str) -> None:
    """The commit point. RefMoved when somebody else moved the branch: nothing is lost, recovery decides."""
    site.git.move_ref(site.branch, commit, flight.base, f"task {flight.task}", fault="commit")


def finish(site: Site, flight: Flight, commit: str) -> None:
    """Bring index and plan in line with a commit that has landed, then drop the helpers.

    Where it had landed before, somebody may have committed on top of it.
    """
    tip = site.git.resolve(site.branch) or commit
    if flight.by_hand:
        _sync_plan_entry(site, commit, tip)
    else:
        _sync_whole_index(site, commit, tip)
    bring_ignored_files(site, flight, commit)
    drop_helpers(site)


def bring_ignored_files(site: Site, flight: Flight, commit: str) -> None:
    """Files of the plan that git ignores follow the commit: what it says of the tasks is written to them."""
    if not flight.ignored:
        return
    document = plan_at(site.git, site.plan, commit, flight.ignored, site.attempts)
    assert document is not None
    write_ignored_files(site, document)


def write_ignored_files(site: Site, document: Document) -> tuple[str, ...]:
    """As the document has them; returns those that lay there otherwise."""
    behind = lying_otherwise(site, document)
    for path in behind:
        full = os.path.join(site.git.root, path)
        files.write_durably(full, document.files[path], fault="plan.derived")
    return behind


def lying_otherwise(site: Site, document: Document) -> tuple[str, ...]:
    """Files that git ignores and that are not in the tree as the document has them."""
    there = document.files
    ours = [path for path in document.ignored if path in there]
    return tuple(path for path in ours if there[path] != in_tree(site.git.root, path))


def drop_helpers(site: Site) -> None:
    """The record last: as long as it is there, locks that a killed git call leaves are known to be ours."""
    helpers = site.git.refs(site.candidate_prefix, site.base_ref)
    site.git.delete_refs(helpers, fault="helpers")
    clear_flight(site.workspace.tree_state)


def _drop(site: Site, helpers: Mapping[str, str]) -> None:
    try:
        site.git.delete_refs(helpers, fault="helpers")
    except GitKilled:
        raise
    except GitError:
        drop_helpers(site)  # the agent got at them
    clear_flight(site.workspace.tree_state)


def _sync_whole_index(site: Site, commit: str, tip: str) -> None:
    """Everything in the tree is in the tip, so the private index is what the user's has to be."""
    private = site.private_index
    if _died_between_link_and_rename(site, private):
        _rename_lock(site, private)
        return
    if not _matches(site, tip):
        prepare_index(site, tip)
    _install_index(site, _files_around(site, commit, tip), commit)


def _install_index(site: Site, plan: Sequence[Around], commit: str) -> None:
    _bring_plan(site, plan, site.private_index, commit)
    faults.point("index.before")
    _replace_index(site, site.private_index)
    faults.point("index.after")


def _changed_files(site: Site, sealed: Sealed) -> list[Around]:
    before = sealed.before.files if sealed.before else {}
    after = {path: data for path, data in sealed.plan.files.items() if path not in sealed.plan.ignored}
    return [
        Around(path, before.get(path), after[path])
        for path in kept_files(site.plan)
        if path in after and (path == site.plan.path or before.get(path) != after[path])
    ]


def _files_around(site: Site, commit: str, tip: str) -> list[Around]:
    paths = kept_files(site.plan)
    contents = site.git.objects([f"{rev}:{path}" for path in paths for rev in (f"{commit}^", commit, tip)])
    found = zip(paths, contents[::3], contents[1::3], contents[2::3], strict=True)
    return [
        Around(path, before, after, now != after) for path, before, after, now in found if after is not None
    ]


def _matches(site: Site, commit: str) -> bool:
    if not os.path.exists(site.private_index):
        return False
    return not site.git.changes(commit, site.private_index)


def _sync_plan_entry(site: Site, commit: str, tip: str) -> None:
    """A change of marks by hand: the user's staged changes stay, only the plan's entry follows."""
    paths = {change.path for change in site.git.changes_between(f"{commit}^", commit)}
    changes = [c for c in site.git.changes_between(f"{commit}^", tip) if c.path in paths]
    own = os.path.join(site.git.git_dir, "index")
    faults.point("entry.before")
    site.git.set_entries(own, [(c.new_mode, c.new_blob, c.path) for c in changes])
    edit = _changes_words(site, commit)
    around = [file._replace(from_tree=edit) for file in _files_around(site, commit, tip)]
    _bring_plan(site, around, own, commit)
    faults.point("entry.after")


def _changes_words(site: Site, commit: str) -> bool:
    try:
        before, after = (plan_at(site.git, site.plan, rev) for rev in (f"{commit}^", commit))
    except PlanError:  # mended by the very edit
        return True
    return before is not None and after is not None and not same_words(site.plan.dialect, before, after)


def _bring_plan(site: Site, plan: Sequence[Around], index: str, commit: str) -> None:
    """The plan in the tree: as committed, or, if somebody edited it since, with the new marks added."""
    follow = []
    for file in plan:
        now = in_tree(site.git.root, file.path)
        ours = now is None or (now == file.before and not file.from_tree) or _torn(now, file)
        if not file.edited and (ours or _same_but_for_filters(site, file)):
            follow.append(file.path)
        elif now is not None and now != file.after:
            _carry_marks(site, file, now, commit)
    if follow:
        site.git.run("checkout-index", "--force", "--index", "--", *follow, index=index)
        files.flush(site.git.root, follow)
    faults.point("plan.synced")


def _torn(now: bytes, file: Around) -> bool:
    """git writes the file in place: killed in the middle it leaves nothing, or some whole pages of it. Any
    other beginning of the plan is somebody's edit: the last tasks are removed."""
    return len(now) % PAGE == 0 and file.after.startswith(now)


def _same_but_for_filters(site: Site, file: Around) -> bool:
    """Line endings or a filter make the bytes differ from the blob; git knows whether the file does."""
    now = site.git.text("hash-object", f"--path={file.path}", "--", file.path)
    revisions = ("HEAD",) if file.from_tree else ("HEAD", "HEAD^")
    return now in {site.git.text("rev-parse", f"{rev}:{file.path}", expect=(0, 128)) for rev in revisions}


def _carry_marks(site: Site, file: Around, now: bytes, commit: str) -> None:
    """The user edited the plan while a task was landing: their edit stays, the new marks are added to it.

    A file beside the plan has no marks of its own to add: the edit stays as it is.
    """
    dialect = site.plan.dialect
    if file.path != dialect.marks_in(site.plan.path) or file.path != site.plan.path:
        return
    try:
        theirs = plan_in_tree(site.git.root, site.plan)
        before, after = (plan_at(site.git, site.plan, rev) for rev in (f"{commit}^", commit))
        same = by_title(after.plan, theirs.plan) if after else {}
    except PlanError:
        return  # not a plan at the moment, or one that is not to be told; the run will say so
    for task in _newly_marked(before.plan, after.plan) if before and after else ():
        if task.id in same:
            theirs = dialect.mark(theirs, same[task.id], task.status)
    if theirs.data != now:
        files.write_durably(os.path.join(site.git.root, file.path), theirs.data, fault="plan.carried")


def _newly_marked(before: Plan, after: Plan) -> list[Task]:
    """Both are Holdfast's: between them only marks have changed."""
    old = {task.id: task.status for task in before.tasks}
    return [task for task in after.tasks if old.get(task.id) is not task.status]


def _replace_index(site: Site, private: str) -> None:
    """By git's own protocol: make index.lock, here as a second name of our file, and rename it."""
    index = os.path.join(site.git.git_dir, "index")
    if os.path.exists(index) and os.path.samefile(private, index):
        os.unlink(private)  # done by a run that died right here; renaming one onto the other would do nothing
        return
    lock = _index_lock(site)
    deadline = clock.monotonic() + INDEX_PATIENCE
    while True:
        try:
            os.link(private, lock)
            break
        except FileExistsError:
            if clock.monotonic() > deadline:
                raise Refused(
                    f"another git process holds {lock}",
                    fix="let it finish (or remove the file if no git process is left), then run again",
                ) from None
            clock.sleep(0.05)
    faults.point("index.linked")
    _rename_lock(site, private)


def _died_between_link_and_rename(site: Site, private: str) -> bool:
    lock = _index_lock(site)
    return os.path.exists(lock) and os.path.exists(private) and os.path.samefile(lock, private)


def _rename_lock(site: Site, private: str) -> None:
    os.replace(_index_lock(site), os.path.join(site.git.git_dir, "index"))
    files.fsync_directory(site.git.git_dir)
    faults.point("index.renamed")
    os.unlink(private)


def _index_lock(site: Site) -> str:
    return os.path.join(site.git.git_dir, "index.lock")
