"""Objects that a power cut has torn are found and removed; whole ones and older ones stay."""

import os
import time
from pathlib import Path

from holdfast.system import objects
from scratch import Repo


def loose(repo: Repo, text: str) -> Path:
    name = repo.git("hash-object", "-w", "--stdin", input=text)
    path = repo.path / ".git/objects" / name[:2] / name[2:]
    path.chmod(0o644)
    return path


def remove_torn(repo: Repo, since: float) -> int:
    return objects.remove_torn_since(str(repo.path / ".git"), since)


def test_empty_and_cut_off_objects_are_removed_and_whole_ones_stay(repo: Repo) -> None:
    whole, empty, short = (loose(repo, f"{word}\n" * 500) for word in ("whole", "empty", "short"))
    os.truncate(empty, 0)
    os.truncate(short, short.stat().st_size - 5)
    assert remove_torn(repo, 0.0) == 2
    assert whole.exists() and not empty.exists() and not short.exists()
    assert repo.git("fsck", "--no-dangling") == ""


def test_contents_that_belong_to_another_name_are_torn_too(repo: Repo) -> None:
    one, other = loose(repo, "one"), loose(repo, "other")
    one.write_bytes(other.read_bytes())
    assert remove_torn(repo, 0.0) == 1
    assert not one.exists()


def test_a_name_of_64_digits_is_checked_by_the_other_hash(repo: Repo) -> None:
    path = repo.path / "new"
    repo.git("init", "-q", "--object-format=sha256", str(path))
    other = Repo(path, repo.env)
    whole, torn = loose(other, "whole"), loose(other, "torn")
    os.truncate(torn, 0)
    assert remove_torn(other, 0.0) == 1
    assert whole.exists() and not torn.exists()


def test_what_is_older_is_not_even_looked_at(repo: Repo) -> None:
    path = loose(repo, "old")
    os.truncate(path, 0)
    assert remove_torn(repo, time.time() + 60) == 0
    assert path.exists()


def test_flushing_copes_with_a_repository_that_has_no_new_objects(repo: Repo) -> None:
    objects.flush_since(str(repo.path / ".git"), time.time() + 60)
    objects.flush_since(str(repo.path / ".git"), 0.0)
