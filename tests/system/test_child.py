import os
import signal
import sys
from pathlib import Path

from holdfast.system.process import Child

PATIENT = "import os, time; os.write(1, b'here'); time.sleep(60)"


def child(code: str, cwd: Path) -> Child:
    return Child((sys.executable, "-c", code), cwd=str(cwd), env=os.environ)


def test_what_it_says_is_read_while_it_goes_on(tmp_path: Path) -> None:
    with child(PATIENT, tmp_path) as patient:
        assert patient.read(30.0) == b"here"
        assert patient.read(0.0) is None


def test_leaving_the_block_kills_it(tmp_path: Path) -> None:
    with child(PATIENT, tmp_path) as patient:
        patient.read(30.0)
    assert patient.wait(1.0) == -signal.SIGKILL


def test_it_ends_with_its_code_and_an_empty_reading(tmp_path: Path) -> None:
    with child("import os; os.write(2, os.getcwdb()); os._exit(3)", tmp_path) as quick:
        assert quick.read(30.0) == os.fsencode(tmp_path.resolve())
        assert quick.read(30.0) == b""
        assert quick.wait(30.0) == 3


def test_one_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    with child(PATIENT, tmp_path) as patient:
        assert patient.wait(0.01) == -signal.SIGKILL
