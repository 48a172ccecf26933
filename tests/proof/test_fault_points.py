"""Kill the runner before and after every durable step; the same command again must end the same way."""

import signal
from pathlib import Path

import pytest

from invariants import AGENT, Expectation, agent_starts, broken_invariants, frozen
from scratch import Cli, Repo

PLAN = "# Plan\n\n- [ ] First thing\n- [ ] Second thing\n- [ ] Third thing\n"
TASKS = ("1.1", "1.2", "1.3")


class Bench:
    """A repository with a three-task plan, the test agent and its ledger."""

    def __init__(self, repo: Repo, cli: Cli, tmp_path: Path) -> None:
        self.repo, self.cli = repo, cli
        self.ledger = tmp_path / "ledger"
        self.log = tmp_path / "points"
        repo.write("plan.md", PLAN)
        base = repo.commit("Add the plan")
        self.expected = Expectation("plan.md", TASKS, base, self.ledger)

    def run(self, **env: str) -> int:
        command = ("run", "plan.md", "--trunk", "--agent-cmd", AGENT, "--verify", "test -d shared")
        result = self.cli(*command, env={"LEDGER": str(self.ledger), **env})
        self.said = result.out + result.err
        return result.code


@pytest.fixture
def bench(repo: Repo, cli: Cli, tmp_path: Path) -> Bench:
    return Bench(repo, cli, tmp_path)


def points_reached(bench: Bench) -> list[str]:
    assert bench.run(HOLDFAST_FAULT_LOG=str(bench.log)) == 0, bench.said
    return list(dict.fromkeys(bench.log.read_text().split()))


def test_every_fault_point_can_be_killed_and_the_same_command_goes_on(
    bench: Bench, tmp_path: Path, environment: dict[str, str]
) -> None:
    from scratch import scratch_repo

    failures = []
    points = [
        p for p in points_reached(bench) if p.endswith("@2")
    ]  # the second task: something before, something after
    assert len(points) >= 19
    for number, point in enumerate(points):
        repo = scratch_repo(tmp_path / f"repo-{number}", environment)
        failures += killed_at(Bench(repo, Cli(repo.path, repo.env), _made(tmp_path / f"own-{number}")), point)
    assert failures == []


def killed_at(bench: Bench, point: str) -> list[str]:
    code = bench.run(HOLDFAST_FAULT=point)
    if code != -signal.SIGKILL:
        return [f"{point}: was not reached ({code})\n{bench.said}"]
    code = bench.run()
    if code != 0:
        return [f"{point}: the rerun exits {code}\n{bench.said}"]
    problems = broken_invariants(bench.repo, bench.expected)
    if max(agent_starts(bench.ledger).values()) > 2:
        problems.append("an agent was started more than twice")
    before = frozen(bench.repo)
    if bench.run() != 0 or frozen(bench.repo) != before:
        problems.append("one more rerun changes something")
    return [f"{point}: {problem}\n{bench.said}" for problem in problems]


def _made(path: Path) -> Path:
    path.mkdir()
    return path
