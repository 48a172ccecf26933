"""Programs are started, watched and ended here; whatever they do, nothing of them outlives the call."""

import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holdfast.system.process import (
    Ended,
    Limits,
    Program,
    ProgramTimeout,
    Stops,
    Unstartable,
    become_subreaper,
    capture,
    supervise,
)

UP = b"up\n"
"""As the last argument of `run`: ask for a stop when the program has said this."""


def run(
    script: str, tmp_path: Path, limits: Limits | None = None, stop_at: bytes = b"", stdin: str = ""
) -> tuple[Ended, bytes, bytes]:
    said = {1: b"", 2: b""}
    stops = Stops()

    def heard(stream: int, chunk: bytes) -> None:
        said[stream] += chunk
        if stop_at and said[1] == stop_at:
            stops.request(signal.SIGINT)

    program = Program(("/bin/sh", "-c", script), str(tmp_path), dict(os.environ), stdin)
    ended = supervise(program, limits or Limits(30), stops, heard)
    return ended, said[1], said[2]


def gone(pid_file: Path) -> bool:
    pid = int(pid_file.read_text())
    return not os.path.exists(f"/proc/{pid}")


def test_capture_returns_code_output_and_errors() -> None:
    done = capture(["/bin/sh", "-c", "cat; echo oops >&2; exit 3"], stdin=b"hello")
    assert done == (3, b"hello", b"oops\n")


def test_capture_survives_more_input_and_output_than_a_pipe_holds() -> None:
    data = os.urandom(3 << 20)
    assert capture(["cat"], stdin=data).out == data


def test_capture_survives_a_program_that_does_not_read_its_input() -> None:
    assert capture(["true"], stdin=b"x" * (1 << 20)).code == 0


def test_capture_tells_a_signal_as_a_negative_code() -> None:
    assert capture(["/bin/sh", "-c", "kill -9 $$"]).code == -9


def test_capture_of_a_missing_program_leaks_no_descriptor() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        with pytest.raises(FileNotFoundError):
            capture(["/no/such/program"])
    assert len(os.listdir("/proc/self/fd")) == before


def test_capture_kills_a_program_that_is_too_slow() -> None:
    with pytest.raises(ProgramTimeout):
        capture(["sleep", "60"], timeout=0.2)


def test_a_supervised_program_tells_its_exit_code_and_both_outputs(tmp_path: Path) -> None:
    ended, out, err = run("echo out; echo err >&2; exit 7", tmp_path)
    assert (ended.exit_code, ended.signal, ended.why, ended.leftovers) == (7, None, "", 0)
    assert (out, err) == (b"out\n", b"err\n")


def test_a_supervised_program_reads_the_file_it_is_given_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "prompt").write_text("do it")
    assert run("cat", tmp_path, stdin=str(tmp_path / "prompt"))[1] == b"do it"
    assert run("cat", tmp_path)[1] == b""


def test_death_by_signal_is_told_as_such(tmp_path: Path) -> None:
    assert run("kill -SEGV $$", tmp_path)[0].signal == signal.SIGSEGV


def test_a_program_that_cannot_be_started_says_why(tmp_path: Path) -> None:
    program = Program(("/no/such/agent",), str(tmp_path), dict(os.environ))
    with pytest.raises(Unstartable, match="No such file"):
        supervise(program, Limits(10), Stops(), lambda stream, chunk: None)


def test_too_long_and_too_silent_are_ended(tmp_path: Path) -> None:
    assert run("sleep 60", tmp_path, Limits(0.2, grace=0.2))[0].why == "timeout"
    chatty_then_silent = "echo hi; sleep 60"
    assert run(chatty_then_silent, tmp_path, Limits(60, idle=0.3, grace=0.2))[0].why == "idle"


def test_output_postpones_the_idle_deadline(tmp_path: Path) -> None:
    ended, _, _ = run("for i in 1 2 3 4; do echo $i; sleep 0.2; done", tmp_path, Limits(60, idle=2.0))
    assert (ended.why, ended.exit_code) == ("", 0)


def test_sigterm_comes_first_so_that_a_program_can_clean_up(tmp_path: Path) -> None:
    ended, out, _ = run(
        "trap 'echo bye; exit 0' TERM; echo up; sleep 60 & wait", tmp_path, Limits(60, grace=60), UP
    )
    assert ended.why == "stopped"
    assert out == b"up\nbye\n"


def test_sigkill_follows_when_sigterm_is_ignored(tmp_path: Path) -> None:
    stubborn = "trap '' TERM; echo up; while :; do sleep 0.1; done"
    ended, _, _ = run(stubborn, tmp_path, Limits(60, grace=0.3), UP)
    assert (ended.why, ended.signal) == ("stopped", signal.SIGKILL)


def test_a_second_stop_request_shortens_the_grace(tmp_path: Path) -> None:
    stops = Stops()

    def heard(stream: int, chunk: bytes) -> None:
        stops.request(signal.SIGINT)

    stubborn = "trap 'echo no' TERM; echo up; while :; do sleep 0.1; done"
    program = Program(("/bin/sh", "-c", stubborn), str(tmp_path), dict(os.environ))
    ended = supervise(program, Limits(60, grace=600), stops, heard)
    assert (ended.why, ended.signal) == ("stopped", signal.SIGKILL)
    assert stops.signal_number == signal.SIGINT


UNTIL_UP = "while ! test -s pid; do sleep 0.01; done"
QUIET = "> /dev/null 2>&1 &"
ESCAPES = {
    "background": "sleep 100 & echo $! > pid",
    "new session": f"setsid sh -c 'echo $$ > pid; exec sleep 100' {QUIET} {UNTIL_UP}",
    "double fork": f"sh -c 'sh -c \"echo \\$\\$ > pid; exec sleep 100\" {QUIET}'; {UNTIL_UP}",
    "cleared environment": f"env -i setsid sh -c 'echo $$ > pid; exec /bin/sleep 100' {QUIET} {UNTIL_UP}",
    "ignores signals": (
        f"setsid sh -c 'trap \"\" TERM HUP INT; echo $$ > pid; while :; do sleep 1; done' {QUIET} {UNTIL_UP}"
    ),
}


@pytest.mark.parametrize("escape", ESCAPES)
def test_nothing_the_program_leaves_behind_survives_it(tmp_path: Path, escape: str) -> None:
    ended, _, _ = run(ESCAPES[escape], tmp_path)
    assert ended.exit_code == 0
    assert ended.leftovers >= 1
    assert gone(tmp_path / "pid")


RUNNER = """
import os, sys
from holdfast.system.process import Limits, Program, Stops, supervise
program = Program(("/bin/sh", "-c", sys.argv[1]), sys.argv[2], dict(os.environ))
supervise(program, Limits(100), Stops(), lambda stream, chunk: None)
"""


@pytest.mark.parametrize("escape", ESCAPES)
def test_kill_9_of_the_runner_kills_the_whole_tree(tmp_path: Path, escape: str) -> None:
    runner = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", RUNNER, f"{ESCAPES[escape]}; touch up; sleep 100", str(tmp_path)],
        os.environ,
    )
    wait_for(lambda: (tmp_path / "up").exists())
    os.kill(runner, signal.SIGKILL)
    os.waitpid(runner, 0)
    wait_for(lambda: gone(tmp_path / "pid"))


def test_kill_9_of_the_supervisor_leaves_no_orphan_either(tmp_path: Path) -> None:
    become_subreaper()
    script = f"{ESCAPES['cleared environment']}; kill -9 $PPID; sleep 100"
    ended, _, _ = run(script, tmp_path)
    assert ended.exit_code is None
    assert gone(tmp_path / "pid")


def test_kill_9_of_several_supervisors_at_once_leaves_no_orphan_either(tmp_path: Path) -> None:
    """Each of them buries what it finds: nothing twice, and nothing that another still waits for."""
    become_subreaper()
    script = f"{ESCAPES['cleared environment']}; touch ../ready-$$; "
    script += "while test $(ls .. | grep -c ready) -lt 6; do sleep 0.01; done; kill -9 $PPID; sleep 100"
    places = [tmp_path / str(number) for number in range(6)]
    for place in places:
        place.mkdir()
    with ThreadPoolExecutor(len(places)) as threads:
        results = list(threads.map(lambda place: run(script, place), places))
    assert [ended.exit_code for ended, _, _ in results] == [None] * len(places)
    assert all(gone(place / "pid") for place in places)


def wait_for(condition: "object") -> None:
    assert callable(condition)
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
