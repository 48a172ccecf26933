import os
import signal
import subprocess
from pathlib import Path

import pytest

from holdfast.agents.base import Assignment
from holdfast.agents.scripted import Scripted
from holdfast.errors import ConfigError, UsageError
from holdfast.model.plan import Status, Task


class Player:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.workspace = directory / "workspace"
        self.workspace.mkdir()

    def play(self, script: str, task: str = "1", attempt: int = 1) -> subprocess.CompletedProcess[str]:
        path = self.directory / "script.toml"
        path.write_text(script, encoding="utf-8")
        subject = Task(task, "A {n} title", Status.PENDING, 1)
        assignment = Assignment("run", "plan.md", subject, attempt, "", "prompt.md", str(self.workspace))
        invocation = Scripted(str(path)).invocation(assignment)
        return subprocess.run(
            invocation.argv,
            env={**invocation.environment, "PATH": os.defpath, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            cwd=self.workspace,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )


@pytest.fixture
def player(tmp_path: Path) -> Player:
    return Player(tmp_path)


def test_files_are_written_appended_and_deleted_in_order(player: Player) -> None:
    ended = player.play(
        """[default]
        actions = [
          { mkdir = "empty" },
          { write = "deep/{id}.txt", text = "é {title} {other}\\r\\n" },
          { write = "deep/{id}.txt", text = "{n}", append = true, repeat = 3 },
          { write = "gone.txt" }, { delete = "gone.txt" }, { delete = "gone.txt" },
          { write = "tree/a" }, { delete = "tree" },
        ]"""
    )
    assert ended.returncode == 0, ended.stderr
    assert (player.workspace / "deep/1.txt").read_bytes() == "é A {n} title {other}\r\n123".encode()
    assert sorted(path.name for path in player.workspace.iterdir()) == ["deep", "empty"]


def test_it_says_what_it_is_told_whatever_the_locale(player: Player) -> None:
    ended = player.play(
        '[default]\nactions = [{ say = "tschüß {attempt}" }, { complain = "ärger" }]', attempt=4
    )
    assert "tschüß 4\n" in ended.stdout
    assert ended.stderr == "ärger\n"


def test_it_ends_with_message_and_success_tag(player: Player) -> None:
    ended = player.play('[default]\nmessage = "Make {id}\\n\\nWhy."')
    assert ended.stdout.endswith(
        "SUGGESTED_COMMIT_MESSAGE: Make 1\n\nWhy.\n<SUCCESS>task implemented: A {n} title</SUCCESS>\n"
    )


def test_the_tag_can_be_left_out(player: Player) -> None:
    assert "SUCCESS" not in player.play("[default]\ntag = false").stdout


def test_attempts_differ_and_the_last_one_repeats(player: Player) -> None:
    script = """[tasks."1"]
        message = "common"
        [[tasks."1".attempts]]
        failure = "first"
        [[tasks."1".attempts]]
        success = "later"
        message = "own" """
    first, second, fifth = (player.play(script, attempt=n).stdout for n in (1, 2, 5))
    assert first.endswith("SUGGESTED_COMMIT_MESSAGE: common\n<FAILURE>first</FAILURE>\n")
    assert second.endswith("SUGGESTED_COMMIT_MESSAGE: own\n<SUCCESS>later</SUCCESS>\n")
    assert fifth.endswith("<SUCCESS>later</SUCCESS>\n")


def test_a_task_of_its_own_wins_over_the_default(player: Player) -> None:
    script = '[default]\nsuccess = "default"\n[tasks."1"]\nsuccess = "own"'
    assert "own" in player.play(script, task="1").stdout
    assert "default" in player.play(script, task="2").stdout


def test_a_program_is_run_and_its_failure_ends_the_attempt(player: Player) -> None:
    ended = player.play(
        '[default]\nactions = [{ run = ["sh", "-c", "touch ran; exit 3"] }, { write = "later" }]'
    )
    assert ended.returncode == 1
    assert "status 3" in ended.stderr
    assert [path.name for path in player.workspace.iterdir()] == ["ran"]


def test_a_program_may_be_allowed_to_fail(player: Player) -> None:
    ended = player.play('[default]\nactions = [{ run = ["false"], may_fail = true }, { write = "later" }]')
    assert ended.returncode == 0
    assert (player.workspace / "later").exists()


def test_points_are_signalled_and_waited_for_by_file(player: Player) -> None:
    ended = player.play(
        """[default]
        actions = [{ signal_file = "{here}/reached" }, { wait_for_file = "{here}/reached" }]"""
    )
    assert ended.returncode == 0
    assert (player.directory / "reached").exists()


def test_waiting_for_a_file_is_bounded(player: Player) -> None:
    ended = player.play('[default]\nactions = [{ wait_for_file = "never", timeout = 0 }]')
    assert ended.returncode == 1
    assert "never did not appear" in ended.stderr


@pytest.mark.parametrize("name", ["KILL", "TERM", "INT"])
def test_it_can_kill_itself(player: Player, name: str) -> None:
    ended = player.play(f'[default]\nactions = [{{ kill_self = "{name}" }}]')
    assert ended.returncode == -signal.Signals[f"SIG{name}"]
    assert ended.stderr == ""


def test_it_can_ignore_a_signal(player: Player) -> None:
    ended = player.play(
        """[default]
        actions = [{ ignore_signal = "TERM" }, { run = ["sh", "-c", "kill -TERM $PPID"] }, { exit = 7 }]"""
    )
    assert ended.returncode == 7


def test_it_hangs_until_it_is_ended(player: Player) -> None:
    ended = player.play(
        """[default]
        actions = [{ run = ["sh", "-c", "(sleep 0.1; kill -KILL $PPID) >&- 2>&- &"] }, { hang = true }]"""
    )
    assert ended.returncode == -signal.SIGKILL


def test_modules_in_the_workspace_are_not_imported(player: Player) -> None:
    (player.workspace / "tomllib.py").write_text("raise SystemExit(99)\n")
    assert player.play("[default]").returncode == 0


BROKEN = {
    "unknown action": (
        '[default]\nactions = [{ wirte = "a" }]',
        'default.actions[1]: unknown action "wirte"',
    ),
    "unknown option": (
        '[default]\nactions = [{ write = "a", txt = "b" }]',
        'default.actions[1]: unknown key "txt"',
    ),
    "two actions": (
        '[default]\nactions = [{ write = "a", say = "b" }]',
        "two actions in one table (write, say)",
    ),
    "no action": ("[default]\nactions = [{}]", "default.actions[1]: no action"),
    "unknown key in a task": ('[tasks."1"]\nmesage = "a"', 'tasks."1": unknown key "mesage"'),
    "unknown key in an attempt": (
        '[[tasks."1".attempts]]\n[[tasks."1".attempts]]\nx = 1',
        'tasks."1".attempts[2]: unknown key "x"',
    ),
    "unknown key at the top": ('[task."1"]', 'unknown key "task"'),
    "no attempts": ('[tasks."1"]\nattempts = []', 'tasks."1".attempts: expected a list'),
    "not a table": ("default = 1", "default: expected a table, found 1"),
    "text for a number": ('[default]\nactions = [{ sleep = "1" }]', "actions[1].sleep: expected seconds"),
    "truth for a number": (
        "[default]\nactions = [{ exit = true }]",
        "actions[1].exit: expected a whole number",
    ),
    "endless sleep": ("[default]\nactions = [{ sleep = inf }]", "actions[1].sleep: expected seconds"),
    "number for a text": ("[default]\nmessage = 1", "default.message: expected a text, found 1"),
    "empty argv": ("[default]\nactions = [{ run = [] }]", "actions[1].run: expected a list"),
    "unknown signal": ('[default]\nactions = [{ kill_self = "HARD" }]', "expected the name of a signal"),
    "no repetition": (
        '[default]\nactions = [{ say = "a", repeat = 0 }]',
        "repeat: expected a whole number above 0",
    ),
    "not TOML": ("[default\n", "not valid TOML: "),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_script_is_refused_before_anything_starts(tmp_path: Path, case: str) -> None:
    text, message = BROKEN[case]
    script = tmp_path / "script.toml"
    script.write_text(text)
    with pytest.raises(ConfigError) as caught:
        Scripted(str(script)).require()
    assert str(caught.value).startswith(f"{script}: ")
    assert message in str(caught.value)


def test_a_script_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    script.write_bytes(b"# caf\xe9\n")
    with pytest.raises(ConfigError, match="not UTF-8"):
        Scripted(str(script)).require()


def test_a_missing_script_is_bad_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        Scripted(str(tmp_path / "none.toml")).require()


def test_a_relative_script_is_found_from_where_the_user_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assignment = Assignment(
        "run", "plan.md", Task("1", "A", Status.PENDING, 1), 1, "", "prompt.md", "elsewhere"
    )
    argv = Scripted("script.toml").invocation(assignment).argv
    assert argv[-1] == str(tmp_path / "script.toml")


def test_the_player_exits_2_for_a_broken_script_or_an_unknown_task(player: Player) -> None:
    broken = player.play("[default]\nmesage = 1")
    unknown = player.play('[tasks."1"]', task="9")
    assert (broken.returncode, unknown.returncode) == (2, 2)
    assert 'unknown key "mesage"' in broken.stderr
    assert 'nothing is written for task "9"' in unknown.stderr


def test_an_action_the_system_refuses_exits_1_with_its_words(player: Player) -> None:
    ended = player.play('[default]\nactions = [{ write = "a" }, { write = "a/b" }]')
    assert ended.returncode == 1
    assert "File exists" in ended.stderr or "Not a directory" in ended.stderr
    assert "Traceback" not in ended.stderr
