"""A build of the plan is there already: on a terminal the user may choose what becomes of it."""

import argparse
import os
import sys

from holdfast.cli.build import Found, build_of
from holdfast.config import Config
from holdfast.engine.build import commits_between
from holdfast.engine.place import PlanPlace
from holdfast.errors import UsageError
from holdfast.model.policy import Mode
from holdfast.system.git import Git
from holdfast.views.build import count

CHOICES = (
    "Continue where it left off",
    "Review what was built",
    "Merge existing build",
    "Start fresh (discard)",
)
UNASKED = ("auto_continue", "resume", "force_new", "dry_run", "setup_only", "allow_dirty", "json", "quiet")
"""Options that say it already, or that leave nobody to ask."""


def settle_existing_build(git: Git, place: PlanPlace, config: Config, args: argparse.Namespace) -> bool:
    """Whether a run is still wanted. Only asked where plan or settings say so, and somebody is there."""
    if not _may_ask(config, args):
        return True
    found = build_of(git, place, config)
    if found.in_place or not _there(found):
        return True
    _show(found)
    while True:
        match _choice():
            case 1:
                return True
            case 2:
                from holdfast.cli.review import review_build

                print("", *review_build(found), "", sep="\n", flush=True)
            case 3:
                from holdfast.cli.merge import merge_build
                from holdfast.engine.merge import Wish

                merge_build(found, Wish())
                return False
            case 4:
                from holdfast.cli.discard import discard_build

                discard_build(found, sure=False)
                return True


def _may_ask(config: Config, args: argparse.Namespace) -> bool:
    if config.existing_build != "ask" or config.policy.mode is not Mode.WORKTREE:
        return False
    if any(getattr(args, name) for name in UNASKED) or args.interactive is False or "CI" in os.environ:
        return False
    return sys.stdin.isatty() and sys.stdout.isatty()


def _there(found: Found) -> bool:
    return found.build.tree is not None or bool(_commits(found))


def _commits(found: Found) -> int:
    build = found.build
    head = build.checkout.resolve("HEAD")
    if not build.tip or not head:
        return 0
    return len(commits_between(build.checkout, build.place.path, head, build.tip))


def _show(found: Found) -> None:
    tree = f" in {found.build.tree.root}" if found.build.tree else ""
    commits = count(_commits(found), "commit")
    print(f"Found existing build: {found.build.name}{tree}, {commits} that your branch does not have")
    for number, words in enumerate(CHOICES, 1):
        print(f"  {number}  {words}")


def _choice() -> int:
    """Enter goes on: that loses nothing."""
    while True:
        try:
            said = input("What would you like to do? [1] ").strip() or "1"
        except EOFError:
            print()
            raise UsageError(
                "nothing was chosen, and nothing was done", fix="`--auto-continue` goes on unasked"
            ) from None
        fits = [number for number, words in enumerate(CHOICES, 1) if words.lower().startswith(said.lower())]
        if said in map(str, range(1, len(CHOICES) + 1)):
            return int(said)
        if len(fits) == 1:
            return fits[0]
        print(f"type a number from 1 to {len(CHOICES)}, or the first letter of a line")
