"""Whose call it is: a blow meant for one process must not pass by its threads, nor fall on its children."""

import json
import os
import sys
from pathlib import Path

import pytest

from proof.syscalls import Outcome
from proof.system_calls import TRACER, why_not
from scratch import run

THREAD_THEN_CHILD = """\
import os, subprocess, threading
thread = threading.Thread(target=os.mkdir, args=("by-a-thread",))
thread.start()
thread.join()
subprocess.run(["mkdir", "by-a-child"])
"""


@pytest.fixture(autouse=True)
def _where_calls_can_be_held_up(tmp_path: Path) -> None:
    if reason := why_not(tmp_path):
        pytest.skip(reason)


def trace(directory: Path, *options: str) -> tuple[Outcome, list[str]]:
    """How it went, and the calls that are points."""
    command = (sys.executable, "-I", "-S", "-B", "-c", THREAD_THEN_CHILD)
    report = directory / "report.json"
    traced = (*TRACER, "--list", *options, "--report", str(report), *command)
    said = run(traced, cwd=directory, env=os.environ).err.splitlines()
    return Outcome(**json.loads(report.read_text())), [line for line in said if line[:1].isdigit()]


def test_a_call_of_a_thread_is_its_process_own_and_that_of_a_child_is_not(tmp_path: Path) -> None:
    outcome, calls = trace(tmp_path)
    assert (outcome.code, outcome.points) == (0, len(calls))
    (by_thread,) = (number for number, call in enumerate(calls, 1) if "(by-a-thread)" in call)
    (by_child,) = (number for number, call in enumerate(calls, 1) if "(by-a-child)" in call)
    assert by_thread not in outcome.by_others
    assert by_child in outcome.by_others


def test_an_operation_of_a_thread_can_be_made_to_fail(tmp_path: Path) -> None:
    outcome, calls = trace(tmp_path, "--fail", "EACCES", "--at", "1")
    assert [call for call in calls if "(by-a-child)" in call] == [], "that is none of the runner's"
    assert "(by-a-thread)" in outcome.hit
    assert not (tmp_path / "by-a-thread").exists() and (tmp_path / "by-a-child").exists()
