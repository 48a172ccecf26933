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
from holdfast.workspaces.base import MARK, Wanted, Workspace, no_commit_yet, state_directory
from holdfast.workspaces.trees import Tree, linked_trees, main_branch, tree_on


class Worktree:
    name = "worktree"

    def find(self, git: Git, wanted: Wanted) -> Git | None:
        tree = tree_on(git.common_dir, wanted.branch)
        return tree.git(git.common_dir) if tree and tree.there else None

    def open(self, git: Git, wanted: Wanted) -> Workspace:
        with exclusive(_making(git)):
            _refuse_own_checkout(git, wanted)
            _make_branch(git, wanted)
            found = self.find(git, wanted) or _make_tree(git, wanted)
            workspace = Workspace(found, wanted.branch, own=True)
            if not os.path.exists(workspace.made_mark):
                _fill(workspace, wanted)
        return workspace


def _making(git: Git) -> str:
    """Two runs must not make the same tree: one waits for the other, then finds it made."""
    directory = os.path.join(state_directory(git), "trees")
    files.make_directory(directory)
    return directory


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
    start = git.resolve("HEAD")
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


def _make_tree(git: Git, wanted: Wanted) -> Git:
    """Without files: those come in `_fill`, which can be done again."""
    for tree in linked_trees(git.common_dir):
        if tree.root == wanted.directory or tree.branch == wanted.branch or _cut_off(tree, wanted):
            _clear_remains(git, tree)
    _forget_marks(git)
    _require_room(wanted)
    faults.point("tree.before")
    git.run("worktree", "add", "--quiet", "--no-checkout", wanted.directory, _short(wanted.branch))
    faults.point("tree.added")
    made = tree_on(git.common_dir, wanted.branch)
    assert made is not None and made.there
    return made.git(git.common_dir)


def _cut_off(tree: Tree, wanted: Wanted) -> bool:
    """What git leaves when it dies while it writes down where the tree is."""
    return not tree.root and os.path.basename(tree.admin).startswith(os.path.basename(wanted.directory))


def _clear_remains(git: Git, tree: Tree) -> None:
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
        if not os.path.isdir(os.path.join(git.common_dir, "worktrees", name)):
            files.remove_durably(os.path.join(home, name, MARK), fault="tree.unmade")


def _require_room(wanted: Wanted) -> None:
    """A directory that leads to no tree was half made, or was damaged: kept, under another name."""
    path = wanted.directory
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
    if not os.path.exists(os.path.join(git.git_dir, "index")):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(git.git_dir, "index.lock"))
        git.run("read-tree", "--reset", "-u", _wanted_files(git, wanted))
        faults.point("tree.filled")
        files.flush_file_systems(workspace.root, git.common_dir)
        files.write_durably(workspace.made_mark, b"", fault="tree.made")


def _wanted_files(git: Git, wanted: Wanted) -> str:
    tip = git.resolve(wanted.branch) or "HEAD"
    if not wanted.candidates:
        return tip
    sealed = git.text("for-each-ref", "--format=%(parent) %(objectname)", wanted.candidates)
    rows = (row.split(" ") for row in sealed.splitlines())
    return next((row[-1] for row in rows if row[0] == tip), tip)


def _short(branch: str) -> str:
    return branch.removeprefix("refs/heads/")
