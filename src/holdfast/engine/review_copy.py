"""The work as a reviewer gets it: a repository of its own, at the base, with the work as changed files.

It borrows our objects, so that making it costs a checkout and no more. Commits made in it are gone with it.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator

from holdfast.engine.commit import NO_FILE
from holdfast.engine.site import Site
from holdfast.system import files
from holdfast.system.git import Git

BRANCH = "review"


@contextlib.contextmanager
def copied_work(site: Site, base: str, tree: str) -> Iterator[str]:
    """Its directory; what a killed run left there goes first."""
    place = os.path.join(site.workspace.tree_state, "review")
    shutil.rmtree(place, ignore_errors=True)
    files.make_directory(place)
    try:
        _fill(site.git, place, base, tree)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _fill(git: Git, place: str, base: str, tree: str) -> None:
    own = os.path.join(place, ".git")
    copy = Git(place, own, own)
    kind = git.text("rev-parse", "--show-object-format")
    copy.run("init", "--quiet", "--template=", f"--initial-branch={BRANCH}", f"--object-format={kind}")
    with open(os.path.join(own, "objects", "info", "alternates"), "w", encoding="utf-8") as f:
        f.write(os.path.join(git.common_dir, "objects") + "\n")
    copy.run("update-ref", f"refs/heads/{BRANCH}", base)
    index = os.path.join(own, "index-of-work")
    copy.run("read-tree", tree, index=index)
    copy.run("checkout-index", "--all", index=index)
    os.unlink(index)
    copy.run("read-tree", base)


def put_tree_back(site: Site, now: str, tree: str) -> None:
    """From the tree `now` to `tree`, file by file. Only after a snapshot: this is what discards bytes."""
    changes = site.git.changes_between(now, tree)
    for change in changes:
        _clear_the_way(os.path.join(site.git.root, change.path))
    wanted = [os.fsencode(change.path) for change in changes if change.new_mode != NO_FILE]
    site.git.run("read-tree", tree, index=site.private_index)
    site.git.run(
        "checkout-index", "-z", "--stdin", "--force", stdin=b"\0".join(wanted), index=site.private_index
    )


def _clear_the_way(path: str) -> None:
    if os.path.islink(path) or os.path.isfile(path):
        os.unlink(path)
    elif os.path.isdir(path):
        shutil.rmtree(path)
