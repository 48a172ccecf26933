"""A real `holdfast run` with a trivial agent, and how long its tasks took by its own event stream."""

import json
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

from bench.scratch import HOLDFAST, Repo

PLAN = "plan.md"
AGENT = 'echo done > "work/$HOLDFAST_TASK_ID.txt"'


class Cycle(NamedTuple):
    """One task, in seconds between the time stamps of events."""

    whole: float
    """From the landing of the task before to its own: everything, the agent included."""
    agent: float
    """From the attempt's start to the agent's end, the supervisor's start and end included."""
    landing: float
    """From the agent's end to the landed commit, with index and plan in line."""


def plan_text(tasks: int, done: int = 0) -> str:
    rows = (f"- [{'x' if n < done else ' '}] {task_id(n)} Write part number {n}\n" for n in range(tasks))
    return "# A plan\n\n" + "".join(rows)


def task_id(number: int) -> str:
    return f"T{number:05d}"


def set_plan(repo: Repo, tasks: int, done: int = 0) -> None:
    """Commits the plan with its first `done` tasks done, and clears away what earlier rounds made."""
    repo.git("rm", "-r", "--quiet", "--ignore-unmatch", "work")
    repo.write(PLAN, plan_text(tasks, done))
    repo.write("work/.keep", "")
    repo.commit("Set the plan")


def run_tasks(repo: Repo, until: int) -> list[Cycle]:
    """Runs up to and including task number `until`. The first task of a run stands for its start."""
    argv = (HOLDFAST, "run", PLAN, "--json", "--until", task_id(until), "--agent-cmd", AGENT)
    done = subprocess.run(argv, cwd=repo.path, env=repo.env, capture_output=True)
    if done.returncode:
        raise SystemExit(f"holdfast run exited with {done.returncode}:\n{done.stderr.decode()}")
    return list(_cycles(done.stdout.decode()))


def _cycles(stream: str) -> Iterator[Cycle]:
    started = ended = landed_before = 0.0
    for event in map(json.loads, stream.splitlines()):
        at = float(event["at"])
        match event["event"]:
            case "attempt_started":
                started = at
            case "agent_ended":
                ended = at
            case "task_landed":
                if landed_before:
                    yield Cycle(at - landed_before, ended - started, at - ended)
                landed_before = at
