"""The git calls a run depends on: refs move only from what was seen, and odd names survive."""

import pytest

from holdfast.errors import GitError, Refused
from holdfast.system.git import ABSENT, RefMoved, find_repository
from scratch import Repo


def test_a_ref_moves_only_from_the_value_last_seen(repo: Repo) -> None:
    git = find_repository(str(repo.path))
    first = repo.git("rev-parse", "HEAD")
    second = repo.commit("second")
    git.move_ref("refs/holdfast/x", first, ABSENT, "create", fault="test")
    git.move_ref("refs/holdfast/x", second, first, "move", fault="test")
    with pytest.raises(RefMoved):
        git.move_ref("refs/holdfast/x", first, first, "stale", fault="test")
    with pytest.raises(RefMoved):
        git.move_ref("refs/holdfast/x", first, ABSENT, "exists", fault="test")
    assert repo.git("rev-parse", "refs/holdfast/x") == second


def test_moving_a_ref_to_where_it_is_already_is_no_error(repo: Repo) -> None:
    git = find_repository(str(repo.path))
    head = repo.git("rev-parse", "HEAD")
    git.move_ref("refs/holdfast/x", head, ABSENT, "create", fault="test")
    git.move_ref("refs/holdfast/x", head, ABSENT, "again, after a crash", fault="test")


def test_status_tells_staged_changed_untracked_and_renamed_files_apart(repo: Repo) -> None:
    names = {"staged": "s p a c e", "changed": "new\nline", "renamed": "-dash", "deleted": "caf\udce9"}
    for name in names.values():
        repo.write(name, "content that git recognises again\n")
    repo.commit("files")
    repo.write(names["staged"], "2\n")
    repo.git("add", names["staged"])
    repo.write(names["changed"], "2\n")
    repo.git("mv", "--", names["renamed"], "moved")
    (repo.path / names["deleted"]).unlink()
    repo.write("un\ttracked", "")
    dirt = find_repository(str(repo.path)).dirt()
    assert set(dirt.staged) >= {names["staged"], "moved"}
    assert set(dirt.unstaged) == {names["changed"], names["deleted"]}
    assert dirt.untracked == ("un\ttracked",)
    assert not dirt.clean


def test_looking_takes_no_lock_and_writes_nothing(repo: Repo) -> None:
    index = repo.path / ".git/index"
    (repo.path / "README.md").touch()
    before = index.read_bytes(), index.stat().st_mtime_ns
    (repo.path / ".git/index.lock").touch()
    find_repository(str(repo.path)).dirt()
    assert (index.read_bytes(), index.stat().st_mtime_ns) == before


def test_variables_that_point_elsewhere_are_not_followed(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    git = find_repository(str(repo.path))
    assert git.root == str(repo.path)
    assert git.dirt().clean


def test_a_failing_call_carries_gits_own_words(repo: Repo) -> None:
    with pytest.raises(GitError) as caught:
        find_repository(str(repo.path)).run("rev-parse", "--verify", "no-such-thing")
    assert "Needed a single revision" in caught.value.stderr


def test_a_bare_repository_is_refused_as_such(repo: Repo) -> None:
    repo.git("clone", "--quiet", "--bare", ".", "../bare")
    with pytest.raises(Refused, match="bare"):
        find_repository(str(repo.path.parent / "bare"))


def test_a_failure_ends_with_gits_last_words_and_what_to_do(repo: Repo) -> None:
    with pytest.raises(GitError) as failed:
        find_repository(str(repo.path)).run("update-ref", "refs/heads/x", "0" * 39 + "1")
    assert failed.value.message.startswith("git update-ref failed (128): fatal: update_ref failed")
    assert "deprecated" not in failed.value.stderr
    assert "run the same command again" in failed.value.fix


def test_a_damaged_object_reads_as_one_that_is_not_there(repo: Repo) -> None:
    name = repo.git("rev-parse", "HEAD:README.md")
    path = repo.path / ".git/objects" / name[:2] / name[2:]
    path.chmod(0o644)
    path.write_bytes(b"")
    repo.write("other", "whole\n")
    repo.git("add", "other")
    assert find_repository(str(repo.path)).objects([":README.md", ":other"]) == [None, b"whole\n"]
