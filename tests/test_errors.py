"""What the machine does to a run is told apart from mistakes of the program, each with its remedy."""

import errno
import os

import pytest

from holdfast.errors import GitError, machine_trouble


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "make room on the disk, then run the same command again: it goes on from here"),
        (errno.EACCES, "make it writable for yourself, then run the same command again"),
        (errno.EROFS, "make the file system writable, then run the same command again"),
    ],
)
def test_trouble_of_the_machine_names_the_file_and_the_remedy(number: int, remedy: str) -> None:
    trouble = machine_trouble(OSError(number, os.strerror(number), "/some/file"))
    assert trouble is not None
    assert trouble.exit_code == 1
    assert trouble.message == f"a file operation failed: {os.strerror(number)}: /some/file"
    assert trouble.fix.startswith(remedy)


@pytest.mark.parametrize("error", [OSError("odd"), FileNotFoundError(errno.ENOENT, "gone", "/some/file")])
def test_other_errors_are_the_programs_own(error: OSError) -> None:
    assert machine_trouble(error) is None


def test_gits_words_tell_a_full_disk_from_what_an_agent_could_mend() -> None:
    full = GitError("failed", stderr="error: unable to write file: No space left on device")
    assert full.is_the_disks
    assert not GitError("failed", stderr='error: open("x"): Permission denied').is_the_disks
