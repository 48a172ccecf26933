"""`holdfast discard`: branch and working tree of a run go, after what only they hold is under rescue."""

import sys
from argparse import ArgumentParser, Namespace

from holdfast.cli.build import Found, Hands, find_build, hands_on, in_place_words
from holdfast.engine.build import Build, commits_between, trees_of
from holdfast.engine.discard import Going, clear_locks, discard, look, nothing_there
from holdfast.engine.site import token_prefix
from holdfast.errors import Refused, UsageError
from holdfast.model.events import BuildDiscarded, Recovered
from holdfast.system import leftovers
from holdfast.system.git import Git
from holdfast.views.build import count


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "plan", nargs="?", metavar="PLAN", help="plan file or directory (default: the last one)"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")


def execute(args: Namespace) -> int:
    found = find_build(args.plan)
    if found.in_place:
        print(f"nothing to discard: {in_place_words(found)}")
        return 0
    discard_build(found, sure=args.yes)
    return 0


def discard_build(found: Found, *, sure: bool) -> None:
    build = found.build
    trees = [tree.git(build.checkout.common_dir) for tree in trees_of(build) if tree.there]
    with hands_on(build, trees) as hands:
        clear_locks(build, hands.record)
        going = look(build, found.home)
        if nothing_there(build, going):
            print(f"nothing to discard: there is no branch {build.name}, and no working tree of it")
            return
        _show(build, going)
        if not sure:
            _ask(build)
        _end_processes(trees, hands)
        _tell(going, discard(build, going, hands.record))


def _show(build: Build, going: Going) -> None:
    print(f"discards {build.name}:")
    if build.tip:
        print(f"  branch  {_commits(build, going)}")
    for tree in going.trees:
        dirty = going.dirty.get(tree.root)
        also = f", with {count(dirty, 'file')} in no commit: kept under rescue" if dirty else ""
        print(f"  tree    {tree.root}{also}")
    for root, why in going.left.items():
        print(f"  stays   {root}: {why}; taken off the branch")
    sys.stdout.flush()


def _commits(build: Build, going: Going) -> str:
    if going.merged_into:
        return f"all of it is in {going.merged_into}"
    head = build.checkout.resolve("HEAD") or ""
    number = len(commits_between(build.checkout, build.place.path, head, build.tip))
    return f"{count(number, 'commit')} that HEAD does not have: kept under rescue"


def _ask(build: Build) -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "nothing was discarded: there is no terminal to ask on", fix="add --yes if you mean it"
        )
    try:
        said = input("discard this? [y/N] ")
    except EOFError:
        said = ""
    if said.strip().lower() not in ("y", "yes"):
        raise Refused("nothing was discarded", fix=f"go on with: holdfast run {build.place.path}")


def _end_processes(trees: list[Git], hands: Hands) -> None:
    for git in trees:
        if ended := leftovers.end_leftovers(token_prefix(git.git_dir)):
            hands.record(Recovered(f"{count(ended, 'process')} of a dead run, still alive", "ended"))


def _tell(going: Going, told: BuildDiscarded) -> None:
    print(f"discarded {told.branch}")
    if told.rescue:
        name = told.rescue.rsplit("/", 1)[-1]
        print(f"  its commits are kept as {told.rescue}")
        print(f"  look at them: git log {told.rescue}")
        print(f"  bring the branch back: git branch {told.branch} {told.rescue}")
        print(f"  let go of them: holdfast rescue drop {name}")
    for root in going.left:
        print(f"  {root} is still there; remove it with: git worktree remove {root}")
