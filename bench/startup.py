"""How long a command takes that has next to nothing to do, against an interpreter that does nothing."""

import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec

from bench.figures import Figure, at_most, interleaved, milliseconds, skipped
from bench.runs import PLAN, set_plan
from bench.scratch import HOLDFAST, Bench, Repo, make_repo

TARGET = 3.0


def measure(bench: Bench) -> Iterator[Figure]:
    repo = make_repo(bench, "startup")
    set_plan(repo, tasks=10)
    yield _figure(bench, repo, "holdfast --help", "--help")
    if find_spec("holdfast.cli.status"):
        yield _figure(bench, repo, "holdfast status, plan of 10", "status", PLAN)
    else:
        yield skipped("holdfast status, plan of 10", "there is no such command yet")


def _figure(bench: Bench, repo: Repo, name: str, *words: str) -> Figure:
    rounds = 10 if bench.quick else 40
    floor, ours = interleaved(
        rounds, (_once(repo, sys.executable, "-c", "pass"), _once(repo, HOLDFAST, *words))
    )
    what = f"{name}, floor: python -c pass"
    return Figure(what, milliseconds(ours), milliseconds(floor), f"<= {TARGET:g} x", at_most(TARGET))


def _once(repo: Repo, *argv: str) -> Callable[[], list[float]]:
    return lambda: [repo.timed(*argv)]
