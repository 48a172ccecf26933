"""A working tree of the run's own, beside the repository: the user's checkout is not touched.

Making one takes several steps and may be cut off in any of them. A tree is finished when its mark is in our
state. Without the mark it may be half made, so it is looked at closely before anybody works in it; whatever
it then holds beyond its commit is kept under rescue by recovery, never removed here.
"""

import contextlib
import os

from holdfast.errors import GitError, Refused
from holdfast.system import clock, faults, files
from holdfast.system.git import ABSENT, Git, GitKilled
from holdfast.system.lock import exclusive
from holdfast.workspaces.base import MARK, Slot, Wanted, Workspace, Workspaces, no_commit_yet, state_directory
from holdfast.workspaces.trees import Tree, linked_trees, main_branch, making, mend_torn, tree_on


class Worktree(Workspaces):
    name = "worktree"

    def find(self, git: Git, wanted: Wanted) -> Git | None:
        """By its branch, or by its place: its HEAD is detached while tasks have trees of their own, and an
        agent may have led it anywhere."""
        tree = tree_on(git.common_dir, wanted.branch)
        if tree is None or not tree.there:
            tree = _tree_at(git, wanted.directory)
        return tree.git(git.common_dir) if tree else None

    def open(self, git: Git, wanted: Wanted) -> Workspace:
        mend_torn(git)
        with exclusive(making(git)):
            _refuse_own_checkout(git, wanted)
            _make_branch(git, wanted)
            found, gone = self.find(git, wanted), ""
            if found is None:
                gone = _forget_trees_on(git, wanted.branch)
                found = _make_tree(git, wanted.directory, _short(wanted.branch))
            workspace = Workspace(found, wanted.branch, own=True, instead_of=gone)
            _fill(workspace, wanted)
        return workspace

    def slots(self, git: Git, wanted: Wanted) -> tuple[Slot, ...]:
        beginning = f"{wanted.directory}."
        trees = [tree for tree in linked_trees(git.common_dir) if tree.root.startswith(beginning)]
        found = [(tree.root.removeprefix(beginning), tree) for tree in trees]
        slots = [Slot(int(end), t.branch, os.path.basename(t.admin)) for end, t in found if end.isdecimal()]
        return tuple(sorted(slots))

    def open_slot(self, git: Git, wanted: Wanted, number: int, start: str) -> Workspace:
        path = f"{wanted.directory}.{number}"
        with exclusive(making(git)):
            tree = _tree_at(git, path)
            found = tree.git(git.common_dir) if tree else _make_tree(git, path, "--detach", start)
            workspace = Workspace(found, tree.branch if tree else "", own=True)
            _fill(workspace, Wanted())
        return workspace


def _tree_at(git: Git, directory: str) -> Tree | None:
    return next((t for t in linked_trees(git.common_dir) if t.root == directory and t.there), None)


def _refuse_own_checkout(git: Git, wanted: Wanted) -> None:
    if main_branch(git.common_dir) == wanted.branch:
        short = _short(wanted.branch)
        raise Refused(
            f"{short} is the run's branch, and it is checked out in your own working tree",
            fix="git switch to another branch there, then run again (or work in place: --trunk)",
        )


def _make_branch(git: Git, wanted: Wanted) -> None:
    if git.resolve(wanted.branch):
        return
    _clear_lock(git, wanted.branch)
    known = (git.resolve(name) for name in (*wanted.pins, "HEAD"))
    start = next(filter(None, known), None)
    if start is None:
        raise no_commit_yet(git.current_branch() or "HEAD")
    try:
        git.move_ref(wanted.branch, start, ABSENT, "run branch", fault="tree.branch")
    except GitKilled:
        raise
    except GitError as error:
        raise Refused(
            f"the branch {_short(wanted.branch)} cannot be made: {error.stderr or error.message}",
            fix="choose another name: --branch NAME (or `branch` in holdfast.toml)",
        ) from error


def _clear_lock(git: Git, branch: str) -> None:
    """Of a branch that does not exist: the git call that was to make it died, for we hold the lock that it
    would have inherited."""
    lock = os.path.join(git.common_dir, f"{branch}.lock")
    if os.path.exists(lock):
        os.replace(lock, os.path.join(making(git), f"stale-lock.{clock.stamp()}"))


def _make_tree(git: Git, directory: str, *start: str) -> Git:
    """Without files: those come in `_fill`, which can be done again."""
    for tree in linked_trees(git.common_dir):
        if tree.root == directory or _cut_off(tree, directory):
            _clear_remains(tree)
    _forget_marks(git)
    _require_room(directory)
    faults.point("tree.before")
    detached = start[:-1]
    git.run("worktree", "add", "--quiet", "--no-checkout", *detached, directory, start[-1])
    faults.point("tree.added")
    made = next(tree for tree in linked_trees(git.common_dir) if tree.root == directory)
    return made.git(git.common_dir)


def _forget_trees_on(git: Git, branch: str) -> str:
    """Their directories are gone: git would call the branch taken. Where one was said to be."""
    gone = ""
    for tree in linked_trees(git.common_dir):
        if tree.branch == branch:
            _clear_remains(tree)
            gone = tree.root
    return gone


def _cut_off(tree: Tree, directory: str) -> bool:
    """What git leaves when it dies while it writes down where the tree is."""
    return not tree.root and os.path.basename(tree.admin).startswith(os.path.basename(directory))


def _clear_remains(tree: Tree) -> None:
    """Of a tree that cannot be worked in: its directory is gone, or leads nowhere.

    Only git's own note of it goes; a directory that is still there is moved aside by `_require_room`.
    """
    import shutil

    shutil.rmtree(tree.admin)
    faults.point("tree.forgotten")


def _forget_marks(git: Git) -> None:
    """Of trees that are gone: the next one of that name has yet to be filled."""
    home = os.path.join(state_directory(git), "trees")
    for name in os.listdir(home):
        if os.path.isdir(os.path.join(home, name)) and not os.path.isdir(
            os.path.join(git.common_dir, "worktrees", name)
        ):
            files.remove_durably(os.path.join(home, name, MARK), fault="tree.unmade")


def _require_room(path: str) -> None:
    """A directory that leads to no tree was half made, or was damaged: kept, under another name."""
    if not os.path.lexists(path):
        return
    if os.path.isdir(path) and not os.path.islink(path) and set(os.listdir(path)) <= {".git"}:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(path, ".git"))
        return
    if not os.path.lexists(os.path.join(path, ".git")):
        raise Refused(
            f"{path} is in the way: it is no working tree of this repository",
            fix=f"move it away (mv {path} {path}.mine), then run again",
        )
    os.rename(path, f"{path}.broken-{clock.stamp()}")


def _fill(workspace: Workspace, wanted: Wanted) -> None:
    """The files of the tip, or of a sealed commit that only has to be published.

    An index says that this was done: git writes it last. Then files may be torn by a power cut, or somebody
    has lost our state; recovery looks at what differs.
    """
    git = workspace.git
    if not os.path.exists(workspace.made_mark) and not os.path.exists(os.path.join(git.git_dir, "index")):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(git.git_dir, "index.lock"))
        git.run("read-tree", "--reset", "-u", _wanted_files(git, wanted))
        faults.point("tree.filled")
        files.flush_file_systems(workspace.root, git.common_dir)
        files.write_durably(workspace.made_mark, b"", fault="tree.made")


def _wanted_files(git: Git, wanted: Wanted) -> str:
    if not wanted.candidates:
        return "HEAD"
    tip = git.resolve(wanted.branch) or "HEAD"
    sealed = git.text("for-each-ref", "--format=%(parent) %(objectname)", wanted.candidates)
    rows = (row.split(" ") for row in sealed.splitlines())
    return next((row[-1] for row in rows if row[0] == tip), tip)


def _short(branch: str) -> str:
    return branch.removeprefix("refs/heads/")
