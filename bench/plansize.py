"""Is a task of a long plan as cheap as one of a short plan? And finding out that nothing is to be done?"""

from collections.abc import Callable, Iterator
from importlib.util import find_spec

from bench.figures import Figure, at_most, at_most_more, interleaved, milliseconds, skipped
from bench.runs import AGENT, PLAN, run_tasks, set_plan, task_id
from bench.scratch import HOLDFAST, Bench, Repo, make_repo

SIZES = (10, 1_000, 10_000)
TASKS = 8
"""Run in each round; the first of them stands for the start of the run and is not counted."""
FLAT = 1.2
MORE = 500.0


def measure(bench: Bench) -> Iterator[Figure]:
    repos = {size: make_repo(bench, f"plan-{size}", files=200) for size in SIZES}
    small, *large = _per_task(bench, repos)
    for size, cost in zip(SIZES[1:], large, strict=True):
        what = f"a task in a plan of {size:,}, floor: of {SIZES[0]}"
        yield Figure(what, cost, small, f"<= {FLAT} x", at_most(FLAT))
    yield _longer(bench, repos, "rerun with nothing to do", _rerun)
    yield _longer(bench, repos, "run --dry-run", _dry_run)
    if find_spec("holdfast.cli.status"):
        yield _longer(bench, repos, "status", _status)
    else:
        yield skipped("status of a long plan", "there is no such command yet")


def _per_task(bench: Bench, repos: dict[int, Repo]) -> list[float]:
    def round_of(size: int) -> Callable[[], Iterator[float]]:
        return lambda: _run_some(repos[size], size)

    rounds = 2 if bench.quick else 5
    return [milliseconds(taken) for taken in interleaved(rounds, [round_of(size) for size in SIZES])]


def _run_some(repo: Repo, size: int) -> Iterator[float]:
    """In the middle of the plan: half of the others are done, half are pending."""
    first = (size - TASKS) // 2
    set_plan(repo, size, done=first)
    for cycle in run_tasks(repo, until=first + TASKS - 1):
        yield cycle.whole


def _longer(bench: Bench, repos: dict[int, Repo], what: str, action: Callable[[Repo], float]) -> Figure:
    small, large = repos[SIZES[0]], repos[SIZES[-1]]
    rounds = 3 if bench.quick else 9
    few, many = interleaved(rounds, (lambda: [action(small)], lambda: [action(large)]))
    name = f"{what}, plan of {SIZES[-1]:,}, floor: of {SIZES[0]}"
    return Figure(name, milliseconds(many), milliseconds(few), "+ 0.5 s", at_most_more(MORE))


def _rerun(repo: Repo) -> float:
    """The plan stands in the middle, where the last round left it."""
    return repo.timed(HOLDFAST, "run", PLAN, "--until", task_id(0), "--agent-cmd", AGENT)


def _dry_run(repo: Repo) -> float:
    return repo.timed(HOLDFAST, "run", PLAN, "--dry-run", "--agent-cmd", AGENT)


def _status(repo: Repo) -> float:
    return repo.timed(HOLDFAST, "status", PLAN)
