"""What a run makes of the ways in which an agent can end, played by stand-ins for the real ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from scratch import Cli, Repo, Result
from stand_ins import stand_in

KEY = "sk-ant-" + "a1B2" * 10


class Night:
    def __init__(self, repo: Repo, cli: Cli, directory: Path) -> None:
        self.repo, self.cli, self.directory = repo, cli, directory
        repo.write("plan.md", "- [ ] One\n")
        self.base = repo.commit("plan")

    def run(self, name: str, body: str, *options: str, **env: str) -> Result:
        path = stand_in(name, body, self.directory, self.repo.env["PATH"])
        return self.cli("run", "plan.md", "--agent", name, *options, env={"PATH": path, **env})

    def events(self, kind: str) -> list[dict[str, Any]]:
        told = map(json.loads, self.cli("log", "--json").out.splitlines())
        return [event for event in told if event["event"] == kind]

    def outcomes(self) -> list[str]:
        return [event["outcome"] for event in self.events("agent_ended")]

    def everything_written(self) -> bytes:
        state = self.repo.path / ".git/holdfast"
        return b"".join(path.read_bytes() for path in state.rglob("*") if path.is_file())


@pytest.fixture
def night(repo: Repo, cli: Cli, tmp_path: Path) -> Night:
    return Night(repo, cli, tmp_path / "bin")


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_without_a_login_the_run_ends_with_69_and_the_attempt_does_not_count(night: Night, name: str) -> None:
    result = night.run(name, "echo half > half.txt; cat {key-refused}; exit 1", "--max-attempts", "1")
    assert result.code == 69
    assert f"holdfast: the agent {name} cannot work: " in result.err
    assert f"{name} " in result.err.partition("fix: ")[2] and "run the same command again" in result.err
    assert night.repo.git("rev-parse", "HEAD") == night.base
    assert night.events("attempt_failed") == []
    again = night.run(name, "echo whole > half.txt; cat {finished}", "--max-attempts", "1")
    assert again.code == 0, again.out + again.err
    assert night.repo.git("log", "-1", "--format=%s") == "Make it"


def test_an_agent_that_somebody_else_interrupted_has_not_succeeded(night: Night) -> None:
    result = night.run("claude", "date > made.txt; cat {interrupted}", "--max-attempts", "1")
    assert result.code == 1
    assert night.outcomes() == ["interrupted"]
    assert night.repo.git("rev-parse", "HEAD") == night.base


def test_a_success_tag_does_not_excuse_an_agent_whose_tools_were_denied(night: Night) -> None:
    result = night.run("claude", "cat {denied}", "--max-attempts", "2")
    assert result.code == 1
    assert "the agent changed no file" in result.err
    second_prompt = sorted((night.repo.path / ".git/holdfast/logs").rglob("*.prompt.md"))[-1].read_text()
    assert "- Bash: make test" in second_prompt


def test_the_session_of_claude_is_known_before_it_starts(night: Night) -> None:
    night.run("claude", "exit 1", "--max-attempts", "1")
    (known,) = night.events("agent_session")
    assert len(known["session"]) == 36
    assert known["seq"] < night.events("agent_ended")[0]["seq"]


def test_an_agent_started_by_an_agent_is_not_taken_for_part_of_it(night: Night) -> None:
    body = 'echo "${CLAUDECODE-unset} $EXTRA" > made.txt; cat {finished}'
    result = night.run("claude", body, CLAUDECODE="1", HOLDFAST_AGENT_ENV="EXTRA=added")
    assert result.code == 0, result.out + result.err
    assert (night.repo.path / "made.txt").read_text() == "unset added\n"


def test_no_secret_gets_into_log_journal_prompt_or_commit(repo: Repo, cli: Cli, tmp_path: Path) -> None:
    night = Night(repo, cli, tmp_path / "bin")
    agent = f"echo $HOLDFAST_ATTEMPT > made.txt; echo SUGGESTED_COMMIT_MESSAGE: Use {KEY} and open sesame"
    gate = f"echo {KEY} open sesame; test $(cat made.txt) = 2"
    result = cli(*("run", "plan.md", "--agent-cmd", agent, "--verify", gate), env={"MY_TOKEN": "open sesame"})
    assert result.code == 0, result.out + result.err
    assert repo.git("log", "-1", "--format=%s") == "Use [redacted] and [redacted]"
    written = night.everything_written() + result.out.encode()
    # The check is named after its own command line, which is the user's and not an agent's.
    told = written.replace(gate.encode(), b"").replace(json.dumps(gate).encode()[1:-1], b"")
    assert KEY.encode() not in told and b"open sesame" not in told
