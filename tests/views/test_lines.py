import io
import json
import os

from holdfast.model.events import (
    AgentSpoke,
    AttemptFailed,
    AttemptStarted,
    Entry,
    Event,
    Recovered,
    RunEnded,
    TaskFailed,
    TaskLanded,
)
from holdfast.views.base import View, can_redraw
from holdfast.views.jsonl import JsonView
from holdfast.views.lines import LinesView

EVENTS: tuple[Event, ...] = (
    Recovered("a lock", "removed it"),
    AttemptStarted("1", "Add it", 1, 3, "base", "log"),
    AgentSpoke("1", "\x1b[31mworking\x1b[0m"),
    AttemptFailed("1", 1, "tests failed", "fix them"),
    TaskLanded("1", "Add it", "c0ffee", 2, 9.0),
    TaskFailed("2", "Break it", "no attempts left"),
    RunEnded(1, "task 2 failed", 1, 2, 10.0),
)


def shown(view: View, events: tuple[Event, ...] = EVENTS) -> None:
    for seq, event in enumerate(events, 1):
        view.show(Entry(seq, 100.0 + seq, "run", event))
    view.close()


def clock(at: float) -> str:
    return f"12:00:{at - 100:02.0f}"


def test_each_event_is_one_plain_line_with_its_time() -> None:
    stream = io.StringIO()
    shown(LinesView(stream, clock=clock))
    assert stream.getvalue().splitlines() == [
        "12:00:01 recovered: found a lock; removed it",
        "12:00:02 task 1: Add it (attempt 1 of 3)",
        "  | working",
        "12:00:04 task 1: attempt 1 failed: tests failed",
        "12:00:05 task 1: landed as c0ffee: Add it (9s)",
        "12:00:06 task 2: FAILED: no attempts left",
        "12:00:07 stopped: task 2 failed; 1 of 2 tasks done, 10s (exit 1)",
    ]


def test_quiet_leaves_recoveries_failures_and_the_end() -> None:
    stream = io.StringIO()
    shown(LinesView(stream, clock=clock, quiet=True))
    assert [line[9:17] for line in stream.getvalue().splitlines()] == [
        "recovere",
        "task 1: ",
        "task 2: ",
        "stopped:",
    ]


def test_each_line_is_out_before_the_next_event() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(io.BufferedWriter(Raw(raw)), encoding="utf-8")
    LinesView(stream, clock=clock).show(Entry(1, 101.0, "run", EVENTS[0]))
    assert raw.getvalue() == b"12:00:01 recovered: found a lock; removed it\n"


class Raw(io.RawIOBase):
    """Hands on what was really written, and does not close what it was given."""

    def __init__(self, target: io.BytesIO) -> None:
        self._target = target

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        assert isinstance(data, memoryview)
        return self._target.write(data)


def test_a_terminal_of_another_encoding_gets_question_marks() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    LinesView(stream, clock=clock).show(Entry(0, 101.0, "run", AgentSpoke("1", "✓ \udcff")))
    assert raw.getvalue() == b"  | ? ?\n"


def test_a_reader_that_went_away_does_not_stop_the_run() -> None:
    for make in (lambda s: LinesView(s, clock=clock), JsonView):
        reading, writing = os.pipe()
        os.close(reading)
        stream = os.fdopen(writing, "w")
        shown(make(stream))
        os.dup2(os.open(os.devnull, os.O_WRONLY), writing)
        stream.close()


def test_json_has_one_object_per_event_and_what_the_agent_says() -> None:
    stream = io.StringIO()
    shown(JsonView(stream), (EVENTS[5], AgentSpoke("2", "na\udcffme ✓")))
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert first == {
        "seq": 1,
        "at": 101.0,
        "run": "run",
        "event": "task_failed",
        "task": "2",
        "title": "Break it",
        "reason": "no attempts left",
    }
    assert second["event"] == "agent_spoke"
    assert second["text"] == "na\udcffme ✓"
    assert stream.getvalue().isascii()


def test_a_pipe_is_not_redrawn() -> None:
    assert not can_redraw(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), "xterm")
