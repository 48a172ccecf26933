import pytest

from holdfast.model.events import (
    STORED,
    AgentEnded,
    AgentSession,
    AgentSpoke,
    AttemptFailed,
    AttemptStarted,
    BuildDiscarded,
    BuildMerged,
    CriterionReported,
    Event,
    GateFinished,
    Interrupted,
    Noticed,
    Queued,
    Recovered,
    Rescued,
    ReviewEnded,
    ReviewStarted,
    RunEnded,
    RunStarted,
    TaskChanged,
    TaskFailed,
    TaskLanded,
    Waiting,
)
from holdfast.views.words import sentence

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REF = "refs/holdfast/rescue/7"
WORDS: list[tuple[Event, str]] = [
    (
        RunStarted("login", "markdown", "holdfast/login", "trunk", "claude", 12, 3, 42),
        "login: 3 of 12 tasks done; branch holdfast/login, agent claude, trunk mode",
    ),
    (
        Recovered("a dirty tree", "went on in place", "1.2", REF),
        "recovered: task 1.2: found a dirty tree; went on in place",
    ),
    (Recovered("a lock", "removed it"), "recovered: found a lock; removed it"),
    (Rescued(REF, "partial work"), f"rescued: partial work ({REF})"),
    (Noticed("the disk is slow", "1.2"), "note: task 1.2: the disk is slow"),
    (AttemptStarted("1.2", "Add it", 2, 3, "b", "l"), "task 1.2: Add it (attempt 2 of 3)"),
    (AgentSpoke("1.2", "  reading\x1b[0m"), "  |   reading"),
    (AgentEnded("1.2", 1, "finished", "", 0, 125.0), "task 1.2: agent finished after 2m 05s"),
    (
        AgentEnded("1.2", 1, "finished", "", 0, 2.0, 0.0123, 12345, 678),
        "task 1.2: agent finished after 2s (12,345 tokens in, 678 out, $0.0123)",
    ),
    (Queued("1.2"), "task 1.2: finished; waits for its turn to land"),
    (Waiting("1.2", 1, 9.0, 90.0, "limit"), "task 1.2: waiting 1m 30s for the service: limit"),
    (AgentSession("1.2", 1, "ab-cd"), "task 1.2: agent session ab-cd"),
    (
        AgentEnded("1.2", 1, "timed_out", "took too long", 9, 60.0),
        "task 1.2: agent timed out with exit code 9: took too long after 1m 00s",
    ),
    (CriterionReported("1.2", 1, "It works", "met"), "task 1.2: criterion met: It works"),
    (
        CriterionReported("1.2", 1, "It is fast", "not met", "3 s"),
        "task 1.2: criterion not met: 3 s: It is fast",
    ),
    (GateFinished("1.2", 1, "make test", True, 3.2), "task 1.2: gate make test passed (3s)"),
    (
        GateFinished("1.2", 1, "make test", False, 3.2, "..F\n1 failed\n"),
        "task 1.2: gate make test refused: 1 failed (3s)",
    ),
    (ReviewStarted("1.2", 1, "codex", "l"), "task 1.2: review by codex"),
    (
        ReviewEnded("1.2", 1, "codex", "findings", "a.py: no\nb.py: no", 3.2, 0.5, 10, 2),
        "task 1.2: reviewer codex objects: a.py: no b.py: no after 3s (10 tokens in, 2 out, $0.5000)",
    ),
    (ReviewEnded("1.2", 1, "codex", "approved", "", 3.2), "task 1.2: reviewer codex approves after 3s"),
    (
        ReviewEnded("1.2", 1, "codex", "none", "killed", 3.2),
        "task 1.2: reviewer codex gives no verdict: killed after 3s",
    ),
    (AttemptFailed("1.2", 2, "tests failed", "long"), "task 1.2: attempt 2 failed: tests failed"),
    (TaskLanded("1.2", "Add it", COMMIT, 1, 61.0), "task 1.2: landed as 0123456789: Add it (1m 01s)"),
    (TaskFailed("1.2", "Add it", "no attempts left"), "task 1.2: FAILED: no attempts left"),
    (TaskChanged("1.2", "skip", COMMIT), "task 1.2: skip by hand (0123456789)"),
    (
        BuildMerged("holdfast/plan", "main", COMMIT, "", "fast-forward"),
        "merged: holdfast/plan into main, fast-forward (0123456789)",
    ),
    (BuildDiscarded("holdfast/plan", COMMIT, REF), f"discarded: holdfast/plan ({REF})"),
    (Interrupted("1.2", 1, "SIGINT"), "task 1.2: interrupted by SIGINT; attempt 1 does not count"),
    (RunEnded(0, "", 12, 12, 3700.0), "finished: 12 of 12 tasks done, 1h 01m"),
    (
        RunEnded(1, "task 1.2 failed", 3, 12, 5.0),
        "stopped: task 1.2 failed; 3 of 12 tasks done, 5s (exit 1)",
    ),
]


@pytest.mark.parametrize(("event", "words"), WORDS)
def test_every_event_has_its_words(event: Event, words: str) -> None:
    assert sentence(event) == words


def test_no_event_is_without_words() -> None:
    assert {type(event) for event, _ in WORDS} == {*STORED.values(), AgentSpoke}


def test_a_sentence_is_one_clean_line_whatever_the_event_holds() -> None:
    assert sentence(TaskFailed("1", "t", "bad\n\x1b[2Jnews")) == "task 1: FAILED: bad news"
