from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.journal import Journal, read_only
from holdfast.model.events import (
    AgentEnded,
    AttemptStarted,
    Entry,
    Event,
    GateFinished,
    Noticed,
    RunEnded,
    RunStarted,
    TaskLanded,
)
from holdfast.views.log import follow, log_lines

STARTED = RunStarted("login", "markdown", "holdfast/login", "trunk", "claude", 1, 0, 42)
BEGAN = AttemptStarted("1", "Add it", 1, 3, "base", "logs/1-1.log")
AGENT_ENDED = AgentEnded("1", 1, "finished", "", 0, 3.0)
BEGAN_LINE = "12:00 task 1: Add it (attempt 1 of 3)"
ENDED_LINE = "12:00 task 1: agent finished after 3s"


def clock(_: float) -> str:
    return "12:00"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    return tmp_path / "logs" / "1-1.log"


def told(state_dir: Path, *events: Event) -> list[str]:
    entries = (Entry(seq, 1.0, "run", event) for seq, event in enumerate(events, 1))
    return list(log_lines(entries, str(state_dir), clock=clock))


def test_an_attempt_is_told_with_its_output_before_its_end(tmp_path: Path, log: Path) -> None:
    log.write_bytes(b"reading\n  \x1b[31mediting\x1b[0m\r\nna\xffme without newline")
    gate = GateFinished("1", 1, "make test", False, 1.0, "..F\n1 failed\n")
    assert told(tmp_path, BEGAN, AGENT_ENDED, gate) == [
        BEGAN_LINE,
        "  | reading",
        "  |   editing",
        "  | na\ufffdme without newline",
        ENDED_LINE,
        "12:00 task 1: gate make test refused: 1 failed (1s)",
        "  | ..F",
        "  | 1 failed",
    ]


def test_the_output_of_an_attempt_whose_runner_was_killed_is_told_too(tmp_path: Path, log: Path) -> None:
    log.write_text("last words\n")
    assert told(tmp_path, BEGAN)[-1] == "  | last words"
    assert told(tmp_path, BEGAN, STARTED)[1] == "  | last words"


def test_output_that_was_capped_says_where_it_was_cut(tmp_path: Path, log: Path) -> None:
    log.with_name("1-1.log.head").write_text("first\nsecond ha")
    log.write_text("newest\n")
    assert told(tmp_path, BEGAN)[1:] == [
        "  | first",
        "  | second ha",
        "  … output cut here …",
        "  | newest",
    ]


def test_missing_output_is_said_to_be_missing(tmp_path: Path) -> None:
    assert told(tmp_path, BEGAN, AGENT_ENDED)[1:] == ["  (the output is missing)", ENDED_LINE]


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "logs/../../secret", ""])
def test_a_journal_cannot_make_us_show_files_from_elsewhere(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("secret")
    state_dir = tmp_path / "state"
    state_dir.mkdir()
    assert told(state_dir, BEGAN._replace(log=name))[1:] == ["  (the output is missing)"]


def test_a_line_of_any_length_comes_in_pieces(tmp_path: Path, log: Path) -> None:
    log.write_bytes(b"x" * 200_000 + b"\nshort\n")
    lines = told(tmp_path, BEGAN)[1:]
    assert sum(line.count("x") for line in lines) == 200_000
    assert max(map(len, lines)) < 70_000
    assert lines[-1] == "  | short"


class Run:
    """A run that goes one step further each time the follower sleeps."""

    def __init__(self, state_dir: Path) -> None:
        self.state_dir = state_dir
        self.journal = Journal.open(str(state_dir / "journal.db"), now=lambda: 1.0)
        self.steps: list[Callable[[], object]] = []

    def record(self, event: Event) -> None:
        self.steps.append(lambda: self.journal.record("run", event))

    def write(self, path: Path, text: str, mode: str = "a") -> None:
        def written() -> None:
            with path.open(mode) as file:
                file.write(text)

        self.steps.append(written)

    def followed(self, task: str = "", after: int = 0) -> Iterator[str]:
        steps = iter(self.steps)
        left = len(self.steps)

        def sleep(seconds: float) -> None:
            nonlocal left
            assert seconds == 0.25
            left -= 1
            next(steps)()

        return follow(
            read_only(self.journal.path),
            str(self.state_dir),
            clock=clock,
            sleep=sleep,
            stop=lambda: not left,
            interval=0.25,
            task=task,
            after=after,
        )


def test_following_tells_events_and_output_as_they_come(tmp_path: Path, log: Path) -> None:
    run = Run(tmp_path)
    run.record(BEGAN)
    run.write(log, "reading\nedi")
    run.write(log, "ting\n")
    run.record(Noticed("slow disk"))
    run.write(log, "done")
    run.record(AGENT_ENDED)
    run.record(TaskLanded("1", "Add it", "c0ffee", 1, 3.0))
    run.record(RunEnded(0, "", 1, 1, 3.0))
    lines = run.followed()
    assert [next(lines) for _ in range(2)] == [BEGAN_LINE, "  | reading"]
    assert list(lines) == [
        "  | editing",
        "12:00 note: slow disk",
        "  | done",
        ENDED_LINE,
        "12:00 task 1: landed as c0ffee: Add it (3s)",
        "12:00 finished: 1 of 1 tasks done, 3s",
    ]


def test_following_can_begin_late_and_keep_to_one_task(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.journal.record("run", STARTED)
    run.journal.record("run", Noticed("old", task="1"))
    run.record(Noticed("other", task="2"))
    run.record(Noticed("new", task="1"))
    assert list(run.followed(task="1", after=2)) == ["12:00 note: task 1: new"]


def test_following_a_log_that_reaches_its_cap_misses_nothing_of_its_head(tmp_path: Path, log: Path) -> None:
    run = Run(tmp_path)
    run.record(BEGAN)
    run.write(log, "one\ntw")

    def put_away() -> None:
        with log.open("a") as file:
            file.write("o\nthree\n")
        log.rename(f"{log}.head")
        log.write_text("four\n")

    run.steps.append(put_away)
    run.steps.append(lambda: log.with_name("new").write_text("nine\n"))
    run.steps.append(lambda: log.with_name("new").replace(log))
    assert list(run.followed())[1:] == [
        "  | one",
        "  | two",
        "  | three",
        "  | four",
        "  … output cut here …",
        "  | nine",
    ]


def test_following_a_log_that_is_emptied_in_place_goes_on_from_its_start(tmp_path: Path, log: Path) -> None:
    run = Run(tmp_path)
    run.record(BEGAN)
    run.write(log, "one\ntwo\n")
    run.write(log, "new\n", mode="w")
    assert list(run.followed())[1:] == ["  | one", "  | two", "  … output cut here …", "  | new"]


def test_following_goes_on_when_the_journal_is_deleted_in_mid_run(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.record(Noticed("one"))
    run.steps.append((tmp_path / "journal.db").unlink)
    run.record(Noticed("two"))
    assert list(run.followed()) == ["12:00 note: one", "12:00 note: two"]
