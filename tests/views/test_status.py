import json
from pathlib import Path

from holdfast.journal import Journal, read_only
from holdfast.model.events import (
    AttemptFailed,
    AttemptStarted,
    Entry,
    Event,
    GateFinished,
    Recovered,
    RunEnded,
    RunStarted,
    TaskFailed,
    TaskLanded,
)
from holdfast.model.plan import Plan, Status, Task
from holdfast.model.state import fold
from holdfast.views.status import Facts, Rescue, overview, status_json, status_lines

STARTED = RunStarted("login", "markdown", "holdfast/login", "trunk", "claude", 4, 1, 42)
BEGAN = AttemptStarted("1.2", "Read the options", 2, 3, "base", "log")
ENDED = RunEnded(1, "task 1.2 failed", 1, 4, 125.0)
FACTS = Facts(branch="holdfast/login", go_on="holdfast run plan.md", next_task="1.2")


def clock(at: float) -> str:
    return f"12:{at:02.0f}"


def plan(*statuses: Status) -> Plan:
    tasks = (Task(f"1.{n}", f"Title {n}", status, n) for n, status in enumerate(statuses, 1))
    return Plan("login", "markdown", "plan.md", tuple(tasks))


SMALL = plan(Status.COMPLETED, Status.PENDING, Status.PENDING, Status.SKIPPED)


def lines(*events: Event, facts: Facts = FACTS, of: Plan = SMALL, colour: bool = False) -> list[str]:
    state = fold(Entry(seq, float(seq), "run", event) for seq, event in enumerate(events, 1))
    return status_lines(of, state, facts, clock=clock, colour=colour)


def test_a_plan_that_was_never_run_says_what_to_do() -> None:
    assert lines() == [
        "login: 2 of 4 tasks done (50 %)",
        "branch holdfast/login",
        "",
        "  ✓ 1.1  Title 1",
        "  ○ 1.2  Title 2",
        "  ○ 1.3  Title 3",
        "  – 1.4  Title 4",
        "",
        "next: task 1.2; go on with: holdfast run plan.md",
    ]


def test_a_run_under_way_says_who_and_what() -> None:
    facts = FACTS._replace(holder="pid 42 on this machine", in_flight="1.2")
    told = lines(STARTED, BEGAN, facts=facts)
    assert told[2] == "running: pid 42 on this machine, task 1.2, attempt 2 of 3 since 12:02"
    assert "  ▶ 1.2  Title 2" in told
    assert not any("go on with" in line for line in told)


def test_a_killed_run_says_what_was_cut_off() -> None:
    told = lines(STARTED, BEGAN, facts=FACTS._replace(in_flight="1.2"))
    assert told[2] == "not running; task 1.2 was cut off and will be taken up again"


def test_a_failed_run_says_why_and_how_to_go_on() -> None:
    told = lines(STARTED, TaskFailed("1.2", "Title 2", "make test refused"), ENDED)
    assert told[2] == "last run ended 12:03 after 2m 05s, exit 1: task 1.2 failed"
    assert "  ✗ 1.2  Title 2" in told
    start = told.index("failed: 1")
    assert told[start : start + 4] == [
        "failed: 1",
        "  ✗ 1.2: make test refused",
        "  see why: holdfast log 1.2",
        "  try again: holdfast run plan.md",
    ]


def test_where_failures_are_passed_over_running_again_is_not_enough() -> None:
    facts = FACTS._replace(asks_to_retry=True, next_task="")
    told = lines(STARTED, TaskFailed("1.2", "Title 2", "make test refused"), ENDED, facts=facts)
    assert "  try again: holdfast retry 1.2, then holdfast run plan.md" in told
    assert told[-1] == "no task is ready: what is left failed, or waits for what did"


def test_a_task_that_git_says_is_done_did_not_fail() -> None:
    assert not any("failed" in line for line in lines(TaskFailed("1.1", "Title 1", "lost the journal's end")))


def test_recoveries_and_rescues_are_told_with_the_command_that_restores() -> None:
    rescue = Rescue("refs/holdfast/rescue/7", "partial work of task 1.2", "holdfast rescue restore 7")
    told = lines(Recovered("a dirty tree", "kept it", "1.2"), facts=FACTS._replace(rescues=(rescue,)))
    start = told.index("recovered: 1")
    assert told[start:-2] == [
        "recovered: 1",
        "  12:01 task 1.2: found a dirty tree; kept it",
        "",
        "in rescue: 1",
        "  partial work of task 1.2",
        "    holdfast rescue restore 7",
    ]


def test_a_finished_plan_says_so_and_problems_are_passed_on() -> None:
    told = lines(of=plan(Status.COMPLETED), facts=FACTS._replace(next_task="", problems=("no journal",)))
    assert told[-3:] == ["no journal", "", "all done"]


def test_a_plan_where_nothing_is_ready_does_not_name_a_next_task() -> None:
    assert lines(facts=FACTS._replace(next_task=""))[-1].startswith("no task is ready; ")


def test_ten_thousand_tasks_fit_the_screen() -> None:
    big = plan(*[Status.COMPLETED] * 4000, *[Status.PENDING] * 6000)
    events = [TaskFailed(f"1.{n}", f"Title {n}", "tests failed " * 40) for n in range(5000, 6000)]
    events_too = [Recovered("a dirty tree " * 20, "kept it", f"1.{n}") for n in range(500)]
    rescues = tuple(Rescue(f"ref{n}", "work " * 50, f"holdfast rescue restore {n}") for n in range(300))
    facts = FACTS._replace(next_task="1.4001", rescues=rescues, problems=("odd",) * 50)
    told = lines(STARTED, *events, *events_too, ENDED, of=big, facts=facts)
    assert len(told) <= 42
    assert all(len(line) <= 100 for line in told)
    assert "  ○ 1.4001  Title 4001" in told
    assert "  … 3998 done above" in told
    assert "  … 5995 more below" in told
    assert "failed: 1000" in told and "  … 997 more" in told


def test_colour_comes_only_when_asked_for_and_never_from_the_plan() -> None:
    odd = Plan("lo\x1b[31mgin", "markdown", "plan.md", (Task("1", "\x1b[2Jboo", Status.PENDING, 1),))
    assert not any("\x1b" in line for line in lines(of=odd))
    coloured = lines(of=odd, colour=True)
    assert coloured[0].startswith("\x1b[1mlogin\x1b[0m")
    assert not any("\x1b[2J" in line or "\x1b[31m" in line for line in coloured)


def test_the_same_is_there_for_programs() -> None:
    rescue = Rescue("refs/holdfast/rescue/7", "partial work", "holdfast rescue restore 7")
    facts = FACTS._replace(rescues=(rescue,), in_flight="1.2")
    events: tuple[Event, ...] = (
        Recovered("a dirty tree", "kept it", "1.2"),
        AttemptFailed("1.3", 1, "r", "f"),
        TaskFailed("1.2", "Title 2", "why"),
        ENDED,
    )
    state = fold(Entry(seq, float(seq), "run", event) for seq, event in enumerate(events, 1))
    told = json.loads(json.dumps(status_json(SMALL, state, facts)))
    assert (told["done"], told["skipped"], told["total"]) == (1, 1, 4)
    assert (told["next"], told["in_flight"], told["held_by"]) == ("1.2", "1.2", None)
    assert told["failed"] == [{"task": "1.2", "reason": "why"}]
    assert told["recovered"][0]["found"] == "a dirty tree"
    assert told["rescues"] == [rescue._asdict()]
    assert told["last_run"]["exit_code"] == 1
    assert told["tasks"][2] == {
        "id": "1.3",
        "title": "Title 3",
        "status": "pending",
        "failed_attempts": 1,
        "spent": {"cost_usd": None, "tokens_in": 0, "tokens_out": 0},
        "criteria": [],
    }


def test_an_overview_knows_the_task_at_hand_and_what_went_wrong_elsewhere(tmp_path: Path) -> None:
    path = str(tmp_path / "journal.db")
    with Journal.open(path, now=lambda: 5.0) as journal:
        journal.record("other", Recovered("not ours", "nothing"))
        for event in (
            STARTED,
            AttemptStarted("1.1", "Title 1", 1, 3, "base", "log"),
            GateFinished("1.1", 1, "make test", True, 1.0),
            TaskLanded("1.1", "Title 1", "c0ffee", 1, 1.0),
            TaskFailed("1.3", "Title 3", "why"),
            BEGAN,
        ):
            journal.record("run", event)
    state = overview(read_only(path), "run", ("1.2",))
    assert state.running
    assert state.recoveries == ()
    assert state.task("1.3").failed == "why"
    assert state.task("1.2").under_way is not None
    assert "1.1" not in state.tasks
