"""A build is started, started again, or cut off: what is done stays done, what is open is next."""

import pytest

from invariants import AGENT, agent_starts
from scenarios.conftest import PLAN, TASKS, Stage


def test_scenario_1_a_plan_and_no_build_yet_starts_with_the_first_open_task(stage: Stage) -> None:
    stage.plan("- [x] Zero\n" + PLAN)
    result = stage.run()
    assert result.code == 0, result.out + result.err
    assert agent_starts(stage.ledger) == {"2": 1, "3": 1, "4": 1}
    assert stage.broken_promises(("2", "3", "4")) == []


def test_scenario_2_a_plan_and_a_build_goes_on_with_the_first_task_that_is_not_done(stage: Stage) -> None:
    stage.plan(PLAN)
    assert stage.run("--until", "1").code == 0
    result = stage.run()
    assert result.code == 0, result.out + result.err
    assert "1 of 3 tasks done" in result.out
    assert agent_starts(stage.ledger) == {"1": 1, "2": 1, "3": 1}
    assert stage.broken_promises() == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "no such file"),
        ("", "no tasks"),
        ("# A title and nothing else\n", "no tasks"),
        ("- [ ] One\n- [?] Two\n", "plan.md:2"),
        ("<<<<<<< ours\n- [ ] One\n=======\n- [ ] Two\n>>>>>>> theirs\n", "plan.md:1"),
    ],
)
def test_scenario_3_without_a_plan_that_can_be_read_no_agent_is_started(
    stage: Stage, text: str | None, words: str
) -> None:
    if text is not None:
        stage.plan(text)
    result = stage.run()
    assert result.code == 2, result.out + result.err
    assert words in result.err
    assert agent_starts(stage.ledger) == {}


@pytest.mark.parametrize("mode", ["resume", "rollback"])
def test_scenario_4_a_crash_during_coding_keeps_what_is_done_and_opens_what_was_not(
    stage: Stage, mode: str
) -> None:
    stage.plan(PLAN)
    half = "test $HOLDFAST_TASK_ID = 1 || echo half > half.txt\n"
    stage.killed("agent.after@2", "--on-interrupt", mode, agent=AGENT + half)
    assert len(stage.commits()) == 1
    result = stage.run("--on-interrupt", mode, agent="rm -f half.txt\n" + AGENT)
    assert result.code == 0, result.out + result.err
    assert agent_starts(stage.ledger) == {"1": 1, "2": 2, "3": 1}
    assert stage.broken_promises() == []
    (ref,) = stage.repo.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue").split()
    assert stage.repo.git("show", f"{ref}:work/half.txt") == "half"


def test_scenario_4_a_task_that_failed_is_tried_again(stage: Stage) -> None:
    stage.plan(PLAN)
    result = stage.run("--max-attempts", "1", agent="test $HOLDFAST_TASK_ID = 1 || exit 1\n" + AGENT)
    assert result.code == 1
    result = stage.run()
    assert result.code == 0, result.out + result.err
    assert stage.broken_promises(TASKS) == []
