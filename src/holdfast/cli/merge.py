"""`holdfast merge`: what a run has built lands in the user's branch, beside their uncommitted work."""

from argparse import ArgumentParser, Namespace

from holdfast.cli.build import Found, find_build, hands_on, in_place_words
from holdfast.engine.build import short
from holdfast.engine.hooks import hook_path
from holdfast.engine.merge import Course, Effects, Merged, Wish, chart, merge
from holdfast.engine.merge_commit import Style
from holdfast.engine.merge_record import cut_off
from holdfast.errors import UsageError
from holdfast.views.build import Next, count, next_lines
from holdfast.views.words import short_commit
from holdfast.workspaces.base import Workspace


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "plan", nargs="?", metavar="PLAN", help="plan file or directory (default: the last one)"
    )
    parser.add_argument("--into", metavar="BRANCH", help="another branch than the one that is checked out")
    parser.add_argument("--squash", action="store_true", help="as one commit whose message lists the tasks")
    parser.add_argument("--no-ff", action="store_true", help="by a merge commit even where none is needed")
    parser.add_argument("--partial", action="store_true", help="although tasks are open")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")


def execute(args: Namespace) -> int:
    if args.squash and args.no_ff:
        raise UsageError("--squash and --no-ff contradict each other", fix="give one of them")
    style = Style.SQUASH if args.squash else Style.MERGE if args.no_ff else Style.AS_FITS
    wish = Wish(args.into or "", style, args.partial)
    found = find_build(args.plan)
    if found.in_place:
        print(f"nothing to merge: {in_place_words(found)}")
    else:
        merge_build(found, wish, dry_run=args.dry_run)
    return 0


def merge_build(found: Found, wish: Wish, *, dry_run: bool = False) -> None:
    build = found.build
    trees = [build.checkout, *([build.tree] if build.tree else [])]
    with hands_on(build, trees) as hands:
        if dry_run:
            _tell(found, wish)
            return
        effects = Effects(
            hands.record, hands.attempts, hands.stops, hands.lock, found.config.policy.hook_timeout
        )
        done = merge(build, wish, effects)
    if done is None:
        _tell_merged(found, wish)
    else:
        _tell_done(found, done)


def _tell_merged(found: Found, wish: Wish) -> None:
    into = wish.into or short(found.build.checkout.current_branch() or "")
    print(f"already merged: {into} has all of {found.build.name}")
    print("\n".join(next_lines([Next("clean up", f"holdfast discard {found.named}")])))


def _tell_done(found: Found, done: Merged) -> None:
    build = found.build
    into = short(done.target)
    here = build.checkout.current_branch() == done.target
    print(f"merged {build.name} into {into}: {done.words}, {count(done.commits, 'commit')}")
    print(f"  {into} was at {short_commit(done.old)} and is at {short_commit(done.new)}")
    if here:
        print("  your checkout has followed; what you have changed or staged there is as it was")
    if hook_path(build.checkout, "pre-merge-commit") and done.new != build.tip:
        print("  the pre-merge-commit hook was not run: it would have seen your files from before the merge")
    if build.tree and not build.tree.dirt().clean:
        print(f"  {build.tree.root} has changes that are in no commit: they are not part of this")
    undo = f"git reset --keep {short_commit(done.old)}"
    steps = [Next("undo", undo)] if here else []
    print("\n".join(next_lines([*steps, Next("clean up", f"holdfast discard {found.named}")])))


def _tell(found: Found, wish: Wish) -> None:
    build = found.build
    if pending := cut_off(Workspace(build.checkout, "").tree_state):
        print(pending)
        return
    course = chart(build, wish)
    print(_intention(found, course))
    left = [task.id for task in course.plan.tasks if not task.status.settled]
    if left:
        print(f"  open: {', '.join(left)}")
    print("nothing was changed (--dry-run)")


def _intention(found: Found, course: Course) -> str:
    into = short(course.target.branch)
    if course.way is None:
        return f"already merged: {into} has all of {found.build.name}"
    what = f"would merge {found.build.name} into {into}: {course.way.words}"
    if course.step is None:
        return f"{what}, {count(course.commits, 'commit')}; {into} is not checked out"
    files = found.build.checkout.changes_between(course.step.old, course.step.new)
    return f"{what}, {count(course.commits, 'commit')}, {count(len(files), 'file')} of your checkout"
