"""A log keeps its beginning and its end, and cannot fill the disk."""

from pathlib import Path

from holdfast.system.logfile import CappedLog


def test_a_short_log_is_kept_whole(tmp_path: Path) -> None:
    with CappedLog(str(tmp_path / "logs" / "a.log")) as log:
        log.write(b"one\n")
        log.write(b"two\n")
    assert (tmp_path / "logs/a.log").read_bytes() == b"one\ntwo\n"
    assert not (tmp_path / "logs/a.log.head").exists()


def test_of_a_long_one_beginning_and_end_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    with CappedLog(str(path), head=100, tail=200) as log:
        for number in range(1000):
            log.write(f"line {number:04}\n".encode())
    head, tail = Path(f"{path}.head").read_bytes(), path.read_bytes()
    assert head.startswith(b"line 0000\nline 0001\n")
    assert tail.endswith(b"line 0998\nline 0999\n")
    assert 100 <= len(tail) <= 210
    assert len(head) <= 110
