"""Breaks the protocol on purpose, in one of three ways, in processes with this directory on their PYTHONPATH.

A test of the tests: with each of them a sweep must find something. The product has no hook for it.
"""

import os
import sys

MUTANT = os.environ.get("MUTANT", "")


def mark_before_the_commit() -> None:
    """The mark reaches the branch in a commit of its own, which the task's commit replaces a moment later."""
    from holdfast.engine import land

    def move_branch(site, flight, commit):  # type: ignore[no-untyped-def]
        index = os.path.join(site.workspace.tree_state, "mutant-index")
        site.git.run("read-tree", flight.base, index=index)
        mode, blob = site.git.entry(commit, site.plan.path)
        site.git.set_entries(index, [(mode, blob, site.plan.path)])
        tree = site.git.write_tree(index)
        marked = site.git.text("commit-tree", tree, "-p", flight.base, "-m", "Mark")
        site.git.move_ref(site.branch, marked, flight.base, "mark", fault="mark")
        site.git.move_ref(site.branch, commit, marked, f"task {flight.task}", fault="commit")

    land._move_branch = move_branch


def skip_the_pin() -> None:
    from holdfast.engine import begin, repair

    begin.pin_base = repair.pin_base = lambda site, flight: None  # type: ignore[attr-defined]


def move_the_branch_blindly() -> None:
    """Without compare-and-swap: wherever the branch is by now."""
    from holdfast.system.git import Git

    careful = Git.run

    def run(self, *arguments, **how):  # type: ignore[no-untyped-def]
        if arguments[:2] == ("update-ref", "-m") and arguments[-3].startswith("refs/heads/"):
            arguments = arguments[:-1]
        return careful(self, *arguments, **how)

    Git.run = run  # type: ignore[method-assign]


MUTANTS = {
    "the plan is marked before the commit": mark_before_the_commit,
    "the base is not pinned": skip_the_pin,
    "the branch is moved without compare-and-swap": move_the_branch_blindly,
}

if MUTANT and "holdfast" in sys.orig_argv:
    MUTANTS[MUTANT]()
