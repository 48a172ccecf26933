import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from holdfast.errors import Refused
from holdfast.journal import Journal, read_only
from holdfast.model.events import (
    VERSION,
    AgentEnded,
    AgentSpoke,
    AttemptFailed,
    Entry,
    GateFinished,
    Noticed,
    RunEnded,
    TaskLanded,
)

EVENTS = (
    AgentEnded("1.1", 1, "finished", "", None, 12.5),
    GateFinished("1.1", 1, "make test", False, 3.0, "boom\n" * 400),
    AttemptFailed("1.1", 1, "the tests failed", "boom"),
    Noticed("disk is nearly full"),
    TaskLanded("1.1", "Add a parser", "c0ffee", 2, 80.0),
    RunEnded(0, "", 2, 2, 100.0),
)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "journal.db")


def opened(path: str) -> Journal:
    ticks = count(1000)
    return Journal.open(path, now=lambda: float(next(ticks)))


def filled(path: str) -> bytes:
    """A journal of several pages, closed; its bytes."""
    with opened(path) as journal:
        for number in range(12):
            for event in EVENTS:
                journal.record(f"run{number % 2}", event)
    return Path(path).read_bytes()


def events(entries: Iterator[Entry]) -> list[object]:
    return [entry.event for entry in entries]


def test_every_event_comes_back_as_it_was_recorded(path: str) -> None:
    with opened(path) as journal:
        recorded = [journal.record("run", event) for event in EVENTS]
    with opened(path) as journal:
        assert list(journal.entries()) == recorded
    assert [entry.seq for entry in recorded] == [1, 2, 3, 4, 5, 6]
    assert [entry.at for entry in recorded] == [1000.0, 1001.0, 1002.0, 1003.0, 1004.0, 1005.0]


def test_entries_are_chosen_by_run_seq_kind_and_task(path: str) -> None:
    with opened(path) as journal:
        journal.record("a", Noticed("one", task="1"))
        journal.record("a", Noticed("two", task="2"))
        journal.record("a", TaskLanded("2", "Two", "c0ffee", 1, 1.0))
        journal.record("b", Noticed("three", task="2"))
        assert [e.seq for e in journal.entries(run="a")] == [1, 2, 3]
        assert [e.seq for e in journal.entries(after=2)] == [3, 4]
        assert [e.seq for e in journal.entries(kinds=("task_landed", "run_ended"))] == [3]
        assert [e.seq for e in journal.entries(task="2")] == [2, 3, 4]
        assert [e.seq for e in journal.entries(run="a", after=1, kinds=("noticed",), task="2")] == [2]


def test_what_the_agent_says_is_passed_on_but_not_stored(path: str) -> None:
    with opened(path) as journal:
        entry = journal.record("run", AgentSpoke("1", "hello"))
        assert entry == Entry(0, 1000.0, "run", AgentSpoke("1", "hello"))
        assert list(journal.entries()) == []
        assert journal.failed_writes == 0


def test_text_that_is_not_unicode_survives(path: str) -> None:
    odd = b"na\xffme".decode("utf-8", "surrogateescape")
    with opened(path) as journal:
        entry = journal.record("run", Noticed(f"{odd}\0\n€", task=odd))
        assert journal.failed_writes == 0
        assert list(journal.entries(task=odd)) == [entry]
        assert journal.record(odd, Noticed("")).seq == 2


@pytest.mark.parametrize("keep", [0, 1, 15, 16, 99, 100, 101, 512, 1000, 4095, 4096, 4097, 8192, 20000, -1])
def test_a_truncated_journal_does_not_stop_a_run(path: str, keep: int) -> None:
    whole = filled(path)
    Path(path).write_bytes(whole[:keep])
    assert_goes_on(path)
    if keep > 0:  # a last page that lacks one byte passes for whole
        assert Path(f"{path}.damaged-1").read_bytes() == whole[:keep]


@pytest.mark.parametrize(
    "junk", [b"\0" * 10_000, b"junk", b"SQLite format 3\0", b"SQLite format 3\0" + b"\xff" * 9000]
)
def test_a_file_that_is_no_database_is_set_aside(path: str, junk: bytes) -> None:
    os.makedirs(os.path.dirname(path))
    Path(path).write_bytes(junk)
    assert_goes_on(path)
    assert Path(f"{path}.damaged-1").read_bytes() == junk


def test_flipped_bytes_do_not_stop_a_run(path: str) -> None:
    whole = filled(path)
    # Left out: the version of the schema (newer is refused), and of the format (newer is read-only).
    for position in [
        *range(0, 18, 4),
        *range(20, 60, 5),
        *range(64, 120, 5),
        *range(120, len(whole), 1597),
        3903,
    ]:
        flipped = bytearray(whole)
        flipped[position] ^= 0xFF
        replace_all(path, bytes(flipped))
        with opened(path) as journal:
            exercise(journal)


def test_a_page_of_garbage_does_not_stop_a_run(path: str) -> None:
    whole = filled(path)
    for page in range(len(whole) // 4096):
        replace_all(path, whole[: page * 4096] + b"\xa5" * 4096 + whole[(page + 1) * 4096 :])
        with opened(path) as journal:
            exercise(journal)


def replace_all(path: str, data: bytes) -> None:
    for old in Path(path).parent.iterdir():
        old.unlink()
    Path(path).write_bytes(data)


def assert_goes_on(path: str) -> None:
    """Reads and writes, whatever the file holds, and ends with what was written last."""
    with opened(path) as journal:
        exercise(journal)
        last = journal.record("run0", Noticed("at last", task="1.1"))
        assert last in list(journal.entries(run="run0"))


def exercise(journal: Journal) -> None:
    list(read_only(journal.path).entries())
    list(journal.entries())
    assert journal.record("run0", Noticed("still here", task="1.1")).seq > 0
    list(journal.entries(run="run0", kinds=("noticed",)))
    list(journal.entries(run="run0", task="1.1"))
    assert journal.record("run0", Noticed("still here", task="1.1")).seq > 0
    assert journal.failed_writes == 0


def test_a_damaged_journal_is_moved_with_its_side_files_and_named(path: str) -> None:
    filled(path)
    crash(path, "DELETE FROM entries WHERE seq = 1")
    Path(path).write_bytes(b"junk")
    with opened(path) as journal:
        assert journal.set_aside == f"{path}.damaged-1"
    Path(path).write_bytes(b"more junk")
    with opened(path) as journal:
        assert journal.set_aside == f"{path}.damaged-2"
    assert Path(f"{path}.damaged-1").read_bytes() == b"junk"
    assert Path(f"{path}.damaged-2").read_bytes() == b"more junk"
    assert Path(f"{path}.damaged-1-wal").exists()


def test_a_sound_journal_is_not_set_aside(path: str) -> None:
    filled(path)
    with opened(path) as journal:
        assert len(list(journal.entries())) == 72
        assert journal.set_aside is None
    assert os.listdir(os.path.dirname(path)) == ["journal.db"]


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("nowhere", path)])
def test_something_else_in_the_journals_place_is_set_aside(path: str, make: object) -> None:
    os.makedirs(os.path.dirname(path))
    assert callable(make)
    make(path)
    assert read_only(path).problem
    assert_goes_on(path)
    assert os.path.lexists(f"{path}.damaged-1")


def test_damage_that_appears_in_mid_run_is_survived(path: str) -> None:
    filled(path)
    with opened(path) as journal:
        journal.record("run", Noticed("before"))
        size = os.path.getsize(path)
        with open(path, "r+b") as file:
            file.write(b"\xa5" * size)
        os.truncate(f"{path}-wal", 0)
        entry = journal.record("run", Noticed("after"))
        list(journal.entries())
        again = journal.record("run", Noticed("after that"))
        assert entry.seq and again.seq
        assert again in list(journal.entries())


def test_another_table_of_the_same_version_is_set_aside(path: str) -> None:
    os.makedirs(os.path.dirname(path))
    foreign(path, f"CREATE TABLE entries (seq INTEGER); PRAGMA user_version = {VERSION}")
    with opened(path) as journal:
        assert journal.record("run", Noticed("here")).seq == 1
        assert journal.set_aside == f"{path}.damaged-1"


def test_a_newer_journal_is_refused_and_left_as_it_was(path: str) -> None:
    filled(path)
    foreign(path, f"PRAGMA user_version = {VERSION + 4}")
    before = contents(path)
    with pytest.raises(Refused) as refused:
        opened(path)
    assert f"version {VERSION + 4}" in refused.value.message
    assert f"version {VERSION}" in refused.value.message
    assert "upgrade" in refused.value.fix
    reader = read_only(path)
    assert list(reader.entries()) == []
    assert "upgrade" in reader.problem
    assert contents(path) == before


def test_a_newer_version_still_in_the_write_ahead_log_is_refused_too(path: str) -> None:
    filled(path)
    crash(path, f"PRAGMA user_version = {VERSION + 1}")
    before = contents(path)
    assert set(before) == {"journal.db", "journal.db-wal", "journal.db-shm"}
    with pytest.raises(Refused):
        opened(path)
    assert contents(path) == before


def test_a_newer_journal_appearing_in_mid_run_is_not_written_to(path: str) -> None:
    with opened(path) as journal:
        journal.record("run", Noticed("one"))
        for file in Path(path).parent.iterdir():
            file.unlink()
        foreign(path, f"PRAGMA user_version = {VERSION + 1}")
        before = Path(path).read_bytes()
        assert journal.record("run", Noticed("two")).seq == 0
        assert journal.failed_writes == 1
        assert Path(path).read_bytes() == before


def test_a_journal_deleted_in_mid_run_is_started_again_and_counts_on(path: str) -> None:
    with opened(path) as journal:
        journal.record("run", Noticed("one"))
        os.remove(path)
        second = journal.record("run", Noticed("two"))
        assert second.seq == 2
        assert list(journal.entries()) == [second]
    assert list(read_only(path).entries()) == [second]


def test_a_state_directory_deleted_in_mid_run_is_made_again(path: str) -> None:
    with opened(path) as journal:
        journal.record("run", Noticed("one"))
        for file in os.listdir(os.path.dirname(path)):
            os.remove(os.path.join(os.path.dirname(path), file))
        os.rmdir(os.path.dirname(path))
        second = journal.record("run", Noticed("two"))
        assert list(read_only(path).entries()) == [second]


def test_two_writers_survive_the_deletion_of_the_file_they_share(path: str) -> None:
    with opened(path) as one, opened(path) as two:
        for turn in range(3):
            one.record("one", Noticed(f"{turn}"))
            two.record("two", Noticed(f"{turn}"))
            os.remove(path)
        last = [one.record("one", Noticed("end")), two.record("two", Noticed("end"))]
        assert all(entry.seq for entry in last)
        assert [entry.run for entry in two.entries()] == ["one", "two"]
        assert one.set_aside is None and two.set_aside is None


def test_a_journal_that_cannot_be_made_costs_history_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with opened(str(tmp_path / "file" / "journal.db")) as journal:
        assert journal.record("run", Noticed("one")).seq == 0
        assert list(journal.entries()) == []
        assert journal.failed_writes == 1
        (tmp_path / "file").unlink()
        assert journal.record("run", Noticed("two")).seq == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory_costs_history_only(path: str) -> None:
    filled(path)
    os.chmod(path, 0o444)
    os.chmod(os.path.dirname(path), 0o555)
    try:
        with opened(path) as journal:
            assert journal.record("run", Noticed("one")).seq == 0
            assert journal.failed_writes == 1
        assert len(list(read_only(path).entries())) == 72
    finally:
        os.chmod(os.path.dirname(path), 0o755)


def test_a_full_disk_costs_history_only(path: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with opened(path) as journal:
        first = journal.record("run", Noticed("one"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(f"{path}-wal"), hard))
        try:
            assert journal.record("run", Noticed("x" * 50_000)).seq == 0
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert journal.failed_writes == 1
        assert journal.set_aside is None
        third = journal.record("run", Noticed("three"))
        assert list(journal.entries()) == [first, third]


def test_entries_of_another_writer_are_read_as_far_as_they_make_sense(path: str) -> None:
    with opened(path) as journal:
        for event in EVENTS:
            journal.record("run", event)
    rows = {
        ("invented_later", "{}"): None,
        ("noticed", '{"text": "hi", "mood": "good"}'): Noticed("hi"),
        ("noticed", '{"task": "1"}'): None,
        ("noticed", '{"text": 5}'): None,
        ("noticed", '{"text": "hi", "task": 5}'): Noticed("hi"),
        ("noticed", '{"text": "hi"'): None,
        ("noticed", "[1]"): None,
        ("run_ended", '{"exit_code":0,"reason":"","settled":1,"total":2,"seconds":3}'): RunEnded(
            0, "", 1, 2, 3
        ),
    }
    with sqlite3.connect(path) as connection:
        for kind, data in rows:
            connection.execute("INSERT INTO entries VALUES (NULL, 1.5, 'odd', ?, '', ?)", (kind, data))
        connection.execute("INSERT INTO entries VALUES (NULL, 'x', 'odd', 'noticed', '', '{\"text\":\"a\"}')")
        connection.execute("INSERT INTO entries VALUES (NULL, 1.5, 'odd', x'ff', '', x'ff')")
    connection.close()
    expected = [event for event in rows.values() if event is not None]
    assert events(read_only(path).entries(run="odd")) == expected
    with opened(path) as journal:
        assert events(journal.entries(run="odd")) == expected


def test_reading_creates_and_changes_nothing(path: str) -> None:
    assert list(read_only(path).entries()) == []
    assert not os.path.exists(os.path.dirname(path))
    filled(path)
    before = contents(path)
    assert len(list(read_only(path).entries())) == 72
    assert contents(path) == before


def test_reading_sees_what_a_killed_run_left_in_the_write_ahead_log(path: str) -> None:
    filled(path)
    crash(path, """INSERT INTO entries VALUES (NULL, 1.5, 'r', 'noticed', '', '{"text":"last words"}')""")
    before = contents(path)
    reader = read_only(path)
    assert events(reader.entries(run="r")) == [Noticed("last words")]
    assert reader.problem == ""
    assert contents(path) == before


def test_reading_follows_a_run_under_way(path: str) -> None:
    reader = read_only(path)
    with opened(path) as journal:
        journal.record("run", Noticed("one"))
        assert len(list(reader.entries())) == 1
        journal.record("run", Noticed("two"))
        assert events(reader.entries(after=1)) == [Noticed("two")]
    assert len(list(reader.entries())) == 2


def test_an_unreadable_journal_reads_as_empty_and_says_so(path: str) -> None:
    os.makedirs(os.path.dirname(path))
    Path(path).write_bytes(b"junk" * 1000)
    reader = read_only(path)
    assert path in reader.problem
    assert list(reader.entries()) == []
    assert contents(path) == {"journal.db": b"junk" * 1000}


def test_a_journal_in_a_folder_with_an_odd_name_is_found(tmp_path: Path) -> None:
    path = str(tmp_path / "50%25 done? #1" / "journal.db")
    with opened(path) as journal:
        journal.record("run", Noticed("here"))
        assert events(read_only(path).entries()) == [Noticed("here")]
    assert events(read_only(path).entries()) == [Noticed("here")]


def contents(path: str) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in Path(path).parent.iterdir()}


def foreign(path: str, script: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()


def crash(path: str, sql: str) -> None:
    """Run one statement in a process that dies without closing the database."""
    program = (
        "import os, sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "connection.execute(sys.argv[2])\n"
        "os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", program, path, sql], check=False)
