"""The agent's own interface in the user's terminal: it has the keys, and still dies with the runner."""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from invariants import processes_marked_with
from scratch import HOLDFAST, Cli, Repo
from stand_ins import stand_in
from typist import PATIENCE, Typist

WORDS = ("run", "plan.md", "--trunk", "--interactive")
PLAN = "# Work\n\n- [ ] One\n- [ ] Two\n"
INTERFACE = """
import os, signal, subprocess, sys, termios, tty
before = termios.tcgetattr(0)
assert os.tcgetpgrp(0) == os.getpgrp() and os.isatty(1) and os.isatty(2)
tty.setraw(0)
os.write(1, b"\\x1b[?1049hREADY\\r\\n")
while True:
    key = os.read(0, 1)
    if key == b"w":
        open(os.environ["HOLDFAST_TASK_ID"] + ".txt", "a").write("work\\n")
    elif key == b"d":
        subprocess.Popen(["tail", "-f", "/dev/null"], start_new_session=True)
    elif key == b"q":
        termios.tcsetattr(0, termios.TCSADRAIN, before)
        sys.exit(0)
    elif key == b"x":
        sys.exit(3)
    elif key == b"z":
        termios.tcsetattr(0, termios.TCSADRAIN, before)
        os.killpg(0, signal.SIGSTOP)
        tty.setraw(0)
    os.write(1, b"KEY %d\\r\\n" % key[0])
"""


class Desk:
    def __init__(self, repo: Repo, cli: Cli, directory: Path) -> None:
        self.repo, self.cli = repo, cli
        repo.write("plan.md", PLAN)
        self.base = repo.commit("plan")
        program = directory / "interface.py"
        program.write_text(INTERFACE)
        agent = f"exec '{sys.executable}' '{program}'"
        self.words: tuple[str, ...] = (*WORDS, "--agent-cmd", agent)

    def sits_down(self, *options: str, env: dict[str, str] | None = None) -> Typist:
        return Typist((*HOLDFAST, *self.words, *options), self.repo.path, {**self.repo.env, **(env or {})})

    def events(self, kind: str) -> list[dict[str, Any]]:
        told = map(json.loads, self.cli("log", "--json").out.splitlines())
        return [event for event in told if event["event"] == kind]

    def landed(self) -> list[str]:
        return self.repo.git("log", "--format=%s", f"{self.base}..").splitlines()

    def processes(self) -> list[int]:
        return processes_marked_with(f"HOME={self.repo.env['HOME']}")

    def wait_until_all_are_dead(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while self.processes():
            assert time.monotonic() < deadline, self.processes()
            time.sleep(0.02)


@pytest.fixture
def desk(repo: Repo, cli: Cli, tmp_path: Path) -> Desk:
    return Desk(repo, cli, tmp_path)


def test_what_was_done_is_checked_and_committed_when_its_user_leaves(desk: Desk) -> None:
    with desk.sits_down("--verify", "test -s $HOLDFAST_TASK_ID.txt || ls ?.?.txt") as typist:
        for _ in range(2):
            typist.sees("leave it when the task is done")
            typist.sees("READY")
            typist.press("w")
            typist.sees("KEY 119")
            typist.press("q")
        code, shown = typist.sees_the_end()
    assert code == 0, shown
    assert "All tasks completed!" in shown
    assert len(desk.landed()) == 2
    assert desk.repo.git("status", "--porcelain") == ""
    assert desk.processes() == []


def test_ctrl_c_is_the_agents_key_and_not_the_end_of_the_run(desk: Desk) -> None:
    with desk.sits_down("--only", "1.1") as typist:
        typist.sees("READY")
        typist.press("\x03\x1cw")
        typist.sees("KEY 3")
        typist.sees("KEY 28")
        typist.sees("KEY 119")
        typist.press("q")
        assert typist.sees_the_end()[0] == 0
    assert len(desk.landed()) == 1


def test_the_terminal_is_as_it_was_when_the_agent_dies_without_putting_it_back(
    desk: Desk, tmp_path: Path
) -> None:
    run = f'{" ".join(HOLDFAST)} "$@"; echo CODE $?'
    shell = f"stty -a > ../before; {run}; stty -a > ../after; read line && echo GOT $line"
    argv = ("sh", "-c", shell, "sh", *desk.words, "--max-attempts", "1")
    with Typist(argv, desk.repo.path, {**desk.repo.env, "PATH": os.environ["PATH"]}) as typist:
        typist.sees("READY")
        typist.press("x")
        typist.sees("exited with status 3")
        typist.sees("CODE 1")
        typist.press("hello\n")
        typist.sees("GOT hello")
    assert (tmp_path / "before").read_text() == (tmp_path / "after").read_text()
    assert desk.landed() == []


def test_leaving_without_a_change_ends_the_run_and_asks_nothing(desk: Desk) -> None:
    with desk.sits_down() as typist:
        typist.sees("READY")
        typist.press("q")
        code, shown = typist.sees_the_end()
    assert code == 1
    assert "task 1.1 failed after 1 attempt: the agent changed no file" in shown and "READY" not in shown


def test_a_check_that_fails_opens_it_again_with_what_was_said(desk: Desk) -> None:
    with desk.sits_down("--only", "1.1", "--verify", "grep -c . 1.1.txt | grep 2") as typist:
        for _ in range(2):
            typist.sees("READY")
            typist.press("w")
            typist.sees("KEY 119")
            typist.press("q")
        assert typist.sees_the_end()[0] == 0
    assert len(desk.landed()) == 1 and len(desk.events("attempt_failed")) == 1
    second = sorted((desk.repo.path / ".git/holdfast/logs").rglob("*-2.1.log.prompt.md"))[0].read_text()
    assert "grep -c . 1.1.txt" in second and "nobody can answer questions" not in second


def test_a_killed_runner_takes_the_interface_and_its_children_with_it(desk: Desk) -> None:
    with desk.sits_down() as typist:
        typist.sees("READY")
        typist.press("dw")
        typist.sees("KEY 119")
        os.kill(typist.pid, signal.SIGKILL)
        desk.wait_until_all_are_dead()
    with desk.sits_down("--only", "1.1") as typist:
        typist.sees("goes on in place")
        typist.sees("READY")
        typist.press("q")
        assert typist.sees_the_end()[0] == 0
    assert len(desk.landed()) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_runner_that_is_told_to_stop_ends_the_interface_and_keeps_its_work(
    desk: Desk, number: signal.Signals
) -> None:
    with desk.sits_down() as typist:
        typist.sees("READY")
        typist.press("dw")
        typist.sees("KEY 119")
        os.kill(typist.pid, number)
        code, shown = typist.sees_the_end()
    assert code == 128 + number, shown
    assert "run the same command again" in shown
    assert desk.processes() == [] and desk.events("attempt_failed") == []
    assert (desk.repo.path / "1.1.txt").exists()


def test_suspending_the_interface_suspends_the_run_and_both_go_on_together(desk: Desk) -> None:
    shell = ("bash", "--norc", "-i")
    env = {**desk.repo.env, "PS1": "PROMPT> ", "COMMAND": "\n".join((*HOLDFAST, *desk.words))}
    with Typist(shell, desk.repo.path, env) as typist:
        typist.sees("PROMPT> ")
        typist.press("IFS=$'\\n'; set -- $COMMAND; unset IFS; \"$@\" --only 1.1; echo CODE-$?-\n")
        typist.sees("READY")
        typist.press("z")
        typist.sees("Stopped")
        typist.press("echo SHELL-$((40 + 2))-; fg\n")
        typist.sees("SHELL-42-")
        typist.sees("KEY 122")
        typist.press("w")
        typist.sees("KEY 119")
        typist.press("q")
        typist.sees("landed as")
        typist.press("exit\n")
        typist.sees_the_end()
    assert len(desk.landed()) == 1
    assert desk.processes() == []


def test_without_a_terminal_it_is_bad_usage(desk: Desk) -> None:
    result = desk.cli(*desk.words)
    assert result.code == 2
    assert "--interactive needs a terminal" in result.err and "--non-interactive" in result.err


def test_an_agent_without_an_interface_is_bad_usage(desk: Desk) -> None:
    result = desk.cli("run", "plan.md", "--interactive", "--agent", "scripted", "--script", "x.toml")
    assert result.code == 2
    assert "the agent scripted has no interface of its own" in result.err


def test_one_terminal_is_for_one_agent(desk: Desk) -> None:
    result = desk.cli("run", "plan.md", "--worktree", "--jobs", "2", "--interactive", "--agent-cmd", "true")
    assert result.code == 2
    assert "one terminal for one agent" in result.err and "--jobs" in result.err


def test_a_setting_can_ask_for_it_and_a_flag_takes_it_back(desk: Desk) -> None:
    desk.repo.write("holdfast.toml", "interactive = true\n")
    desk.repo.commit("settings")
    words = ("run", "plan.md", "--agent-cmd", "echo x > $HOLDFAST_TASK_ID.txt")
    assert desk.cli(*words).code == 2
    assert desk.cli(*words, "--non-interactive").code == 0


@pytest.mark.parametrize("done", [True, False])
def test_a_report_made_in_its_own_interface_counts(desk: Desk, tmp_path: Path, done: bool) -> None:
    """Played by a stand-in for claude that starts the server it was handed and reports with it."""
    report = {"done": done, "summary": "no compiler", "commit_message": "As reported"}
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "report", "arguments": report},
    }
    started = (
        "import json, subprocess, sys; config = json.loads(sys.argv[sys.argv.index('--mcp-config') + 1]); "
        "server = config['mcpServers']['holdfast']; "
        "subprocess.run([server['command'], *server['args']], input=sys.stdin.buffer.read(), check=True)"
    )
    body = (
        'printf "%s\\n" "$@" > "$CALLS"; echo READY; read key; echo work > 1.1.txt; '
        f"echo '{json.dumps(call)}' | '{sys.executable}' -c \"{started}\" \"$@\""
    )
    path = stand_in("claude", body, tmp_path / "bin", desk.repo.env["PATH"])
    desk.words = (*WORDS, "--agent", "claude", "--only", "1.1")
    env = {"PATH": path, "CALLS": str(tmp_path / "calls")}
    with desk.sits_down("--max-attempts", "1", env=env) as typist:
        typist.sees("READY")
        typist.press("\n")
        code, shown = typist.sees_the_end()
    assert (code, desk.landed()) == ((0, ["As reported"]) if done else (1, [])), shown
    assert done or "no compiler" in shown
    assert not list((desk.repo.path / ".git/holdfast/logs").rglob("*.json")), "it may hold secrets"
    words = (tmp_path / "calls").read_text()
    assert "stream-json" not in words and "--\nYou are working on one task of a plan." in words
