import io
import re
import time

import pytest
from rich.console import Console

from holdfast.model.events import (
    AgentEnded,
    AgentSpoke,
    AttemptFailed,
    AttemptStarted,
    Entry,
    Event,
    GateFinished,
    Interrupted,
    Noticed,
    Queued,
    Recovered,
    RunEnded,
    RunStarted,
    TaskChanged,
    TaskFailed,
    TaskLanded,
    Waiting,
)
from holdfast.model.plan import Plan, Status, Task
from holdfast.views.live import LiveView

STARTED = RunStarted("login", "markdown", "holdfast/login", "trunk", "claude", 4, 1, 42)
BEGAN = AttemptStarted("1.2", "Read the options", 2, 3, "base", "log")


class Stage:
    """A live view on a terminal that exists as text, with a clock of its own."""

    def __init__(self, tasks: int = 4, done: int = 1, width: int = 60, height: int = 24) -> None:
        self.written = io.StringIO()
        self.console = Console(
            file=self.written, force_terminal=True, width=width, height=height, highlight=False
        )
        self.now = 1000.0
        self.view = LiveView(plan(tasks, done), now=lambda: self.now, console=self.console, ticking=False)

    def show(self, *events: Event, after: float = 0.0) -> None:
        self.now += after
        for event in events:
            self.view.show(Entry(1, self.now, "run", event))

    def screen(self) -> list[str]:
        return screen(self.written.getvalue())


def plan(tasks: int, done: int) -> Plan:
    titles = ("Create the parser", "Read the options", "Explain the errors", "Write the manual")
    statuses = (Status.COMPLETED if n < done else Status.PENDING for n in range(tasks))
    all_tasks = (Task(f"1.{n}", titles[(n - 1) % 4], status, n) for n, status in enumerate(statuses, 1))
    return Plan("login", "markdown", "plan.md", tuple(all_tasks))


def screen(written: str) -> list[str]:
    """What a terminal would show: the few movements the view makes, obeyed; any other fails."""
    lines, row = [""], 0
    for token in re.findall(r"\x1b\[[?0-9;]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+", written):
        if token == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif token == "\x1b[2K":
            lines[row] = ""
        elif re.fullmatch(r"\x1b\[\d*A", token):
            row -= int(token[2:-1] or 1)
        elif not (token == "\r" or re.fullmatch(r"\x1b\[([0-9;]*m|\?25[hl])", token)):
            assert "\x1b" not in token, repr(token)
            lines[row] += token
    return "\n".join(line.rstrip() for line in lines).rstrip("\n").split("\n")


def test_the_plan_is_shown_with_ticks_and_the_task_at_hand_with_what_its_agent_says() -> None:
    stage = Stage()
    stage.show(STARTED, BEGAN)
    stage.show(*(AgentSpoke("1.2", f"step {n}") for n in range(8)), after=63)
    assert stage.screen() == [
        "» login: 1 of 4 tasks done; branch holdfast/login, agent",
        "claude, trunk mode",
        "",
        "  ✓ 1.1  Create the parser",
        "  ▶ 1.2  Read the options",
        "    attempt 2 of 3 · 1m 03s · working",
        "    │ step 2",
        "    │ step 3",
        "    │ step 4",
        "    │ step 5",
        "    │ step 6",
        "    │ step 7",
        "  ○ 1.3  Explain the errors",
        "  ○ 1.4  Write the manual",
        "",
        "  ━━━━━━━━───────────────────────────  1 of 4 done · 1m 03s",
    ]


def test_what_happened_stays_above_and_the_end_stands_below() -> None:
    stage = Stage()
    stage.show(STARTED, Recovered("a dirty tree", "kept it", "1.2"), BEGAN, AgentSpoke("1.2", "hello"))
    stage.show(AttemptFailed("1.2", 2, "tests failed", "..."), BEGAN, Noticed("slow disk"))
    stage.show(TaskLanded("1.2", "Read the options", "0123456789abcdef", 3, 70.0), after=70)
    stage.show(AttemptStarted("1.3", "Explain the errors", 1, 3, "b", "l"))
    stage.show(TaskFailed("1.3", "Explain the errors", "no attempts left"))
    stage.show(RunEnded(1, "task 1.3 failed", 2, 4, 70.0))
    stage.view.close()
    assert stage.screen()[2:] == [
        "↻ recovered: task 1.2: found a dirty tree; kept it",
        "! task 1.2: attempt 2 failed: tests failed",
        "· note: slow disk",
        "✓ task 1.2: landed as 0123456789: Read the options (1m 10s)",
        "✗ task 1.3: FAILED: no attempts left",
        "",
        "  ✓ 1.1  Create the parser",
        "  ✓ 1.2  Read the options",
        "  ✗ 1.3  Explain the errors",
        "  ○ 1.4  Write the manual",
        "",
        "  ━━━━━━━━━━━━━━━━━──────────────────  2 of 4 done · 1m 10s",
        "» stopped: task 1.3 failed; 2 of 4 tasks done, 1m 10s (exit",
        "1)",
    ]


def test_the_agents_end_and_the_gates_are_seen_in_what_is_being_done() -> None:
    stage = Stage()
    stage.show(BEGAN, AgentEnded("1.2", 2, "finished", "", 0, 3.0))
    assert "    attempt 2 of 3 · 0s · checking" in stage.screen()
    stage.show(GateFinished("1.2", 2, "make test", True, 3.0))
    assert "    attempt 2 of 3 · 0s · make test passed" in stage.screen()
    stage.show(Interrupted("1.2", 2, "SIGINT"))
    assert not any(line.lstrip().startswith("attempt") for line in stage.screen())


def test_a_task_changed_by_hand_changes_its_mark() -> None:
    stage = Stage()
    stage.show(TaskChanged("1.3", "skip"), TaskChanged("1.1", "reset"))
    assert "  – 1.3  Explain the errors" in stage.screen()
    assert "  ○ 1.1  Create the parser" in stage.screen()


def test_a_plan_longer_than_the_screen_is_seen_through_a_window() -> None:
    stage = Stage(tasks=40, done=14)
    stage.show(AttemptStarted("1.15", "Explain the errors", 1, 3, "b", "l"))
    assert stage.screen()[1:-2] == [
        "  … 13 done above",
        "  ✓ 1.14  Read the options",
        "  ▶ 1.15  Explain the errors",
        "    attempt 1 of 3 · 0s · working",
        "  ○ 1.16  Write the manual",
        "  ○ 1.17  Create the parser",
        "  ○ 1.18  Read the options",
        "  … 22 more below",
    ]


@pytest.mark.parametrize(("width", "height"), [(40, 24), (40, 8), (80, 24), (120, 50), (20, 10)])
def test_the_picture_fits_the_screen_it_is_given(width: int, height: int) -> None:
    stage = Stage(tasks=300, done=100, width=width, height=height)
    stage.show(AttemptStarted("1.101", "A title " * 30, 1, 3, "b", "l"))
    stage.show(*(AgentSpoke("1.101", "words and 日本語 " * 30) for _ in range(9)))
    picture = stage.screen()
    assert len(picture) <= max(height, 9)
    assert all(len(line) <= width for line in picture)
    assert any(line.startswith("  ▶ 1.101") for line in picture)


def test_escape_sequences_from_the_agent_or_the_plan_never_reach_the_terminal() -> None:
    stage = Stage()
    stage.show(BEGAN, AgentSpoke("1.2", "\x1b]0;title\x07\x1b[2J[red]not markup[/red]\x1b[31m!"))
    stage.show(Noticed("\x1b[5Anews [bold]\x07"))
    assert "\x1b[2J" not in stage.written.getvalue()
    assert "\x07" not in stage.written.getvalue()
    assert "    │ [red]not markup[/red]!" in stage.screen()
    assert "· note: news [bold]" in stage.screen()


def test_no_colour_is_used_where_it_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    def colours() -> list[str]:
        stage = Stage()
        stage.show(STARTED, BEGAN, AgentSpoke("1.2", "hello"))
        return re.findall(r"\x1b\[(?:\d+;)*3\dm", stage.written.getvalue())

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert colours()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colours()


def test_the_terminal_is_given_back_when_an_exception_ends_the_run() -> None:
    stage = Stage()
    with pytest.raises(RuntimeError), stage.view:
        stage.show(BEGAN, AgentSpoke("1.2", "hello"))
        raise RuntimeError
    assert stage.screen()[-1].endswith("  1 of 4 done · 0s")
    assert "hello" not in "".join(stage.screen())
    before = stage.written.getvalue()
    assert before.rindex("\x1b[?25h") > before.rindex("\x1b[?25l")
    stage.show(BEGAN)
    stage.view.close()
    assert stage.written.getvalue() == before


def test_the_cursor_is_never_left_hidden_for_a_kill_to_strand() -> None:
    stage = Stage()
    stage.show(BEGAN)
    written = stage.written.getvalue()
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")


def test_nothing_is_drawn_before_something_happens() -> None:
    stage = Stage()
    stage.view.close()
    assert stage.written.getvalue() == ""


def test_a_terminal_that_went_away_does_not_stop_the_run() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(5, "gone")

    console = Console(file=Gone(), force_terminal=True, width=60, height=20)
    view = LiveView(plan(4, 1), now=lambda: 1000.0, console=console, ticking=False)
    view.show(Entry(1, 1000.0, "run", BEGAN))
    view.show(Entry(1, 1000.0, "run", STARTED))
    view.close()


def test_time_goes_on_between_events_when_ticking() -> None:
    drawn_at: list[float] = []

    def now() -> float:
        drawn_at.append(1000.0 + len(drawn_at))
        return drawn_at[-1]

    console = Console(file=io.StringIO(), force_terminal=True, width=60, height=20)
    with LiveView(plan(4, 1), now=now, console=console) as view:
        view.show(Entry(1, 1000.0, "run", BEGAN))
        before = len(drawn_at)
        while len(drawn_at) < before + 2:
            time.sleep(0.01)


def test_a_wait_counts_down_and_stays_as_a_line() -> None:
    stage = Stage()
    stage.show(STARTED, BEGAN, Waiting("1.2", 2, stage.now + 600, 600.0, "hit your limit"))
    stage.show(AgentSpoke("1.2", ""), after=60)
    assert "… task 1.2: waiting 10m 00s for the service: hit your limit" in stage.screen()
    assert "    attempt 2 of 3 · 1m 00s · waiting, 9m 00s left" in stage.screen()


def test_many_at_once_have_a_row_each_and_those_that_wait_to_land_come_last() -> None:
    stage = Stage(tasks=6, done=1, width=70, height=30)
    stage.show(STARTED, *(AttemptStarted(f"1.{n}", "Task", 1, 3, "base", "log") for n in (2, 3, 4)))
    stage.show(AgentSpoke("1.3", "reads the code"), Queued("1.2"), after=5)
    rows = [line for line in stage.screen() if "attempt 1 of 3" in line]
    assert rows == [
        "  ▶ 1.3  attempt 1 of 3 · 5s · working │ reads the code",
        "  ▶ 1.4  attempt 1 of 3 · 5s · working",
        "  ▶ 1.2  attempt 1 of 3 · 5s · waits to land",
    ]
    stage.show(TaskLanded("1.2", "Task", "c" * 40, 1, 5.0))
    assert "  ✓ 1.2  Read the options" in stage.screen()
    assert sum("attempt 1 of 3" in line for line in stage.screen()) == 2


def test_sixteen_at_once_fit_a_small_terminal() -> None:
    stage = Stage(tasks=40, done=0, width=60, height=24)
    stage.show(STARTED, *(AttemptStarted(f"1.{n}", "Task", 1, 3, "base", "log") for n in range(1, 17)))
    picture = stage.screen()
    assert len(picture) <= 24
    shown = sum("attempt 1 of 3" in line for line in picture)
    (more,) = [line for line in picture if "more at work" in line]
    assert shown + int(more.split()[2]) == 16
    assert "0 of 40 done" in picture[-1]
