import json
import subprocess
import time
from pathlib import Path

import pytest

from scratch import HOLDFAST, Cli, Repo, Result

PLAN = "- [ ] T1 Write one\n- [ ] T2 Write two\n- [ ] T3 Write three\n"
SCRIPT = """
[default]
actions = [
  { say = "thinking about {id}" },
  { write = "{id}.txt", text = "{title}\\n" },
]

[tasks.T2]
actions = [
  { say = "looking at {id}" },
  { signal_file = "{here}/halfway" },
  { wait_for_file = "{here}/go-on", timeout = 30 },
  { say = "done with {id}" },
  { write = "{id}.txt", text = "{title}\\n" },
]
"""


@pytest.fixture
def script(repo: Repo) -> Path:
    repo.write("plan.md", PLAN)
    repo.commit("Plan")
    path = repo.path.parent / "script.toml"
    path.write_text(SCRIPT, encoding="utf-8")
    (path.parent / "go-on").touch()
    return path


def run_plan(cli: Cli, script: Path, *words: str) -> Result:
    return cli("run", "plan.md", "--script", str(script), *words)


def test_the_log_tells_the_whole_run_with_the_agents_words(cli: Cli, script: Path) -> None:
    run_plan(cli, script)
    result = cli("log")
    assert (result.code, result.err) == (0, "")
    told = [line[9:] if line[2:3] == ":" else line for line in result.out.splitlines()]
    assert told[0].startswith("plan.md: 0 of 3 tasks done")
    assert told.index("  | thinking about T1") < told.index("  | looking at T2") < len(told) - 1
    assert told[-1].startswith("finished: ")


def test_a_failed_task_shows_what_the_gate_said(cli: Cli, script: Path) -> None:
    verify = "echo expected 3 got 4; test -e T2.txt"
    assert run_plan(cli, script, "--verify", verify, "--max-attempts", "1").code == 1
    text = cli("log", "T1").out
    assert "  | thinking about T1\n" in text
    assert "  | expected 3 got 4\n" in text
    assert "task T1: FAILED: " in text


def test_the_log_of_one_task_leaves_the_others_out(cli: Cli, script: Path) -> None:
    run_plan(cli, script)
    text = cli("log", "T2").out
    assert "looking at T2" in text
    assert "T1" not in text and "T3" not in text


def test_a_task_is_found_in_any_case(cli: Cli, script: Path) -> None:
    run_plan(cli, script)
    assert cli("log", "t2") == cli("log", "T2")


def test_a_task_that_was_not_started_has_no_log_yet(cli: Cli, script: Path) -> None:
    run_plan(cli, script, "--only", "T1")
    assert cli("log", "T3") == (0, "nothing has happened to task T3 yet\n", "")
    assert cli("log", "T3", "--json") == (0, "", "")


def test_an_unknown_task_exits_2_and_says_where_the_ids_are(cli: Cli, script: Path) -> None:
    run_plan(cli, script, "--only", "T1")
    result = cli("log", "T9")
    assert result.code == 2
    assert result.err.startswith("holdfast: there is no task T9 in plan")
    assert "holdfast plan list plan.md" in result.err


def test_before_the_first_run_there_is_no_log(cli: Cli, script: Path) -> None:
    assert cli("log") == (
        2,
        "",
        "holdfast: there is no log yet in this repository\n  fix: start a run: holdfast run PLAN\n",
    )
    result = cli("log", "--plan", "plan.md")
    assert (result.code, "no log yet for plan.md" in result.err) == (2, True)


def test_the_last_run_of_a_named_plan_is_told(cli: Cli, repo: Repo, script: Path) -> None:
    run_plan(cli, script)
    repo.write("other.md", "- [ ] T7 Write seven\n")
    repo.commit("Other plan")
    assert cli("run", "other.md", "--script", str(script)).code == 0
    assert "T7" in cli("log").out and "T1" not in cli("log").out
    assert "T7" not in cli("log", "--plan", "plan.md").out


def test_json_has_one_event_per_line(cli: Cli, script: Path) -> None:
    run_plan(cli, script, "--only", "T1")
    events = [json.loads(line) for line in cli("log", "--json").out.splitlines()]
    assert [e["event"] for e in events] == [
        "run_started",
        "attempt_started",
        "agent_ended",
        "task_landed",
        "run_ended",
    ]
    assert [e["seq"] for e in events] == sorted(e["seq"] for e in events)


def test_a_damaged_journal_is_said(cli: Cli, repo: Repo, script: Path) -> None:
    run_plan(cli, script, "--only", "T1")
    (repo.path / ".git" / "holdfast" / "journal.db").write_bytes(b"x" * 5000)
    result = cli("log")
    assert result.code == 2
    assert "cannot be read" in result.err and "Traceback" not in result.err


@pytest.mark.parametrize("words", [("--follow",), ("T2", "--follow"), ("--follow", "--json")])
def test_following_shows_what_comes_and_ends_with_the_run(
    cli: Cli, repo: Repo, script: Path, words: tuple[str, ...]
) -> None:
    (script.parent / "go-on").unlink()
    argv = (*HOLDFAST, "run", "plan.md", "--script", str(script))
    runner = subprocess.Popen(argv, cwd=repo.path, env=repo.env, stdout=subprocess.DEVNULL)
    try:
        while not (script.parent / "halfway").exists():
            assert runner.poll() is None
            time.sleep(0.01)
        follower = subprocess.Popen(
            (*HOLDFAST, "log", *words), cwd=repo.path, env=repo.env, stdout=subprocess.PIPE
        )
        assert follower.stdout
        first = follower.stdout.readline()
        (script.parent / "go-on").touch()
        rest = follower.stdout.read()
        assert follower.wait(30) == 0
    finally:
        (script.parent / "go-on").touch()
        assert runner.wait(60) == 0
    assert first and b"T2" in rest
    assert b"task_landed" in rest if "--json" in words else b"done with T2" in rest
