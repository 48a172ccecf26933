from holdfast.system.git import Git, find_repository
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


def test_a_name_with_a_newline_counts_as_not_there(repo: Repo) -> None:
    assert opened(repo).objects(["HEAD:a\nHEAD:README.md", "HEAD:README.md"]) == [None, b"# Scratch\n"]


def test_nothing_asked_nothing_answered(repo: Repo) -> None:
    assert opened(repo).objects([]) == []
