"""What reading a large plan of another tool costs: `plan check`, against a small plan of the same kind."""

import json
from collections.abc import Callable, Iterator
from typing import NamedTuple

from bench.figures import Figure, at_most_more, interleaved, milliseconds
from bench.scratch import HOLDFAST, Bench, Repo, make_repo

FEW = 10
MORE = 500.0


class Kind(NamedTuple):
    what: str
    many: int
    write: Callable[[Repo, str, int], None]
    """Into a directory of that name, so many tasks."""


def measure(bench: Bench) -> Iterator[Figure]:
    repo = make_repo(bench, "reading")
    rounds = 3 if bench.quick else 9
    for kind in (Kind("epic", 1_000, _epic), Kind("spec", 10_000, _spec)):
        plans = [_made(repo, kind, tasks) for tasks in (FEW, kind.many)]
        few, many = interleaved(rounds, [_check(repo, plan) for plan in plans])
        what = f"plan check, {kind.what} of {kind.many:,}, floor: of {FEW}"
        yield Figure(what, milliseconds(many), milliseconds(few), "+ 0.5 s", at_most_more(MORE))


def _made(repo: Repo, kind: Kind, tasks: int) -> str:
    plan = f"{kind.what}-{tasks}"
    kind.write(repo, plan, tasks)
    return plan


def _check(repo: Repo, plan: str) -> Callable[[], list[float]]:
    return lambda: [repo.timed(HOLDFAST, "plan", "check", plan)]


def _epic(repo: Repo, directory: str, tasks: int) -> None:
    lines = ["epic: Large", "tickets:"]
    for number in range(tasks):
        lines += [f"  - id: t{number}", f"    title: Thing {number}", "    description: |", "      In words."]
        lines += ["    acceptance_criteria: [It works, It is tested]", f"    depends_on: {_before(number)}"]
        repo.write(f"{directory}/tickets/t{number}.md", f"# Thing {number}\n")
    repo.write(f"{directory}/large.epic.yaml", "\n".join([*lines, ""]))


def _before(number: int) -> str:
    return f"[t{number - 1}]" if number else "[]"


def _spec(repo: Repo, directory: str, tasks: int) -> None:
    items = [{"id": f"t{n}", "description": f"Thing {n}", "status": "pending"} for n in range(tasks)]
    half = tasks // 2
    phases = [
        {"phase": 1, "subtasks": items[:half]},
        {"phase": 2, "depends_on": [1], "subtasks": items[half:]},
    ]
    repo.write(f"{directory}/implementation_plan.json", json.dumps({"phases": phases}, indent=2))
