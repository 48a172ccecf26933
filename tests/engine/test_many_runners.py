"""Several runs started at once on one repository: exactly one works, the others are turned away."""

import subprocess
from pathlib import Path

from invariants import AGENT, Expectation, agent_starts, broken_invariants
from scratch import HOLDFAST, Repo

PLAN = "- [ ] One\n- [ ] Two\n"


def test_four_at_once_make_one_commit_per_task_and_the_losers_exit_75(repo: Repo, tmp_path: Path) -> None:
    repo.write("plan.md", PLAN)
    base = repo.commit("plan")
    ledger = tmp_path / "ledger"
    slow = AGENT + "sleep 0.5\n"
    command = [*HOLDFAST, "run", "plan.md", "--agent-cmd", slow]
    env = {**repo.env, "LEDGER": str(ledger)}
    runs = [
        subprocess.Popen(command, cwd=repo.path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    ended = [(run.communicate(timeout=60), run.returncode) for run in runs]
    codes = sorted(code for _, code in ended)
    assert codes == [0, 75, 75, 75], [err for (_, err), _ in ended]
    winner = next(run.pid for run, (_, code) in zip(runs, ended, strict=True) if code == 0)
    assert all(f"process {winner}".encode() in err for (_, err), code in ended if code == 75)
    assert agent_starts(ledger) == {"1": 1, "2": 1}
    assert broken_invariants(repo, Expectation("plan.md", ("1", "2"), base, ledger)) == []
