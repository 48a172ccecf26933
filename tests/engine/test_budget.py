"""What agents cost: told per task and run, remembered over restarts, and capped."""

import json
from pathlib import Path

import pytest

from scratch import Cli, Repo, Result
from stand_ins import stand_in

PLAN = "# Work\n\n- [ ] One\n- [ ] Two\n- [ ] Three\n"
WORK = 'echo "$*" >> "$CALLS"; date +%N > "$HOLDFAST_TASK_ID.txt"; '
HALF_A_DOLLAR = 'sed \'s/"total_cost_usd": [0-9.e-]*/"total_cost_usd": 0.5/\' {finished}'


class Night:
    def __init__(self, repo: Repo, cli: Cli, directory: Path) -> None:
        self.repo, self.cli, self.directory = repo, cli, directory
        repo.write("plan.md", PLAN)
        self.base = repo.commit("plan")
        self.calls = directory.parent / "calls"

    def run(self, *options: str, name: str = "claude", body: str = WORK + HALF_A_DOLLAR) -> Result:
        path = stand_in(name, body, self.directory, self.repo.env["PATH"])
        env = {"PATH": path, "CALLS": str(self.calls)}
        return self.cli("run", "plan.md", "--agent", name, *options, env=env)

    def landed(self) -> int:
        return int(self.repo.git("rev-list", "--count", f"{self.base}.."))


@pytest.fixture
def night(repo: Repo, cli: Cli, tmp_path: Path) -> Night:
    return Night(repo, cli, tmp_path / "bin")


def test_no_attempt_begins_once_the_cap_is_reached_and_a_rerun_remembers(night: Night) -> None:
    result = night.run("--max-cost", "1")
    assert result.code == 5
    assert "holdfast: $1.0000 was spent on this plan, and max_cost is $1" in result.err
    assert night.landed() == 2
    again = night.run("--max-cost", "1")
    assert again.code == 5 and night.landed() == 2
    more = night.run("--max-cost", "1.2")
    assert more.code == 0, more.out + more.err
    assert night.landed() == 3
    assert "$1.5000" in more.out.splitlines()[-1]


def test_a_finished_plan_needs_no_more_money(night: Night) -> None:
    assert night.run("--max-cost", "1.5").code == 0
    assert night.run("--max-cost", "1").code == 0


def test_status_tells_what_was_spent_on_each_task_and_on_all(night: Night) -> None:
    assert night.run("--until", "1.2").code == 0
    told = json.loads(night.cli("status", "--json").out)
    assert told["spent"]["cost_usd"] == 1.0 and told["spent"]["tokens_in"] > 0
    assert [task["spent"]["cost_usd"] for task in told["tasks"]] == [0.5, 0.5, None]
    text = night.cli("status").out
    assert "One ($0.5000)" in text and ", $1.0000\n" in text


def test_failed_attempts_cost_too(night: Night) -> None:
    result = night.run("--verify", "false", "--max-attempts", "2")
    assert result.code == 1
    assert json.loads(night.cli("status", "--json").out)["tasks"][0]["spent"]["cost_usd"] == 1.0


def test_the_cap_holds_without_commits_too(night: Night) -> None:
    assert night.run("--allow-dirty", "--max-cost", "0.5").code == 5
    assert len(night.calls.read_text().splitlines()) == 1


def test_the_turns_it_may_take_are_handed_to_claude_and_refused_for_others(night: Night) -> None:
    assert night.run("--only", "1.1", "--max-turns", "7").code == 0
    assert " --max-turns 7 " in night.calls.read_text()
    refused = night.run("--max-turns", "7", name="codex")
    assert refused.code == 2
    assert "--max-turns means nothing to the agent codex" in refused.err and "--agent claude" in refused.err
