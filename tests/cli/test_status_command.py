import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scratch import HOLDFAST, Cli, Repo, Result, run

PLAN = "# Notes\n\n- [ ] T1 Write one\n- [ ] T2 Write two\n  depends: T1\n- [ ] T3 Write three\n"
SCRIPT = """
[default]
message = "Write {id}"
actions = [
  { write = "{id}.txt", text = "{title}\\n" },
]

[tasks.T2]
message = "Write {id}"
actions = [
  { write = "{id}.txt", text = "half" },
  { signal_file = "{here}/halfway" },
  { wait_for_file = "{here}/go-on", timeout = 30 },
  { write = "{id}.txt", text = "{title}\\n" },
]
"""


class Night(Repo):
    """A repository with a plan whose task T2 stops halfway until it is let go on."""

    @property
    def script(self) -> Path:
        return self.path.parent / "script.toml"

    def run(self, *words: str, fault: str = "") -> Result:
        argv = (*HOLDFAST, "run", "plan.md", "--script", str(self.script), *words)
        return run(argv, cwd=self.path, env={**self.env, "HOLDFAST_FAULT": fault})

    def let_go_on(self) -> None:
        (self.path.parent / "go-on").touch()

    def start(self) -> "subprocess.Popen[bytes]":
        """A run that has come to the middle of T2, and has written down what the agent said so far."""
        argv = (*HOLDFAST, "run", "plan.md", "--script", str(self.script))
        child = subprocess.Popen(argv, cwd=self.path, env=self.env, stdout=subprocess.DEVNULL)
        while not (self.path.parent / "halfway").exists() or not self._has_logged("Working on T2"):
            assert child.poll() is None
            time.sleep(0.01)
        return child

    def _has_logged(self, words: str) -> bool:
        logs = (self.path / ".git" / "holdfast" / "logs").glob("*/T2-*.log")
        return any(words.encode() in log.read_bytes() for log in logs)


@pytest.fixture
def night(repo: Repo) -> Night:
    repo.write("plan.md", PLAN)
    repo.commit("Plan")
    night = Night(repo.path, repo.env)
    night.script.write_text(SCRIPT, encoding="utf-8")
    return night


@pytest.fixture
def killed(night: Night) -> Night:
    """Its runner was killed in the middle of T2."""
    child = night.start()
    child.kill()
    child.wait()
    wait_until_free(night)
    return night


@pytest.fixture
def running(night: Night) -> Iterator[Night]:
    child = night.start()
    yield night
    child.kill()
    child.wait()


def wait_until_free(night: Night) -> None:
    """The dead run's supervisor has ended, and with it the lock."""
    while json.loads(status(night, "--json").out)["held_by"]:
        time.sleep(0.01)


def status(repo: Repo, *words: str, env: dict[str, str] | None = None) -> Result:
    return run((*HOLDFAST, "status", *words), cwd=repo.path, env={**repo.env, **(env or {})})


def facts(repo: Repo, *words: str) -> dict[str, Any]:
    result = status(repo, *words, "--json")
    assert (result.code, result.err, result.out.count("\n")) == (0, "", 1)
    found: dict[str, Any] = json.loads(result.out)
    return found


def test_before_the_first_run_a_named_plan_is_shown(night: Night) -> None:
    assert status(night, "plan.md").out.splitlines() == [
        "plan: 0 of 3 tasks done (0 %)",
        "branch main",
        "",
        "  ○ T1  Write one",
        "  ○ T2  Write two",
        "  ○ T3  Write three",
        "",
        "policy: mode = trunk (HOLDFAST_MODE)",
        "",
        "next: task T1; go on with: holdfast run plan.md",
    ]


def test_before_the_first_run_a_plan_must_be_named(night: Night) -> None:
    result = status(night)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(
        "holdfast: no plan is given and none has been run in this repository yet\n  fix: "
    )


def test_after_a_complete_run_all_is_done(night: Night) -> None:
    night.let_go_on()
    assert night.run().code == 0
    lines = status(night).out.splitlines()
    assert lines[:2] == ["plan: 3 of 3 tasks done (100 %)", "branch main"]
    assert lines[2].startswith("last run ended ") and ", exit 0: " in lines[2]
    assert lines[-1] == "all done"
    found = facts(night)
    assert (found["done"], found["total"], found["next"], found["in_flight"]) == (3, 3, None, None)
    assert (found["rescues"], found["recovered"], found["problems"]) == ([], [], [])


def test_a_task_that_was_cut_off_is_named(killed: Night) -> None:
    text = status(killed).out
    assert "plan: 1 of 3 tasks done (33 %)" in text
    assert "not running; task T2 was cut off and will be taken up again" in text
    assert "  ▶ T2  Write two" in text
    assert text.endswith("next: task T2; go on with: holdfast run plan.md\n")
    found = facts(killed)
    assert (found["in_flight"], found["next"], found["held_by"]) == ("T2", "T2", None)


def test_a_failed_task_is_not_taken_for_one_that_was_cut_off(night: Night) -> None:
    assert night.run("--verify", "false", "--max-attempts", "1").code == 1
    text = status(night).out
    assert "  ✗ T1  Write one\n" in text and "cut off" not in text
    assert "see why: holdfast log T1\n" in text
    assert ", exit 1: task T1 failed after 1 attempt" in text
    assert facts(night)["in_flight"] is None


def test_a_run_under_way_is_named_with_its_task_and_attempt(running: Night) -> None:
    text = status(running).out
    assert "running: process " in text
    assert ", task T2, attempt 1 of 3 since " in text
    assert "go on with" not in text
    assert str(facts(running)["held_by"]).startswith("process ")


def test_what_was_recovered_and_rescued_is_listed_with_its_command(killed: Night, tmp_path: Path) -> None:
    killed.let_go_on()
    assert killed.run().code == 0
    text = status(killed).out
    assert "recovered: 1\n" in text and "in rescue: 1\n" in text
    [command] = [line.strip() for line in text.splitlines() if line.startswith("    holdfast rescue ")]
    kept = tmp_path / "kept"
    words = command.removeprefix("holdfast ").replace("DIR", str(kept)).split()
    assert run((*HOLDFAST, *words), cwd=killed.path, env=killed.env).code == 0
    assert (kept / "T2.txt").read_text(encoding="utf-8") == "half"


def test_a_rescue_outlives_the_journal(killed: Night) -> None:
    killed.let_go_on()
    killed.run()
    for file in (killed.path / ".git" / "holdfast").glob("journal.db*"):
        file.unlink()
    found = facts(killed, "plan.md")
    [rescue] = found["rescues"]
    assert rescue["ref"].startswith("refs/holdfast/rescue/plan-")
    assert rescue["reason"] == "task T2: partial work of an interrupted attempt"


def test_a_pinned_commit_is_shown_with_git_log(night: Night) -> None:
    night.run(fault="base.after")
    [run_name] = {ref.split("/")[3] for ref in night.git("for-each-ref", "--format=%(refname)").split()[1:]}
    ref = f"refs/holdfast/rescue/{run_name}/20250101-000000-x"
    night.git("update-ref", ref, "HEAD")
    assert f"  Plan\n    git log {ref}\n" in status(night).out


def test_rescues_of_another_plan_are_not_shown(night: Night) -> None:
    night.git("update-ref", "refs/holdfast/rescue/other-12345678/20250101-000000-x", "HEAD")
    assert facts(night, "plan.md")["rescues"] == []


def test_the_plan_of_the_branch_counts_not_the_one_in_the_tree(night: Night) -> None:
    night.write("plan.md", PLAN.replace("[ ] T1", "[x] T1"))
    found = facts(night, "plan.md")
    assert found["done"] == 0
    assert found["problems"] == [
        "plan.md has edits that are not committed and not shown here; a run commits them first"
    ]


def test_other_line_endings_in_the_tree_are_no_edits(night: Night) -> None:
    night.write("plan.md", PLAN.replace("\n", "\r\n"))
    assert facts(night, "plan.md")["problems"] == []


def test_a_broken_plan_in_the_tree_is_said(night: Night) -> None:
    night.write("plan.md", "- [ ] T1 One\n- [ ] T1 One\n")
    [problem] = facts(night, "plan.md")["problems"]
    assert problem.startswith("the plan in the tree cannot be read: plan.md:2: ")


def test_a_plan_that_git_does_not_track_is_read_from_the_tree(night: Night) -> None:
    night.write("other.md", "- [x] T7 One\n- [ ] T8 Two\n")
    found = facts(night, "other.md")
    assert (found["done"], found["next"]) == (1, "T8")


def test_a_damaged_record_is_said(killed: Night) -> None:
    record = killed.path / ".git" / "holdfast" / "trees" / "main" / "in-flight.json"
    record.write_bytes(b'{"version": 1, "ru')
    found = facts(killed, "plan.md")
    assert found["in_flight"] is None
    [problem] = found["problems"]
    assert problem.startswith("the in-flight record cannot be read (")


def test_a_task_that_had_landed_when_the_run_died_is_done(night: Night) -> None:
    night.run(fault="commit.after")
    found = facts(night)
    assert (found["done"], found["in_flight"], found["next"]) == (1, None, "T2")
    assert found["problems"] == [
        "task T1 was cut off while it was brought in line; the next run finishes that"
    ]


def test_a_task_of_another_plan_begun_here_is_said(killed: Night) -> None:
    killed.write("other.md", "- [ ] T7 One\n")
    assert facts(killed, "other.md")["problems"] == [
        "task T2 of plan.md on main was begun here and not finished"
    ]


def test_a_damaged_journal_is_said_and_the_rest_is_shown(killed: Night) -> None:
    (killed.path / ".git" / "holdfast" / "journal.db").write_bytes(b"not a database")
    result = status(killed)
    assert result.code == 0
    assert "1 of 3 tasks done" in result.out
    assert "cannot be read" in result.out


def test_a_detached_head_is_said(night: Night) -> None:
    night.git("checkout", "--quiet", "--detach")
    result = status(night, "plan.md")
    assert result.code == 0
    assert "HEAD is detached" in result.out


def test_a_branch_without_a_commit_is_shown(repo: Repo) -> None:
    repo.git("checkout", "--quiet", "--orphan", "fresh")
    repo.write("plan.md", PLAN)
    assert "branch fresh\n" in status(repo, "plan.md").out


@pytest.mark.parametrize("situation", ["killed", "running", "night"])
def test_looking_changes_no_byte(situation: str, request: pytest.FixtureRequest) -> None:
    repo: Night = request.getfixturevalue(situation)
    (repo.path / "README.md").touch()  # git status would take this as a reason to write the index
    before = fingerprint(repo.path)
    for words in ((), ("plan.md",), ("plan.md", "--json")):
        status(repo, *words)
    assert fingerprint(repo.path) == before


def fingerprint(root: Path) -> dict[str, tuple[str, int]]:
    """Content and time of every file. A running SQLite keeps its readers in `-shm`; nothing else may move."""
    found = {}
    for directory, _, names in os.walk(root):
        for name in names:
            path = Path(directory, name)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            found[str(path)] = (digest, path.stat().st_mtime_ns)
        found[directory] = ("", os.stat(directory).st_mtime_ns)
    return found


def test_from_a_subdirectory_the_command_to_go_on_fits(night: Night) -> None:
    below = night.path / "a b"
    below.mkdir()
    (below / "it's.md").write_text("- [ ] T1 One\n", encoding="utf-8")
    result = run((*HOLDFAST, "status", "../plan.md"), cwd=below, env=night.env)
    assert result.out.endswith("go on with: holdfast run ../plan.md\n")
    result = run((*HOLDFAST, "status", "a b/it's.md"), cwd=night.path, env=night.env)
    assert result.out.endswith("go on with: holdfast run 'a b/it'\"'\"'s.md'\n")


def test_usual_and_unusual_words_mean_the_same(night: Night, cli: Cli) -> None:
    """The usual ones are read without argparse."""
    assert status(night, "plan.md").out == status(night, "--", "plan.md").out
    assert status(night, "--help").out.startswith("usage: holdfast status [-h] [--json] [PLAN]\n")
    assert status(night, "plan.md", "other.md").code == 2
    assert status(night, "--jsno").code == 2


def test_status_loads_no_heavy_module(night: Night) -> None:
    code = "import sys; from holdfast.cli.main import main; main(['status', 'plan.md']); print(*sys.modules)"
    result = run((sys.executable, "-c", code), cwd=night.path, env=night.env)
    loaded = set(result.out.splitlines()[-1].split())
    heavy = (
        "argparse",
        "subprocess",
        "dataclasses",
        "pathlib",
        "hashlib",
        "rich",
        "jinja2",
        "tomllib",
        "shutil",
    )
    assert not loaded.intersection((*heavy, "holdfast.engine.site", "holdfast.agents.base"))


def test_policies_that_are_not_the_default_are_shown_with_where_they_come_from(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", "- [ ] One\n")
    repo.write("holdfast.toml", 'on_interrupt = "rollback"\n')
    repo.commit("Configured")
    assert "policy: on_interrupt = rollback (holdfast.toml:1)" in cli("status", "plan.md").out
    found = json.loads(cli("status", "plan.md", "--json", env={"HOLDFAST_MAX_ATTEMPTS": "7"}).out)
    assert {"name": "max_attempts", "value": "7", "origin": "HOLDFAST_MAX_ATTEMPTS"} in found["policies"]


def test_a_configuration_with_a_mistake_does_not_keep_status_from_telling(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", "- [ ] One\n")
    repo.write("holdfast.toml", "on_interrupt = 3\n")
    repo.commit("Configured")
    result = cli("status", "plan.md")
    assert result.code == 0
    assert "a run would not start: holdfast.toml:1: on_interrupt is 3" in result.out
