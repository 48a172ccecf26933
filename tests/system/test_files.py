"""Files are replaced whole: whoever reads sees the old bytes or the new ones, with the old mode."""

import os
from pathlib import Path

import pytest

from holdfast.system.files import flush, flush_file_systems, read_if_there, remove_durably, write_durably


def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "file"
    write_durably(str(path), b"one", fault="test")
    path.chmod(0o754)
    inode = path.stat().st_ino
    write_durably(str(path), b"two", fault="test")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o754
    assert path.stat().st_ino != inode
    assert os.listdir(path.parent) == ["file"]


def test_removing_and_reading_what_is_not_there_is_fine(tmp_path: Path) -> None:
    remove_durably(str(tmp_path / "nothing"), fault="test")
    assert read_if_there(str(tmp_path / "nothing")) is None
    (tmp_path / "file").write_bytes(b"x")
    assert read_if_there(str(tmp_path / "file" / "below")) is None


def test_flushing_copes_with_links_pipes_and_what_is_gone(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/no/where")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    flush(str(tmp_path), ["link", "pipe", "directory", "gone", "gone/below"])


def test_whole_file_systems_are_flushed_by_any_of_their_directories(tmp_path: Path) -> None:
    flush_file_systems(str(tmp_path), str(tmp_path), "/dev")
    with pytest.raises(FileNotFoundError):
        flush_file_systems(str(tmp_path / "nowhere"))
