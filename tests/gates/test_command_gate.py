"""A gate passes when its command exits 0; otherwise its words say why."""

import os
from pathlib import Path

from holdfast.gates.base import Inspection, Verdict
from holdfast.gates.command import CommandGate
from holdfast.model.plan import Status, Task
from holdfast.system.process import Stops

TASK = Task("1", "One", Status.PENDING, 1)


def check(command: str, where: Path, timeout: float = 30.0) -> Verdict:
    inspection = Inspection(str(where), TASK, dict(os.environ), timeout, Stops(), -1)
    return CommandGate(command).check(inspection)


def test_exit_0_passes_and_the_command_runs_in_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "needed").touch()
    verdict = check("test -f needed && echo fine", tmp_path)
    assert (verdict.passed, verdict.output) == (True, "fine")


def test_another_exit_code_fails_with_both_outputs(tmp_path: Path) -> None:
    verdict = check("echo to stdout; echo to stderr >&2; exit 4", tmp_path)
    assert not verdict.passed
    assert {"to stdout", "to stderr"} <= set(verdict.output.splitlines())


def test_of_long_output_the_end_is_kept(tmp_path: Path) -> None:
    verdict = check("seq 1 100000; false", tmp_path)
    assert verdict.output.endswith("99999\n100000")
    assert len(verdict.output) < 10_000


def test_a_command_that_hangs_is_ended_and_says_so(tmp_path: Path) -> None:
    verdict = check("echo started; sleep 60", tmp_path, timeout=0.5)
    assert not verdict.passed
    assert "not finished after" in verdict.output


def test_what_a_gate_leaves_running_is_ended(tmp_path: Path) -> None:
    verdict = check("sleep 100 > /dev/null 2>&1 & echo $! > pid", tmp_path)
    assert verdict.passed
    assert not os.path.exists(f"/proc/{(tmp_path / 'pid').read_text().strip()}")
