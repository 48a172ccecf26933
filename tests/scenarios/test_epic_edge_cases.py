"""A half-built task is never taken for a finished one: it is rolled back and built again; nothing is lost."""

import pytest

from invariants import AGENT, frozen
from scenarios.conftest import PLAN, Stage

ROLLBACK = ("--on-interrupt", "rollback")


@pytest.fixture
def epic(stage: Stage) -> Stage:
    stage.plan(PLAN)
    return stage


def rescued(stage: Stage) -> list[str]:
    return stage.repo.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue").split()


def test_scenario_1_interrupted_in_the_middle_of_a_ticket(epic: Stage) -> None:
    epic.killed("agent.after", *ROLLBACK, agent=AGENT + "echo half > half.txt\n")
    result = epic.run(*ROLLBACK, agent="test ! -e half.txt || exit 1\n" + AGENT)
    assert result.code == 0, result.out + result.err
    assert "kept under rescue, begins the task again" in result.out
    assert epic.broken_promises() == []
    (ref,) = rescued(epic)
    assert epic.repo.git("show", f"{ref}:work/half.txt") == "half"


def test_scenario_2_clean_restart_after_completion_changes_nothing(epic: Stage) -> None:
    assert epic.run(*ROLLBACK).code == 0
    before = frozen(epic.repo)
    result = epic.run(*ROLLBACK)
    assert result.code == 0
    assert "All tasks are already complete" in result.out
    assert frozen(epic.repo) == before


def test_scenario_3_a_failed_ticket_is_retried_by_the_same_command(epic: Stage) -> None:
    fails = "test $HOLDFAST_TASK_ID != 2 || exit 1\n" + AGENT
    assert epic.run(*ROLLBACK, "--max-attempts", "1", agent=fails).code == 1
    assert epic.run(*ROLLBACK, "--max-attempts", "1", agent=fails).code == 1
    result = epic.run(*ROLLBACK, "--max-attempts", "1")
    assert result.code == 0, result.out + result.err
    assert epic.broken_promises() == []


def test_edge_case_2_a_branch_deleted_with_nothing_in_flight_is_refused(epic: Stage) -> None:
    assert epic.run("--only", "1").code == 0
    epic.repo.git("update-ref", "-d", "refs/heads/main")
    result = epic.run()
    assert result.code == 3
    assert "has no commit yet" in result.err


def test_edge_case_3_several_tickets_in_progress_cannot_be_told_apart(epic: Stage) -> None:
    epic.repo.write("plan.md", "- [x] One\n- [x] Two\n- [ ] Three\n")
    epic.repo.write("code.txt", "of either\n")
    before = frozen(epic.repo)
    result = epic.run(*ROLLBACK)
    assert result.code == 3
    assert "1, 2" in result.err
    assert frozen(epic.repo) == before


def test_edge_case_4_the_user_is_on_another_branch(epic: Stage) -> None:
    epic.killed("agent.after", *ROLLBACK)
    epic.repo.git("switch", "-q", "-c", "wrong")
    result = epic.run(*ROLLBACK)
    assert result.code == 3
    assert "git switch main" in result.err
    epic.repo.git("switch", "-q", "main")
    assert epic.run(*ROLLBACK).code == 0
    assert epic.broken_promises() == []


def test_edge_case_5_partial_commits_of_a_ticket_are_rolled_back_and_kept(epic: Stage) -> None:
    partial = AGENT + "echo half > half.txt; git add -A; git commit -qm partial\n"
    epic.killed("agent.after", *ROLLBACK, agent=partial)
    result = epic.run(*ROLLBACK, agent="test ! -e half.txt || exit 1\n" + AGENT)
    assert result.code == 0, result.out + result.err
    assert epic.broken_promises() == []
    assert any(epic.repo.git("log", "-1", "--format=%s", ref) == "partial" for ref in rescued(epic))


def test_resuming_several_times_is_resuming_once(epic: Stage) -> None:
    epic.killed("agent.after", *ROLLBACK)
    epic.killed("restore.after", *ROLLBACK)
    epic.killed("agent.after", *ROLLBACK)
    assert epic.run(*ROLLBACK).code == 0
    assert epic.broken_promises() == []
