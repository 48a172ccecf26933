"""An agent that spoils the plan and is then cut off must not keep its task from being recovered."""

import json
import subprocess
import time
from pathlib import Path

import pytest

from scratch import HOLDFAST, Cli, Repo

PLAN = "- [ ] T1 Write one\n- [ ] T2 Write two\n"
SPOILED = """
[default]
actions = [
  { write = "{id}.txt", text = "{title}\\n" },
  { run = ["sh", "-c", "test -e '{here}/go-on' || (COMMAND)"] },
  { signal_file = "{here}/halfway" },
  { wait_for_file = "{here}/go-on", timeout = 30 },
]
"""


def cut_off(repo: Repo, command: str) -> Path:
    """A run whose agent did `command` and whose runner was then killed; returns the script."""
    repo.write("plan.md", PLAN)
    repo.commit("Plan")
    script = repo.path.parent / "script.toml"
    script.write_text(SPOILED.replace("COMMAND", command), encoding="utf-8")
    argv = (*HOLDFAST, "run", "plan.md", "--script", str(script))
    runner = subprocess.Popen(argv, cwd=repo.path, env=repo.env, stdout=subprocess.DEVNULL)
    while not (script.parent / "halfway").exists():
        assert runner.poll() is None
        time.sleep(0.01)
    runner.kill()
    runner.wait()
    (script.parent / "go-on").touch()
    return script


@pytest.mark.parametrize(
    "command",
    [
        "rm plan.md",
        "echo garbage > plan.md",
        "git rm -q plan.md && git commit -q -m gone",
        "git rm -q plan.md",
    ],
)
def test_the_same_command_goes_on(repo: Repo, cli: Cli, command: str) -> None:
    script = cut_off(repo, command)
    result = cli("run", "plan.md", "--script", str(script))
    assert (result.code, result.err) == (0, "")
    assert repo.git("show", "HEAD:plan.md") == PLAN.replace("[ ]", "[x]").rstrip("\n")
    assert repo.git("rev-list", "--count", "HEAD") == "4"


@pytest.mark.parametrize(
    "command",
    [
        "rm plan.md",
        "echo garbage > plan.md",
        "rm plan.md; mkdir plan.md",
        "git rm -q plan.md && git commit -q -m gone",
        "echo garbage > plan.md; git commit -q -a -m bad",
    ],
)
def test_status_shows_the_plan_the_task_began_with(repo: Repo, cli: Cli, command: str) -> None:
    cut_off(repo, command)
    found = json.loads(cli("status", "--json").out)
    assert (found["total"], found["in_flight"]) == (2, "T1")


def test_without_a_task_in_flight_a_missing_plan_is_an_error(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", PLAN)
    repo.commit("Plan")
    (repo.path / "plan.md").unlink()
    result = cli("run", "plan.md", "--agent-cmd", "true")
    assert result.code == 2
    assert result.err.startswith("holdfast: plan.md: no such file or directory\n")
