"""How a ref was moved, the newest move first, also from a log that a power cut has torn."""

from holdfast.system.git import find_repository
from holdfast.system.reflog import moves
from scratch import Repo

MAIN = "refs/heads/main"


def test_moves_are_told_with_where_from_where_to_and_why(repo: Repo) -> None:
    first = repo.git("rev-parse", "HEAD")
    second = repo.commit("Second")
    newest, oldest = moves(find_repository(str(repo.path)), MAIN)
    assert newest == (first, second, "commit: Second")
    assert oldest.new == first


def test_zero_bytes_in_place_of_an_entry_hide_no_other(repo: Repo) -> None:
    log = repo.path / ".git/logs" / MAIN
    repo.commit("Second")
    kept, lost = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(kept + b"\0" * len(lost))
    second = repo.git("rev-parse", "HEAD")
    third = repo.commit("Third")
    newest, oldest = moves(find_repository(str(repo.path)), MAIN)
    assert (newest.old, newest.new) == (second, third)
    assert oldest.new == repo.git("rev-parse", "HEAD~2")


def test_without_a_log_there_are_no_moves(repo: Repo) -> None:
    (repo.path / ".git/logs" / MAIN).unlink()
    assert list(moves(find_repository(str(repo.path)), MAIN)) == []
