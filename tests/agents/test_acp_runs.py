"""Whole runs with an agent behind ACP: a stand-in, so that they need no program of anybody else."""

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from acp_stand_in import heard, stand_in
from invariants import AGENT, Expectation, broken_invariants, processes_marked_with
from scratch import HOLDFAST, Cli, Repo, Result

TASKS = ("1.1", "1.2")
WORK = ["sh", f"({AGENT}) >/dev/null"]
DONE = ["say", "<SUCCESS>task implemented</SUCCESS>"]
HALF = "echo half > work-$HOLDFAST_TASK_ID.txt; touch ../begun; exec tail -f /dev/null"
HANG_ONCE = ["sh", f"test -e ../begun || {{ {HALF}; }}"]


class Night:
    def __init__(self, repo: Repo, directory: Path) -> None:
        self.repo, self.directory = repo, directory
        repo.write("plan.md", "# Work\n\n- [ ] One\n- [ ] Two\n")
        self.base = repo.commit("plan")
        self.ledger = directory / "ledger"
        self.env = {**repo.env, "LEDGER": str(self.ledger)}

    def command(self, agent: str) -> tuple[str, ...]:
        return ("run", "plan.md", "--mode", "trunk", "--max-attempts", "1", "--agent", agent)

    def run(self, agent: str) -> Result:
        return Cli(self.repo.path, self.env)(*self.command(agent))

    def problems(self) -> list[str]:
        return broken_invariants(self.repo, Expectation("plan.md", TASKS, self.base, self.ledger))

    def ends(self) -> list[dict[str, Any]]:
        told = map(json.loads, Cli(self.repo.path, self.env)("log", "--json").out.splitlines())
        return [event for event in told if event["event"] == "agent_ended"]


@pytest.fixture
def night(repo: Repo, tmp_path: Path) -> Night:
    return Night(repo, tmp_path)


def test_a_plan_comes_to_its_end_and_its_log_has_the_form_of_every_agent(night: Night) -> None:
    call = {"toolCallId": "c", "title": "Edit", "kind": "edit", "locations": [{"path": "a.txt"}]}
    usage = {"usage": {"inputTokens": 70, "outputTokens": 7}}
    told = ["update", {"sessionUpdate": "tool_call", **call}]
    cost = ["update", {"sessionUpdate": "usage_update", "cost": {"amount": 0.25, "currency": "USD"}}]
    agent = stand_in(night.directory, WORK, told, cost, DONE, ["stop", "end_turn", usage])
    result = night.run(agent)
    assert result.code == 0, result.out + result.err
    assert night.problems() == []
    log = Cli(night.repo.path, night.env)("log", "1.1").out
    assert "  | → Edit: a.txt\n  | <SUCCESS>task implemented</SUCCESS>\n" in log
    assert "task 1.1: agent session new-one" in log
    assert [(end["cost_usd"], end["tokens_in"], end["tokens_out"]) for end in night.ends()] == [
        (0.25, 70, 7)
    ] * 2


def test_after_a_kill_in_the_middle_of_a_turn_the_conversation_is_loaded_again(night: Night) -> None:
    agent = stand_in(night.directory, HANG_ONCE, WORK, DONE, able={"loadSession": True})
    runner = subprocess.Popen(
        (*HOLDFAST, *night.command(agent)),
        cwd=night.repo.path,
        env=night.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _wait_for(lambda: (night.directory / "begun").exists())
    _wait_for(lambda: "agent_session" in Cli(night.repo.path, night.env)("log", "--json").out)
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    _wait_for(lambda: not processes_marked_with(f"LEDGER={night.ledger}"))
    result = night.run(agent)
    assert result.code == 0, result.out + result.err
    assert night.problems() == []
    loaded = [m["params"] for m in heard(night.directory) if m.get("method") == "session/load"]
    assert [params["sessionId"] for params in loaded] == ["new-one"]


def test_a_program_that_is_not_there_ends_with_69_before_anything_happens(night: Night) -> None:
    result = night.run("acp:no-such-agent --acp")
    assert result.code == 69
    assert "the agent no-such-agent is not on PATH" in result.err
    assert not (night.repo.path / ".git/holdfast").exists()


def test_a_program_that_speaks_something_else_fails_with_what_was_asked_of_it(night: Night) -> None:
    result = night.run("acp:cat")
    assert result.code == 1
    assert "task 1.1 failed after 1 attempt: initialize: " in result.err
    assert [end["outcome"] for end in night.ends()] == ["failed"]


def _wait_for(condition: Any) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
