"""Seal: from the bytes in the tree to one commit object that no ref points at yet.

In a private index: the base, everything the agent changed, and the plan as it was at the base plus this one
mark. The user's index, the branch and HEAD are not touched here.
"""

import contextlib
import os
import shutil
from collections.abc import Callable, Sequence
from typing import NamedTuple

from holdfast.engine.hooks import HookRun, run_hook
from holdfast.engine.message import missing_trailers, with_trailers
from holdfast.engine.site import Site
from holdfast.engine.source import kept_files
from holdfast.errors import GitError, TaskFailure
from holdfast.model.plan import Document
from holdfast.system import faults, files
from holdfast.system.git import Change, Git, GitKilled

HOOK_ROUNDS = 2
PLAIN_FILE = "100644"
NO_FILE = "000000"
NO_BLOB = "0" * 40
CHECKSUM_SIZE = 20


class Contents(NamedTuple):
    """What the commit is to hold."""

    base: str
    plan: Document
    """The plan as it will stand in the commit."""
    message: str
    trailers: dict[str, str]
    token: str
    only: tuple[str, ...] | None = None
    """Paths to take from the working tree beside the plan; None: everything the agent changed."""
    before: Document | None = None
    """The plan at the base; None where there is none, or whoever seals does not know it."""


class Staged(NamedTuple):
    """The private index as it now is."""

    tree: str
    changes: tuple[Change, ...]
    """Against the base, the plan included."""
    checksum: bytes
    """Of the index file that holds this tree."""


class Sealed(NamedTuple):
    commit: str
    staged: Staged
    plan: Document
    """The plan as the commit holds it."""
    before: Document | None
    """The plan at the base; None where there is none, or whoever sealed did not know it."""
    landed: bool = False
    """The agent made the commit itself: the branch and the index are there already."""

    @property
    def changes(self) -> tuple[Change, ...]:
        return self.staged.changes


class Rejected(Exception):
    """The agent can do something about it: `feedback` goes into its next prompt."""

    def __init__(self, reason: str, feedback: str, *, final: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.feedback = feedback
        self.final = final


def prepare_index(site: Site, base: str) -> None:
    """A private copy of the user's index at `base`, its cached file times included.

    The copy keeps the modification time: git compares it with the files' to know which entries it must
    look at again.
    """
    files.make_directory(site.workspace.tree_state)
    with_times = os.path.join(site.git.git_dir, "index")
    drop_private_index(site)
    if os.path.exists(with_times):
        shutil.copy2(with_times, site.private_index)
    if not os.path.exists(with_times) or site.git.changes(base, site.private_index):
        site.git.run("read-tree", "--reset", base, index=site.private_index)


def drop_private_index(site: Site) -> None:
    """Before it is written anew: it may be a second name of the user's index (see land), which must not
    be written through."""
    for path in (site.private_index, f"{site.private_index}.lock"):  # the lock: of a git call that was killed
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def work_tree(site: Site, base: str) -> str:
    """The tree of everything in the workspace, as a commit on `base` would take it, by the private index."""
    prepare_index(site, base)
    _add(site, ())
    return site.git.write_tree(site.private_index)


def seal(
    site: Site,
    contents: Contents,
    inspect: Callable[[tuple[Change, ...]], None],
    hooked: Callable[[HookRun], None],
    verify_again: Callable[[], None],
) -> Sealed:
    """`inspect` may reject the changes, `hooked` hears of each hook, `verify_again` is called when a hook
    changed the tree after the gates had passed."""
    ours = _plan_entries(site, contents)
    staged = _stage(site, contents, ours)
    inspect(staged.changes)
    staged = _pre_commit(site, contents, ours, staged, hooked, verify_again)
    message = _message(site, contents, hooked)
    if message.hooked:
        staged = _with_leavings(site, contents, ours, staged, verify_again)
    commit = commit_tree(site.git, staged.tree, [contents.base], message.file)
    faults.point("sealed")
    return Sealed(commit, staged, contents.plan, contents.before)


def still_staged(site: Site, sealed: Sealed) -> bool:
    """Does the private index hold the sealed tree? A message hook, say, may have staged something since."""
    sealed_as = sealed.staged.checksum
    return bool(sealed_as) and index_checksum(site.private_index) == sealed_as


def index_checksum(path: str) -> bytes:
    """The hash of all that stands before it, with which git ends an index file: equal hash, equal index.

    Empty when there is no such file or git was told to leave the hash out (index.skipHash).
    """
    try:
        with open(path, "rb") as f:
            f.seek(-CHECKSUM_SIZE, os.SEEK_END)
            found = f.read()
    except OSError:
        return b""
    return found if any(found) else b""


def _plan_entries(site: Site, contents: Contents) -> dict[str, str]:
    """Path → blob of every file that only we write; "" for one that is not there. Never what git ignores."""
    files_of_plan = contents.plan.files
    kept = [path for path in kept_files(site.plan) if path not in contents.plan.ignored]
    return {p: site.git.write_blob(files_of_plan[p]) if p in files_of_plan else "" for p in kept}


def _stage(site: Site, contents: Contents, ours: dict[str, str]) -> Staged:
    if contents.only != ():
        _add(site, () if contents.only is None else ("--", *contents.only))
    staged = _with_plan(site, contents, ours, {})
    modes = {c.path: c.old_mode for c in staged.changes if c.path in ours and c.old_mode != NO_FILE}
    if set(modes.values()) <= {PLAIN_FILE}:
        return staged
    return _with_plan(site, contents, ours, modes)  # an executable plan stays one


def _add(site: Site, paths: tuple[str, ...]) -> None:
    try:
        site.git.run("add", "--all", *paths, index=site.private_index)
    except GitKilled:
        raise
    except GitError as error:
        if error.is_the_disks:
            raise  # another attempt of the agent would not help
        words = error.stderr or error.message
        raise Rejected("git cannot add the changes", f"`git add --all` failed:\n{words}") from error


def _with_plan(site: Site, contents: Contents, ours: dict[str, str], modes: dict[str, str]) -> Staged:
    rows = [(modes.get(p, PLAIN_FILE), blob, p) if blob else ("0", NO_BLOB, p) for p, blob in ours.items()]
    site.git.set_entries(site.private_index, rows)
    tree = site.git.write_tree(site.private_index)
    checksum = index_checksum(site.private_index)
    return Staged(tree, site.git.changes_between(contents.base, tree), checksum)


def _pre_commit(
    site: Site,
    contents: Contents,
    ours: dict[str, str],
    staged: Staged,
    hooked: Callable[[HookRun], None],
    verify_again: Callable[[], None],
) -> Staged:
    """What the pre-commit hook accepts. A hook that changes files gets a second look at them."""
    for left in reversed(range(HOOK_ROUNDS)):
        run = run_hook(site, contents.token, "pre-commit")
        if run is None:
            return staged
        hooked(run)
        after = _stage(site, contents, ours)
        unchanged = after.tree == staged.tree
        if not run.passed and (unchanged or not left):
            raise _refusal(run)
        if unchanged:
            return staged
        verify_again()
        staged = _stage(site, contents, ours)  # the gates may leave something too
    return staged


class _Message(NamedTuple):
    file: str
    hooked: bool
    """The project has a hook for messages, and it ran."""


def _message(site: Site, contents: Contents, hooked: Callable[[HookRun], None]) -> _Message:
    path = os.path.join(site.workspace.tree_state, "COMMIT_EDITMSG")
    _write(path, with_trailers(contents.message, contents.trailers))
    ran = False
    for name, arguments in (("prepare-commit-msg", (path, "message")), ("commit-msg", (path,))):
        run = run_hook(site, contents.token, name, *arguments)
        if run is not None:
            ran = True
            hooked(run)
            if not run.passed:
                raise _refusal(run)
    with open(path, encoding="utf-8", errors="surrogateescape") as f:
        message = f.read()
    lost = missing_trailers(message, contents.trailers)
    if lost:
        raise TaskFailure(
            f"a commit message hook removed the trailers that mark the task's commit: {', '.join(lost)}",
            fix="let prepare-commit-msg and commit-msg keep lines that begin with `Holdfast-` at the end",
        )
    return _Message(path, ran)


def _with_leavings(
    site: Site,
    contents: Contents,
    ours: dict[str, str],
    staged: Staged,
    verify_again: Callable[[], None],
) -> Staged:
    """What a message hook wrote into the tree belongs to this commit: the next task's would sweep it up.

    No hook sees it any more; git itself would leave it lying about.
    """
    after = _stage(site, contents, ours)
    if after.tree == staged.tree:
        return staged
    verify_again()
    return _stage(site, contents, ours)


def commit_tree(git: Git, tree: str, parents: Sequence[str], message_file: str) -> str:
    """A commit object that no ref names yet, signed if the user signs."""
    signed = git.config("commit.gpgsign", kind="bool") == "true"
    words = [word for parent in parents for word in ("-p", parent)]
    options = ("-S",) if signed else ()
    try:
        out = git.run("commit-tree", tree, *words, *options, "-F", message_file, terminal=signed)
    except GitError as error:
        if not signed:
            raise
        raise TaskFailure(
            f"the commit could not be signed; no branch was moved. git said: {error.stderr}",
            fix="make signing work (try: git commit-tree -S -m test HEAD^{tree}), then run again",
        ) from error
    return out.decode("ascii").strip()


def _refusal(run: HookRun) -> Rejected:
    words = run.output or "(the hook said nothing)"
    return Rejected(
        f"the {run.name} hook refused", f"The project's {run.name} hook refused the commit:\n{words}"
    )


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write(text)
