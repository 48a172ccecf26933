"""Several runs started at once on one repository: exactly one works, the others are turned away."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from invariants import AGENT, Expectation, agent_starts, broken_invariants
from scratch import HOLDFAST, Repo, scratch_repo

PLAN = "# Plan\n\n- [ ] One\n- [ ] Two\n"
TASKS = ("1.1", "1.2")


@pytest.mark.parametrize("rounds", [1, pytest.param(25, marks=pytest.mark.crash)])
def test_four_at_once_make_one_commit_per_task_and_the_losers_exit_75(
    environment: dict[str, str], tmp_path: Path, rounds: int
) -> None:
    for number in range(rounds):
        _four_at_once(scratch_repo(tmp_path / f"repo-{number}", environment), tmp_path / f"ledger-{number}")


def _four_at_once(repo: Repo, ledger: Path) -> None:
    repo.write("plan.md", PLAN)
    base = repo.commit("plan")
    go = ledger.with_suffix(".go")
    patient = f"while ! test -e {go}; do sleep 0.05; done\n{AGENT}"
    command = [*HOLDFAST, "run", "plan.md", "--agent-cmd", patient]
    env = {**repo.env, "LEDGER": str(ledger)}
    runs = [
        subprocess.Popen(command, cwd=repo.path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    _until(lambda: sum(run.poll() is not None for run in runs) >= 3)
    go.touch()
    ended = [(run.communicate(timeout=60), run.returncode) for run in runs]
    assert sorted(code for _, code in ended) == [0, 75, 75, 75], [err for (_, err), _ in ended]
    winner = next(run.pid for run, (_, code) in zip(runs, ended, strict=True) if code == 0)
    assert all(f"process {winner}".encode() in err for (_, err), code in ended if code == 75)
    assert agent_starts(ledger) == dict.fromkeys(TASKS, 1)
    assert broken_invariants(repo, Expectation("plan.md", TASKS, base, ledger)) == []


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
