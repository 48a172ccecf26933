"""The plan in the user's checkout when its run is merged: words that the run has taken in may give way."""

import os
from collections.abc import Callable

from holdfast.engine.build import Build
from holdfast.engine.checkout_edits import agree
from holdfast.engine.rescue import snapshot
from holdfast.engine.source import Attempts, in_tree, kept_files, plan_at, plan_in_tree
from holdfast.errors import PlanError
from holdfast.model.events import Event, Noticed, Rescued
from holdfast.system import files
from holdfast.workspaces.base import Workspace

REASON = "the plan in your checkout as it was before the merge"


def versions_taken_in(build: Build, start: str) -> dict[str, frozenset[str]]:
    """Path → every version that the run branch has had since `start`: those bytes are in its commits."""
    found: dict[str, set[str]] = {path: set() for path in (*kept_files(build.place), *build.place.companions)}
    span = f"{start}..{build.tip}" if start else build.tip
    raw = build.checkout.run(
        "log", "--format=", "--raw", "--no-abbrev", "--no-renames", "-z", "-m", span, "--", *found
    )
    fields = iter(os.fsdecode(raw).split("\0"))
    for head in fields:
        if head.startswith(":"):
            found.setdefault(next(fields), set()).update(head[1:].split(" ")[2:4])
    return {path: frozenset(blobs) for path, blobs in found.items() if blobs}


def same_words_elsewhere(build: Build) -> str:
    """The blob of the user's plan file where the run's differs in marks alone, else ""."""
    try:
        theirs = plan_in_tree(build.checkout.root, build.place)
        ours = plan_at(build.seen, build.place, build.tip)
        if ours is None or build.place.path in ours.ignored or not agree(build.place, theirs, ours):
            return ""
    except PlanError:
        return ""
    path = build.place.path
    full = os.path.join(build.checkout.root, path)
    return build.checkout.text("hash-object", f"--path={path}", "--", full)


def keep_their_plan(build: Build, target: str, record: Callable[[Event], None]) -> None:
    """Its words are in the run's commits, but not these very bytes."""
    ref = snapshot(Workspace(build.checkout, target), build.run, "merge", REASON)
    record(Rescued(ref, REASON))


def mark_ignored_plan(build: Build, attempts: Attempts, record: Callable[[Event], None]) -> None:
    """A plan that git ignores is in no commit: what the commits say is written to the user's file.

    Its words stay as they are; of a file that was edited since only the marks follow.
    """
    try:
        document = plan_at(build.checkout, build.place, build.tip, None, attempts)
    except PlanError as error:
        record(Noticed(f"the plan in your checkout did not get its marks: {error.message}"))
        return
    for path in document.ignored if document else ():
        data = document.files.get(path) if document else None
        if data is not None and data != in_tree(build.checkout.root, path):
            files.write_durably(os.path.join(build.checkout.root, path), data, fault="merge.plan")
