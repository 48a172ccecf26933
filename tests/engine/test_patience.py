"""Limits and errors of an agent's service: waits that are bounded, survive a kill and are no attempts."""

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.engine.patience import limit_pause
from holdfast.model.policy import Policy
from scratch import HOLDFAST, Cli, Repo, Result
from stand_ins import stand_in

FINISHED = "echo made > made.txt; cat {finished}"
FAST = {"HOLDFAST_RETRY_ERROR_PAUSE": "0"}
PATIENCE = 60.0


def until_second(first: str, then: str = FINISHED) -> str:
    """The stand-in's arguments are kept; its first call is another than those that follow."""
    return f'echo "$*" >> "$CALLS"; test -e "$CALLS.2" || {{ touch "$CALLS.2"; {first}; exit 1; }}; {then}'


def limited_for(seconds: int) -> str:
    """As recorded, but for the moment of the reset."""
    return f"sed s/4102444800/$(($(date +%s) + {seconds}))/g {{limited}}"


class Night:
    def __init__(self, repo: Repo, cli: Cli, directory: Path) -> None:
        self.repo, self.cli, self.directory = repo, cli, directory
        repo.write("plan.md", "- [ ] One\n")
        self.base = repo.commit("plan")
        self.calls = directory.parent / "calls"

    def environment(self, name: str, body: str, **env: str) -> dict[str, str]:
        path = stand_in(name, body, self.directory, self.repo.env["PATH"])
        return {"PATH": path, "CALLS": str(self.calls), **FAST, **env}

    def run(self, name: str, body: str, *options: str, **env: str) -> Result:
        words = ("run", "plan.md", "--agent", name, *options)
        return self.cli(*words, env=self.environment(name, body, **env))

    def start(self, name: str, body: str, *options: str) -> "subprocess.Popen[bytes]":
        argv = (*HOLDFAST, "run", "plan.md", "--agent", name, *options)
        env = {**self.cli.env, **self.environment(name, body)}
        nowhere = subprocess.DEVNULL
        return subprocess.Popen(argv, cwd=self.repo.path, env=env, stdout=nowhere, stderr=nowhere)

    def events(self, kind: str) -> list[dict[str, Any]]:
        told = map(json.loads, self.cli("log", "--json").out.splitlines())
        return [event for event in told if event["event"] == kind]

    def outcomes(self) -> list[str]:
        return [event["outcome"] for event in self.events("agent_ended")]

    def wait_for_event(self, kind: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self.events(kind):
            assert time.monotonic() < deadline, f"no {kind} within {PATIENCE:g} s"
            time.sleep(0.05)

    def landed(self) -> bool:
        return self.repo.git("rev-list", "--count", f"{self.base}..") == "1"


@pytest.fixture
def night(repo: Repo, cli: Cli, tmp_path: Path) -> Night:
    return Night(repo, cli, tmp_path / "bin")


def test_after_a_limit_the_same_attempt_goes_on_in_the_same_conversation(night: Night) -> None:
    first = f"echo half > half.txt; {limited_for(0)}"
    result = night.run("claude", until_second(first), "--max-attempts", "1")
    assert result.code == 0, result.out + result.err
    assert night.outcomes() == ["limited", "finished"]
    assert night.landed() and night.events("attempt_failed") == []
    assert [event["attempt"] for event in night.events("attempt_started")] == [1, 1]
    (wait,) = night.events("waiting")
    assert "waiting " in result.out and "5-hour limit" in wait["reason"]
    assert "--resume 6b1f2c6e-0d4f-4a55-9a53-1f6f3c0f7d11" in night.calls.read_text().splitlines()[1]
    second = sorted((night.repo.path / ".git/holdfast/logs").rglob("*.prompt.md"))[-1].read_text()
    assert "This attempt was interrupted and goes on now." in second and "- `half.txt`" in second


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_a_limit_that_lasts_too_long_ends_with_5_and_when_to_run_again(night: Night, name: str) -> None:
    result = night.run(name, "echo half > half.txt; cat {limited}; exit 1", "--max-attempts", "1")
    assert result.code == 5
    assert f"holdfast: the agent {name} has met a limit" in result.err and "(21600 s)" in result.err
    assert "run the same command again after 2100-01-01 00:00" in result.err
    assert night.events("attempt_failed") == [] and night.events("waiting") == []
    assert (night.repo.path / "half.txt").exists()
    again = night.run(name, FINISHED, "--max-attempts", "1")
    assert again.code == 0, again.out + again.err
    assert night.landed()


def test_a_limit_without_an_end_is_waited_for_longer_each_time_and_within_the_bound(night: Night) -> None:
    pauses = {"HOLDFAST_RETRY_LIMIT_PAUSE": "1"}
    result = night.run("codex", "cat {limited-for-an-unknown-time}; exit 1", "--max-wait", "2", **pauses)
    assert result.code == 5, result.out + result.err
    assert [event["seconds"] for event in night.events("waiting")] == [1.0]
    assert night.outcomes() == ["limited", "limited"]


def test_a_run_killed_while_it_waits_waits_for_what_is_left(night: Night) -> None:
    runner = night.start("claude", f"echo half > half.txt; {limited_for(600)}; exit 1")
    night.wait_for_event("waiting")
    runner.send_signal(signal.SIGKILL)
    runner.wait(PATIENCE)
    refused = night.run("claude", FINISHED, "--max-wait", "1")
    assert refused.code == 5, refused.out + refused.err
    assert night.outcomes() == ["limited"]
    assert night.cli("retry", "1").code == 0
    result = night.run("claude", FINISHED)
    assert result.code == 0, result.out + result.err
    assert night.outcomes() == ["limited", "finished"] and night.landed()


def test_a_lost_journal_only_means_asking_the_agent_again(night: Night) -> None:
    runner = night.start("claude", f"{limited_for(600)}; exit 1")
    night.wait_for_event("waiting")
    runner.send_signal(signal.SIGKILL)
    runner.wait(PATIENCE)
    for path in (night.repo.path / ".git/holdfast").glob("journal.db*"):
        path.unlink()
    assert night.run("claude", FINISHED).code == 0
    assert night.landed()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_wait_ends_at_once_when_a_stop_is_asked_for(night: Night, number: signal.Signals) -> None:
    runner = night.start("claude", f"{limited_for(3600)}; exit 1")
    night.wait_for_event("waiting")
    runner.send_signal(number)
    assert runner.wait(PATIENCE) == 128 + number
    assert night.events("attempt_failed") == []


def test_status_says_until_when_a_run_waits(night: Night) -> None:
    runner = night.start("claude", f"{limited_for(3600)}; exit 1")
    night.wait_for_event("waiting")
    (wait,) = night.events("waiting")
    assert "task 1, waits until " in night.cli("status").out
    assert json.loads(night.cli("status", "--json").out)["waiting_until"] == wait["until"]
    runner.send_signal(signal.SIGKILL)
    runner.wait(PATIENCE)


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_an_error_of_the_service_is_no_attempt(night: Night, name: str) -> None:
    result = night.run(name, until_second("cat {server-errors}"), "--max-attempts", "1")
    assert result.code == 0, result.out + result.err
    assert night.outcomes() == ["api_error", "finished"] and night.landed()


def test_errors_of_the_service_that_do_not_end_fail_the_attempt_with_their_reason(night: Night) -> None:
    more = {"HOLDFAST_RETRY_ERRORS": "2"}
    result = night.run("claude", "cat {server-errors}; exit 1", "--max-attempts", "1", **more)
    assert result.code == 1
    assert "task 1 failed after 1 attempt: API Error: 500 scripted error" in result.err
    assert night.outcomes() == ["api_error"] * 3


def test_a_conversation_that_is_gone_is_begun_anew_and_costs_no_attempt(night: Night) -> None:
    gone = 'case "$*" in *--resume*) echo No conversation found >&2; exit 1;; esac'
    body = until_second("cat {server-errors}", f"{gone}; {FINISHED}")
    result = night.run("claude", body, "--max-attempts", "1")
    assert result.code == 0, result.out + result.err
    assert night.outcomes() == ["api_error", "no_conversation", "finished"]
    assert night.events("attempt_failed") == []


def test_the_repository_is_the_users_while_a_run_waits(night: Night) -> None:
    runner = night.start("claude", f"echo half > half.txt; {limited_for(600)}; exit 1")
    night.wait_for_event("waiting")
    night.repo.git("config", "branch.main.description", "mine")
    runner.send_signal(signal.SIGKILL)
    runner.wait(PATIENCE)
    assert night.cli("retry", "1").code == 0
    assert night.run("claude", FINISHED).code == 0
    assert night.repo.git("config", "branch.main.description") == "mine"


def test_how_long_a_limit_is_waited_for() -> None:
    policy = Policy()
    assert limit_pause(policy, 0, 1090.0, now=1000.0) == 91.0
    assert limit_pause(policy, 0, 990.0, now=1000.0) == 1.0
    assert limit_pause(policy, 1, 990.0, now=1000.0) == 120.0
    assert [limit_pause(policy, met, None, now=1000.0) for met in range(3)] == [60.0, 120.0, 240.0]
