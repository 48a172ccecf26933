"""Several tasks at once: how near to the ideal they end, and what landing costs as their number grows."""

import json
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

from bench.figures import Figure, at_most, milliseconds
from bench.runs import PLAN, task_id
from bench.scratch import HOLDFAST, Bench, Repo, make_repo

TASKS, JOBS, SLEEP = 64, 16, 1.0
TARGET = 1.05
WRITE = 'echo done > "$HOLDFAST_TASK_ID.txt"'
JOB_COUNTS = (1, 2, 4, 8, 16)


class Side(NamedTuple):
    """A run of independent tasks, in seconds by the time stamps of its events."""

    makespan: float
    """From the first attempt's start to the last landing."""
    landings: tuple[float, ...]
    """How long each task kept the others from landing."""


def measure(bench: Bench) -> Iterator[Figure]:
    tasks, jobs = (16, 4) if bench.quick else (TASKS, JOBS)
    ran = _run(make_repo(bench, "many-makespan", 1_000), tasks, jobs, f"sleep {SLEEP:g}; {WRITE}")
    ideal = tasks / jobs * SLEEP + sum(ran.landings)
    what = f"{tasks} tasks of {SLEEP:g} s by {jobs} agents, ideal + landing"
    yield Figure(what, ran.makespan * 1000, ideal * 1000, f"<= {TARGET} x", at_most(TARGET))
    floor = 0.0
    for jobs in JOB_COUNTS[:3] if bench.quick else JOB_COUNTS:
        ran = _run(make_repo(bench, f"many-{jobs}", 1_000), 4 * jobs if bench.quick else 32, jobs, WRITE)
        landing = milliseconds(ran.landings)
        floor = floor or landing
        yield Figure(f"  landing one of many, --jobs {jobs}", landing, floor, "", at_most(1.0))


def _run(repo: Repo, tasks: int, jobs: int, agent: str) -> Side:
    rows = (f"- [ ] {task_id(n)} [P] Write part number {n}\n" for n in range(tasks))
    repo.write(PLAN, "# A plan\n\n" + "".join(rows))
    repo.commit("Set the plan")
    argv = (HOLDFAST, "run", PLAN, "--json", "--worktree", "--jobs", str(jobs), "--agent-cmd", agent)
    done = subprocess.run(argv, cwd=repo.path, env=repo.env, capture_output=True)
    if done.returncode:
        raise SystemExit(f"holdfast run exited with {done.returncode}:\n{done.stderr.decode()}")
    return _side([json.loads(line) for line in done.stdout.decode().splitlines()])


def _side(events: list[dict[str, object]]) -> Side:
    ready: dict[object, float] = {}
    landings, began, last = [], 0.0, 0.0
    for event in events:
        at = float(str(event["at"]))
        match event["event"]:
            case "attempt_started":
                began = began or at
            case "agent_ended" | "gate_finished" | "queued":
                ready[event["task"]] = min(at, ready.get(event["task"], at))
            case "task_landed":
                landings.append(at - max(last, ready[event["task"]]))
                last = at
    return Side(last - began, tuple(landings))
