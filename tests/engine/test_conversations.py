"""Whether an interrupted attempt goes on in the conversation it had, played by a stand-in for claude."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from scratch import HOLDFAST, Cli, Repo, Result
from stand_ins import stand_in

TOLD = 'echo "$*" >> "$CALLS"; '
HANGS = TOLD + "head -n 1 {finished}; echo half > half.txt; exec tail -f /dev/null"
FINISHES = TOLD + "echo whole > half.txt; cat {finished}"
PATIENCE = 60.0


class Night:
    def __init__(self, repo: Repo, cli: Cli, directory: Path) -> None:
        self.repo, self.cli, self.directory = repo, cli, directory
        repo.write("plan.md", "- [ ] One\n")
        repo.commit("plan")
        self.calls = directory.parent / "calls"

    def environment(self, body: str) -> dict[str, str]:
        path = stand_in("claude", body, self.directory, self.repo.env["PATH"])
        return {"PATH": path, "CALLS": str(self.calls)}

    def stopped_by(self, number: signal.Signals) -> None:
        argv = (*HOLDFAST, "run", "plan.md", "--agent", "claude")
        env = {**self.cli.env, **self.environment(HANGS)}
        nowhere = subprocess.DEVNULL
        runner = subprocess.Popen(argv, cwd=self.repo.path, env=env, stdout=nowhere, stderr=nowhere)
        deadline = time.monotonic() + PATIENCE
        while not (self.repo.path / "half.txt").exists():
            assert time.monotonic() < deadline, "the agent did not begin"
            time.sleep(0.02)
        runner.send_signal(number)
        runner.wait(PATIENCE)

    def run(self, *options: str) -> Result:
        result = self.cli("run", "plan.md", "--agent", "claude", *options, env=self.environment(FINISHES))
        assert result.code == 0, result.out + result.err
        return result

    def last_call(self) -> str:
        return self.calls.read_text().splitlines()[-1]


@pytest.fixture
def night(repo: Repo, cli: Cli, tmp_path: Path) -> Night:
    return Night(repo, cli, tmp_path / "bin")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_attempt_goes_on_in_its_conversation(night: Night, number: signal.Signals) -> None:
    night.stopped_by(number)
    night.run()
    assert " --resume " in night.last_call() and "--session-id" not in night.last_call()
    prompt = sorted((night.repo.path / ".git/holdfast/logs").rglob("*.prompt.md"))[-1].read_text()
    assert "- `half.txt`" in prompt


def test_an_attempt_that_begins_again_has_a_new_conversation(night: Night) -> None:
    night.stopped_by(signal.SIGKILL)
    night.run("--on-interrupt", "rollback")
    assert "--resume" not in night.last_call() and " --session-id " in night.last_call()


def test_work_that_was_taken_away_is_not_talked_about_as_if_it_were_there(night: Night) -> None:
    night.stopped_by(signal.SIGKILL)
    (night.repo.path / "half.txt").unlink()
    night.run()
    assert "--resume" not in night.last_call()


def test_the_attempt_after_a_failed_one_has_a_new_conversation(night: Night) -> None:
    night.run("--verify", "test $(wc -l < $CALLS) = 2")
    first, second = night.calls.read_text().splitlines()
    assert "--resume" not in second and first != second
