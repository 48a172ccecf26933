"""One run per tree: the lock lives in the kernel, and no file decides."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from holdfast.errors import LockHeld
from holdfast.system import lock
from holdfast.system.lock import TreeLock, is_held, read_holder

HOLD = """
import sys, time
from holdfast.system.lock import TreeLock
with TreeLock(sys.argv[1], sys.argv[2]):
    open(sys.argv[3], "w").close()
    time.sleep(100)
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "git").mkdir()
    return tmp_path


def held_by_another(tree: Path) -> int:
    argv = [sys.executable, "-c", HOLD, str(tree / "git"), holder(tree), str(tree / "up")]
    pid = os.posix_spawn(sys.executable, argv, os.environ)
    deadline = time.monotonic() + 20
    while not (tree / "up").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return pid


def holder(tree: Path) -> str:
    return str(tree / "state" / "holder.json")


def end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def test_a_living_holder_keeps_others_out_and_is_named(tree: Path) -> None:
    pid = held_by_another(tree)
    try:
        with pytest.raises(LockHeld, match=f"process {pid}"), TreeLock(str(tree / "git"), holder(tree)):
            pass
        assert is_held(str(tree / "git"))
    finally:
        end(pid)


@pytest.mark.parametrize("content", [None, b"", b"\xff", b"{", b'{"pid": 1}'])
def test_deleting_or_spoiling_the_holder_file_lets_nobody_in(
    tree: Path, content: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "DYING_RUN_PATIENCE", 0.2)
    pid = held_by_another(tree)
    try:
        Path(holder(tree)).unlink()
        if content is not None:
            Path(holder(tree)).write_bytes(content)
        with pytest.raises(LockHeld), TreeLock(str(tree / "git"), holder(tree)):
            pass
    finally:
        end(pid)


def test_a_dead_holder_never_blocks(tree: Path) -> None:
    end(held_by_another(tree))
    named = read_holder(holder(tree))
    assert named is not None
    assert not named.alive
    with TreeLock(str(tree / "git"), holder(tree)):
        assert is_held(str(tree / "git"))
    assert not is_held(str(tree / "git"))


def test_a_child_that_inherits_the_lock_keeps_it_until_it_ends(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "DYING_RUN_PATIENCE", 0.2)
    with TreeLock(str(tree / "git"), holder(tree)):
        child = os.posix_spawnp("sleep", ["sleep", "100"], os.environ)
    Path(holder(tree)).unlink()
    try:
        with pytest.raises(LockHeld, match="still alive"), TreeLock(str(tree / "git"), holder(tree)):
            pass
    finally:
        end(child)
    with TreeLock(str(tree / "git"), holder(tree)):
        pass
