"""`holdfast retry`, `skip` and `reset`: one task's fate, changed by hand and recorded."""

import argparse
import os
import sys

from holdfast.cli.ground import ground_of_last_run
from holdfast.cli.place import plan_place, repository
from holdfast.cli.session import open_site, prepare, time_of_day
from holdfast.config import load_config
from holdfast.engine import fate
from holdfast.views.lines import LinesView

ACTIONS = {"retry": fate.retry, "skip": fate.skip, "reset": fate.reset}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="the task's id, as `holdfast plan list` shows it")
    parser.add_argument("--plan", metavar="PLAN", help="the plan it is in (default: the last one run)")


def execute(args: argparse.Namespace) -> int:
    git = repository()
    place = plan_place(git, args.plan)
    config = load_config(git.root, os.environ, {}, place.dialect.preset)
    where = ground_of_last_run(git, place, config.policy)
    view = LinesView(sys.stdout, clock=time_of_day, quiet=True)
    with open_site(where, place, config, lambda: view) as (site, _):
        prepare(site, where)
        print(ACTIONS[args.command](site, args.task))
    return 0
