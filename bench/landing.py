"""What a task costs beyond its agent, against `git add -A && git commit` of the same change."""

from collections.abc import Iterator

from bench.figures import Figure, at_most, milliseconds
from bench.runs import AGENT, PLAN, Cycle, plan_text, run_tasks, set_plan, task_id
from bench.scratch import Bench, Repo, make_repo

FSYNC = "-c core.fsync=all -c core.fsyncMethod=batch -c gc.auto=0"
COMMIT = f"git {FSYNC} add -A && git {FSYNC} commit --quiet -m 'One task'"
TARGET = 1.5


def measure(bench: Bench) -> Iterator[Figure]:
    for files in (1_000,) if bench.quick else (1_000, 50_000):
        yield from _measure(bench, files)


def _measure(bench: Bench, files: int) -> Iterator[Figure]:
    ours = make_repo(bench, f"landing-{files}", files)
    plain = make_repo(bench, f"floor-{files}", files)
    rounds, tasks = (2, 5) if bench.quick else (6, 6)
    cycles: list[Cycle] = []
    floor: list[float] = []
    agent: list[float] = []
    for _ in range(rounds):
        set_plan(ours, tasks + 1)
        cycles += run_tasks(ours, until=tasks)
        floor += _commits(plain, tasks)
        agent += _bare_agents(plain, tasks)
    yield from _figures(files, cycles, milliseconds(floor), milliseconds(agent))


def _figures(files: int, cycles: list[Cycle], floor: float, agent: float) -> Iterator[Figure]:
    landing = milliseconds([cycle.landing for cycle in cycles])
    supervised = milliseconds([cycle.agent for cycle in cycles])
    whole = milliseconds([cycle.whole for cycle in cycles])
    limit, target = at_most(TARGET), f"<= {TARGET} x"
    yield Figure(f"landing a task, {files:,} files", landing, floor, target, limit)
    yield Figure(f"a task beyond its agent, {files:,} files", whole - agent, floor, target, limit)
    yield Figure("  of that, starting and ending the agent", supervised - agent, floor, "", limit)


def _commits(repo: Repo, tasks: int) -> Iterator[float]:
    """The floor: the same new file and the same mark, committed by git alone."""
    set_plan(repo, tasks + 1)
    for number in range(tasks):
        repo.write(f"work/{task_id(number)}.txt", "done\n")
        repo.write(PLAN, plan_text(tasks + 1, done=number + 1))
        yield repo.timed("/bin/sh", "-c", COMMIT)


def _bare_agents(repo: Repo, tasks: int) -> Iterator[float]:
    """The agent's command line under nothing but a shell; what it writes is committed with the next plan."""
    command = AGENT.replace("$HOLDFAST_TASK_ID", "agent")
    for _ in range(tasks):
        yield repo.timed("/bin/sh", "-c", command)
