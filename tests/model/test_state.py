from holdfast.model.events import (
    STORED,
    AgentEnded,
    AgentSession,
    AttemptFailed,
    AttemptStarted,
    BuildDiscarded,
    CriterionReported,
    Entry,
    Event,
    GateFinished,
    Interrupted,
    Noticed,
    Recovered,
    Rescued,
    RunEnded,
    RunStarted,
    TaskChanged,
    TaskFailed,
    TaskLanded,
    Waiting,
)
from holdfast.model.plan import Status, Task
from holdfast.model.spent import Spent
from holdfast.model.state import SUMMARY_KINDS, Conversation, Dated, State, TaskHistory, fold

STARTED = RunStarted("plan.md", "markdown", "holdfast/plan", "trunk", "claude", 3, 0, 4242)
ENDED = RunEnded(1, "task 1 failed", 0, 3, 60.0)


def after(*events: Event) -> State:
    return fold(Entry(seq, 100.0 + seq, "run", event) for seq, event in enumerate(events, 1))


def began(task: str, attempt: int) -> AttemptStarted:
    return AttemptStarted(task, "Title", attempt, 3, "base", f"logs/{task}-{attempt}.log")


def failed(task: str, attempt: int) -> AttemptFailed:
    return AttemptFailed(task, attempt, "tests failed", f"feedback {attempt}")


def test_a_run_without_history_knows_nothing() -> None:
    assert after() == State({})
    assert after().task("1") == TaskHistory()


def test_failed_attempts_count_per_task_and_the_last_feedback_is_kept() -> None:
    state = after(began("1", 1), failed("1", 1), began("1", 2), failed("1", 2), began("2", 1), failed("2", 1))
    assert (state.task("1").attempts, state.task("1").feedback) == (2, "feedback 2")
    assert (state.task("2").attempts, state.task("2").feedback) == (1, "feedback 1")


def test_a_task_does_not_inherit_the_history_of_another_that_had_its_id() -> None:
    state = after(began("1", 1), failed("1", 1))
    assert state.of(Task("1", "Title", Status.PENDING, 1)).attempts == 1
    assert state.of(Task("1", "Another", Status.PENDING, 1)) == TaskHistory()
    renumbered = after(began("1", 1), failed("1", 1), began("1", 1)._replace(title="Another"))
    assert renumbered.task("1").attempts == 0


def test_an_attempt_cut_off_by_a_kill_does_not_count() -> None:
    state = after(STARTED, began("1", 1), failed("1", 1), began("1", 2), STARTED)
    assert state.task("1").attempts == 1
    assert state.task("1").feedback == "feedback 1"


def test_an_interrupted_attempt_does_not_count_even_when_it_was_noted_as_failed() -> None:
    state = after(began("1", 1), failed("1", 1), began("1", 2), failed("1", 2), Interrupted("1", 2, "SIGINT"))
    assert state.task("1").attempts == 1
    assert state.task("1").feedback == "feedback 1"


def test_landing_clears_attempts_and_feedback() -> None:
    state = after(began("1", 1), failed("1", 1), TaskLanded("1", "Title", "c0ffee", 2, 9.0))
    assert state.task("1") == TaskHistory(title="Title")


def test_exhaustion_gives_the_rerun_fresh_attempts_that_know_why() -> None:
    state = after(began("1", 1), failed("1", 1), TaskFailed("1", "Title", "no attempts left"))
    assert state.task("1").attempts == 0
    assert state.task("1").failed == "no attempts left"
    assert state.task("1").feedback == "feedback 1"
    assert after(failed("1", 1), TaskFailed("1", "Title", "why"), began("1", 1)).task("1").failed == ""


def test_retry_clears_the_count_and_reset_clears_everything() -> None:
    lost = (failed("1", 1), failed("1", 2))
    retried = after(*lost, TaskFailed("1", "Title", "why"), TaskChanged("1", "retry")).task("1")
    assert (retried.attempts, retried.failed, retried.feedback) == (0, "", "feedback 2")
    for action in ("reset", "skip"):
        assert after(*lost, TaskChanged("1", action)).task("1") == TaskHistory()


def test_a_discarded_build_leaves_nothing_of_its_tasks_but_what_they_cost() -> None:
    paid = AgentEnded("1", 1, "finished", "", 0, 5.0, 0.5)
    failed = TaskFailed("1", "Title", "why")
    state = after(paid, CriterionReported("1", 1, "it works", "met"), failed, BuildDiscarded("b", "c"))
    assert state.task("1").failed == ""
    assert state.task("1").criteria == ()
    assert state.task("1").spent.cost_usd == state.spent.cost_usd == 0.5


def test_agent_time_adds_up_over_attempts_and_landings() -> None:
    ended = AgentEnded("1", 1, "finished", "", 0, 30.0)
    state = after(ended, failed("1", 1), ended, TaskLanded("1", "Title", "c0ffee", 2, 70.0), ended)
    assert state.task("1").agent_seconds == 90.0


def test_recoveries_and_rescues_are_listed_with_their_time() -> None:
    recovered, rescued = Recovered("a dirty tree", "kept it", "1", "ref"), Rescued("ref", "dirty tree", "1")
    state = after(rescued, recovered, Noticed("hi"))
    assert state.rescues == (Dated(101.0, rescued),)
    assert state.recoveries == (Dated(102.0, recovered),)


def test_a_start_without_an_end_looks_like_a_run_under_way() -> None:
    state = after(STARTED, ENDED, STARTED, began("1", 1))
    assert state.running
    assert state.started == Dated(103.0, STARTED)
    assert state.ended == Dated(102.0, ENDED)
    assert state.task("1").under_way == Dated(104.0, began("1", 1))


def test_nothing_is_under_way_once_a_run_has_ended() -> None:
    state = after(STARTED, began("1", 1), ENDED)
    assert not state.running
    assert state.ended == Dated(103.0, ENDED)
    assert state.task("1").under_way is None


def test_an_attempt_is_no_longer_under_way_when_it_failed_landed_or_was_interrupted() -> None:
    gate = GateFinished("1", 1, "make test", True, 1.0)
    assert after(began("1", 1), gate).task("1").under_way is not None
    ends: tuple[Event, ...] = (
        failed("1", 1),
        TaskLanded("1", "Title", "c0ffee", 1, 1.0),
        TaskFailed("1", "Title", "why"),
        Interrupted("1", 1, "SIGTERM"),
    )
    for end in ends:
        assert after(began("1", 1), end).task("1").under_way is None


def test_a_summary_asks_for_kinds_that_exist() -> None:
    assert set(SUMMARY_KINDS) <= STORED.keys()


def test_a_wait_and_a_conversation_last_until_the_attempt_goes_on_or_is_over() -> None:
    waits = Waiting("1", 1, 99.0, 9.0, "limit")
    session = AgentSession("1", 1, "abc")
    ended = AgentEnded("1", 1, "limited", "limit", 1, 2.0, 0.5, 10, 1)
    history = after(session, ended, session, ended, waits).task("1")
    assert history.waiting == waits
    assert history.conversation == Conversation("abc", Spent(1.0, 20, 2))
    assert after(session, waits, began("1", 1)).task("1").waiting is None
    over = after(session, ended, failed("1", 1)).task("1")
    assert (over.conversation, over.spent) == (Conversation(), Spent(0.5, 10, 1))
