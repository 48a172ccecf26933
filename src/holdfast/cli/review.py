"""`holdfast review`: what was built. Looks only."""

import json
import os
import shlex
from argparse import ArgumentParser, Namespace

from holdfast.cli.build import Found, find_build
from holdfast.cli.place import journal_path
from holdfast.cli.rescue import restore_command
from holdfast.cli.terminal import width
from holdfast.engine.build import Build, built_plan, commits_between, common_start, is_merged, short
from holdfast.engine.message import RUN
from holdfast.engine.rescue_list import list_rescues
from holdfast.errors import PlanError, UsageError
from holdfast.journal import read_only
from holdfast.model.plan import Plan
from holdfast.model.state import fold
from holdfast.system.git import Git
from holdfast.views.build import BuiltCommit, ChangedFile, Next, Review, review_json, review_lines
from holdfast.views.status import Rescue


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "plan", nargs="?", metavar="PLAN", help="plan file or directory (default: the last one)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def execute(args: Namespace) -> int:
    print("\n".join(review_build(find_build(args.plan), as_json=args.json)))
    return 0


def review_build(found: Found, *, as_json: bool = False) -> list[str]:
    found = _where_it_is(found)
    build = found.build
    if not build.tip:
        raise UsageError(
            f"nothing was built yet: there is no branch {build.name}",
            fix=f"build it first: holdfast run {found.named}",
        )
    plan = built_plan(build)
    if plan is None:
        raise PlanError(build.place.path, 0, f"not there on {build.name}")
    state = fold(read_only(journal_path(build.checkout)).entries(run=build.run))
    review = _review(found, plan)
    if as_json:
        return [json.dumps(review_json(plan, state, review))]
    return review_lines(plan, state, review, width=width())


def _where_it_is(found: Found) -> Found:
    """Run in place, the branch that is checked out has the commits."""
    if not found.in_place:
        return found
    git = found.build.checkout
    branch = git.current_branch() or ""
    build = found.build._replace(branch=branch, tip=git.resolve("HEAD") or "", tree=git)
    return found._replace(build=build)


def _review(found: Found, plan: Plan) -> Review:
    build, git = found.build, found.build.checkout
    here = git.current_branch() or ""
    in_place = here == build.branch
    into = "" if in_place else here
    start = _start_in_place(build) if in_place else common_start(git, "HEAD", build.tip)
    merged = not in_place and is_merged(git, build.tip, "HEAD")
    commits = commits_between(git, plan.path, start, build.tip)
    own_tree = build.tree if build.tree and build.tree.git_dir != git.git_dir else None
    return Review(
        branch=build.name,
        into=short(into),
        start=start,
        tip=build.tip,
        tree=own_tree.root if own_tree else "",
        merged=merged,
        commits=tuple(BuiltCommit(*commit) for commit in commits),
        files=_changed(git, start, build.tip),
        uncommitted=own_tree.dirt().paths if own_tree else (),
        rescues=tuple(
            Rescue(kept.ref, kept.reason, restore_command(kept, in_place=False))
            for kept in list_rescues(git, build.run)
        ),
        next=_next(found, plan, start, short(into), merged=merged),
    )


def _start_in_place(build: Build) -> str:
    """The commit before the first of the run; its tip where it has none yet."""
    said = f"--grep={RUN}: {build.run}"
    listing = build.checkout.text("log", "--format=%H %P", "--fixed-strings", said, build.tip, "--")
    if not listing:
        return build.tip
    return listing.splitlines()[-1].partition(" ")[2].partition(" ")[0]


def _changed(git: Git, start: str, tip: str) -> tuple[ChangedFile, ...]:
    if not start:
        start = git.run("mktree").decode("ascii").strip()
    raw = git.run("diff-tree", "-r", "--numstat", "-z", "--no-renames", start, tip)
    rows = (row.split("\t", 2) for row in os.fsdecode(raw).split("\0") if row)
    return tuple(ChangedFile(path, _number(added), _number(removed)) for added, removed, path in rows)


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _next(found: Found, plan: Plan, start: str, into: str, *, merged: bool) -> tuple[Next, ...]:
    build, named = found.build, found.named
    finished = all(task.status.settled for task in plan.tasks)
    tip = shlex.quote(build.name)
    steps = [] if finished else [Next("go on", f"holdfast run {named}")]
    if not into:
        return (*steps, Next("look at it", f"git diff {start[:12]} {tip}"))
    if not merged:
        steps.append(Next("look at it", f"git diff {shlex.quote(into)}...{tip}"))
    if build.tree:
        steps.append(Next("try it", f"cd {shlex.quote(build.tree.root)}"))
    if not merged:
        partial = "" if finished else " --partial"
        steps.append(Next("merge it", f"holdfast merge {named}{partial}"))
    return (*steps, Next("discard it", f"holdfast discard {named}"))
