"""`holdfast log`: what happened in a run or to one task, with the agent's output."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.cli.place import journal_path, repository
from holdfast.cli.terminal import moment
from holdfast.engine.schedule import find_task
from holdfast.engine.source import plan_in_tree
from holdfast.errors import UsageError
from holdfast.journal import Reader, read_only
from holdfast.model.events import Entry, RunStarted
from holdfast.registry import find_plan
from holdfast.system import clock
from holdfast.system.git import Git
from holdfast.system.lock import is_held
from holdfast.views.jsonl import json_line
from holdfast.views.log import follow, log_lines
from holdfast.workspaces.base import state_directory
from holdfast.workspaces.trees import tree_on

_LOOK_EVERY = 0.5


class _Story(NamedTuple):
    """Which entries are asked for."""

    git: Git
    tree: Git
    """Where the run works."""
    reader: Reader
    run: str
    task: str

    def entries(self, after: int = 0) -> Iterator[Entry]:
        return self.reader.entries(run=self.run, task=self.task, after=after)

    def over(self) -> bool:
        """Nothing more will come: no run is under way in this working tree."""
        return not is_held(self.tree.git_dir)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("task", nargs="?", metavar="TASK", help="only this task (default: the whole run)")
    parser.add_argument("--plan", metavar="PLAN", help="the last run of this plan (default: the last run)")
    parser.add_argument("--follow", action="store_true", help="go on showing what comes until the run ends")
    parser.add_argument("--json", action="store_true", help="one JSON object per event, without output")


def execute(args: Namespace) -> int:
    git = repository()
    story = _story(git, args.plan, args.task)
    told = False
    for line in _lines(story, args):
        told = True
        print(line, flush=args.follow)
    if not (told or args.json):
        print(f"nothing has happened to task {story.task} yet")
    if story.reader.problem:
        sys.stderr.write(f"holdfast: {story.reader.problem}\n")
    return 0


def _lines(story: _Story, args: Namespace) -> Iterator[str]:
    state = state_directory(story.git)
    if args.json:
        return _json_lines(story, follow=args.follow)
    if not args.follow:
        return log_lines(story.entries(), state, clock=moment)
    return follow(
        story.reader,
        state,
        clock=moment,
        sleep=clock.sleep,
        stop=story.over,
        interval=_LOOK_EVERY,
        run=story.run,
        task=story.task,
    )


def _json_lines(story: _Story, *, follow: bool) -> Iterator[str]:
    last = 0
    over = False
    while not over:
        over = not follow or story.over()  # asked first, so that nothing recorded before the end is missed
        for entry in story.entries(after=last):
            yield json_line(entry)
            last = entry.seq
        if not over:
            clock.sleep(_LOOK_EVERY)


def _story(git: Git, plan: str | None, task: str | None) -> _Story:
    reader = read_only(journal_path(git))
    path = find_plan(git, plan).path if plan else ""
    started = _last_start(reader, path)
    if started is None:
        raise _nothing_yet(reader, path)
    assert isinstance(started.event, RunStarted)
    wanted = _task_id(git, reader, started.run, started.event.plan, task) if task else ""
    tree = tree_on(git.common_dir, f"refs/heads/{started.event.branch}")
    return _Story(git, tree.git(git.common_dir) if tree else git, reader, started.run, wanted)


def _last_start(reader: Reader, plan: str) -> Entry | None:
    last = None
    for entry in reader.entries(kinds=("run_started",)):
        if isinstance(entry.event, RunStarted) and plan in ("", entry.event.plan):
            last = entry
    return last


def _nothing_yet(reader: Reader, plan: str) -> UsageError:
    if reader.problem:
        return UsageError(reader.problem, fix="the next run starts a fresh journal")
    where = f"for {plan}" if plan else "in this repository"
    return UsageError(f"there is no log yet {where}", fix=f"start a run: holdfast run {plan or 'PLAN'}")


def _task_id(git: Git, reader: Reader, run: str, plan: str, wanted: str) -> str:
    """As the journal knows it: a task may have been renamed since, or not have been started."""
    if any(True for _ in reader.entries(run=run, task=wanted)):
        return wanted
    place = find_plan(git, f"{git.root}/{plan}")
    return find_task(plan_in_tree(git.root, place).plan, wanted).id
