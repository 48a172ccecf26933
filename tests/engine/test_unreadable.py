"""A plan that a commit has and git cannot read is not a plan that is not there: nothing is done again."""

from pathlib import Path

import pytest

from scratch import Cli, Repo, Result

AGENT = 'echo "$HOLDFAST_TASK_ID" >> "$CALLS"; touch "$HOLDFAST_TASK_ID.txt"'
EPIC = "name: Shop\ntickets: [{id: a, title: Add it}, {id: b, title: Sell it}]\n"
STATE = "epics/shop/artifacts/epic-state.json"


class Night:
    def __init__(self, cli: Cli, calls: Path, plan: str, mode: str) -> None:
        self._cli, self._calls, self._plan = cli, calls, plan
        self._env = {"CALLS": str(calls), "HOLDFAST_MODE": mode}

    def run(self, *words: str) -> Result:
        return self._cli("run", self._plan, *words, "--agent-cmd", AGENT, env=self._env)

    def status(self) -> Result:
        return self._cli("status", self._plan, env=self._env)

    def calls(self) -> list[str]:
        return self._calls.read_text().split()


def damage(repo: Repo, revision: str) -> tuple[Path, bytes]:
    name = repo.git("rev-parse", revision)
    path = repo.path / ".git/objects" / name[:2] / name[2:]
    whole = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(b"")
    return path, whole


def stops_and_goes_on_when_mended(night: Night, repo: Repo, branch: str, path: str) -> None:
    before, called = repo.git("rev-parse", branch), night.calls()
    damaged, whole = damage(repo, f"{branch}:{path}")
    for result in (night.run(), night.status()):
        assert result.code == 1
        assert f"git cannot read {path} at {before[:12]}\n  fix: mend what `git fsck`" in result.err
    assert "tasks done" not in result.out, "nobody knows how many are"
    assert (repo.git("rev-parse", branch), night.calls()) == (before, called)
    damaged.write_bytes(whole)
    assert night.run().code == 0
    assert len(night.calls()) == len(set(night.calls())) == 2


@pytest.mark.parametrize(("mode", "branch"), [("trunk", "main"), ("worktree", "holdfast/plan")])
def test_a_plan_that_cannot_be_read_stops_the_run(
    repo: Repo, cli: Cli, tmp_path: Path, mode: str, branch: str
) -> None:
    repo.write("plan.md", "- [ ] One\n- [ ] Two\n")
    repo.commit("Add the plan")
    night = Night(cli, tmp_path / "calls", "plan.md", mode)
    assert night.run("--only", "1").code == 0
    stops_and_goes_on_when_mended(night, repo, branch, "plan.md")


def test_a_state_file_that_cannot_be_read_does_not_open_its_tickets_again(
    repo: Repo, cli: Cli, tmp_path: Path
) -> None:
    repo.write("epics/shop/shop.epic.yaml", EPIC)
    for ticket in "ab":
        repo.write(f"epics/shop/tickets/{ticket}.md", f"Do {ticket}.\n")
    repo.commit("Add the epic")
    night = Night(cli, tmp_path / "calls", "epics/shop", "trunk")
    assert night.run("--only", "a").code == 0
    stops_and_goes_on_when_mended(night, repo, "main", STATE)


def test_a_plan_that_somebody_takes_off_the_run_branch_ends_a_run_of_many(
    repo: Repo, cli: Cli, tmp_path: Path
) -> None:
    repo.write("plan.md", "- [ ] [P] One\n- [ ] [P] Two\n")
    repo.commit("Add the plan")
    remove = (
        "commit=$(git commit-tree -p holdfast/plan -m Mine 'main^^{tree}'); "
        "git update-ref -m 'commit: Mine' refs/heads/holdfast/plan $commit"
    )
    many = ("run", "plan.md", "--worktree", "-j", "2", "--agent-cmd")
    result = cli(*many, f"touch one.txt; {remove}", "--only", "1")
    assert result.code == 1
    assert "git finds no plan.md on holdfast/plan, where it was" in result.err
    repo.git("-C", f"{repo.path}-worktrees/plan", "revert", "--no-edit", "holdfast/plan")
    again = cli(*many, 'touch "$HOLDFAST_TASK_ID"')
    assert again.code == 0, again.err
    assert "2 of 2 tasks done" in again.out
