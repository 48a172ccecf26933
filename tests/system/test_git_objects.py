import pytest

from holdfast.system.git import Git, Unreadable, find_repository
from scratch import Repo


def opened(repo: Repo) -> Git:
    return find_repository(str(repo.path))


def test_several_objects_come_by_one_call_in_the_order_asked(repo: Repo) -> None:
    repo.write("empty.txt", b"")
    repo.write("raw.bin", b"\x00\xff\nblob 3\nno newline")
    head = repo.commit("Files")
    found = opened(repo).objects(["HEAD:raw.bin", "HEAD:nothing here", "HEAD:empty.txt", head])
    assert found[:3] == [b"\x00\xff\nblob 3\nno newline", None, b""]
    assert found[3] is not None and found[3].endswith(b"\n\nFiles\n")


def test_a_name_with_a_newline_is_asked_for_by_itself(repo: Repo) -> None:
    repo.write("a\nb", "odd\n")
    repo.commit("An odd name")
    asked = ["HEAD:a\nHEAD:README.md", "HEAD:a\nb", "HEAD:README.md"]
    assert opened(repo).objects(asked) == [None, b"odd\n", b"# Scratch\n"]


@pytest.mark.parametrize("damaged", ["HEAD:sub/file", "HEAD:sub"])
def test_a_file_that_a_commit_has_and_git_cannot_read_is_an_error(repo: Repo, damaged: str) -> None:
    repo.write("sub/file", "text\n")
    repo.commit("A file")
    git, name = opened(repo), repo.git("rev-parse", damaged)
    paths = ("sub/file", "README.md", "sub", "nothing")
    assert git.files_in("HEAD", paths) == dict(
        zip(paths, (b"text\n", b"# Scratch\n", None, None), strict=True)
    )
    (repo.path / ".git/objects" / name[:2] / name[2:]).unlink()
    with pytest.raises(Unreadable, match="git cannot read sub/file at"):
        git.files_in("HEAD", ["sub/file"])
    assert git.files_in("HEAD", ["README.md"]) == {"README.md": b"# Scratch\n"}


def test_what_is_before_the_first_commit_has_no_files(repo: Repo) -> None:
    assert opened(repo).files_in("HEAD^", ["README.md"]) == {"README.md": None}


def test_nothing_asked_nothing_answered(repo: Repo) -> None:
    assert opened(repo).objects([]) == []
