"""What the scenarios act on: a repository, the real command line, and a ledger that the agents keep."""

from pathlib import Path

import pytest

from invariants import AGENT, Expectation, broken_invariants
from scratch import Cli, Repo, Result

PLAN = "- [ ] One\n- [ ] Two\n- [ ] Three\n"
TASKS = ("1", "2", "3")


class Stage:
    def __init__(self, repo: Repo, cli: Cli, ledger: Path) -> None:
        self.repo, self.cli, self.ledger = repo, cli, ledger
        self.base = ""

    def plan(self, text: str, path: str = "plan.md") -> None:
        self.repo.write(path, text)
        self.base = self.repo.commit("plan")

    def run(self, *options: str, agent: str = AGENT, plan: str = "plan.md", **env: str) -> Result:
        command = ("run", plan, "--trunk", "--agent-cmd", agent, *options)
        return self.cli(*command, env={"LEDGER": str(self.ledger), **env})

    def killed(self, point: str, *options: str, agent: str = AGENT) -> None:
        result = self.run(*options, agent=agent, HOLDFAST_FAULT=point)
        assert result.code == -9, result.out + result.err

    def broken_promises(self, tasks: tuple[str, ...] = TASKS) -> list[str]:
        return broken_invariants(self.repo, Expectation("plan.md", tasks, self.base, self.ledger))

    def commits(self) -> list[str]:
        return self.repo.git("rev-list", "--reverse", f"{self.base}..HEAD").split()

    def changed(self, commit: str) -> set[str]:
        return set(self.repo.git("show", "--name-only", "--format=", commit).split())

    def dirt(self) -> list[str]:
        status = self.repo.git("status", "--porcelain", "--untracked-files=all")
        return [line[3:] for line in status.splitlines()]


@pytest.fixture
def stage(repo: Repo, cli: Cli, tmp_path: Path) -> Stage:
    return Stage(repo, cli, tmp_path / "ledger")
