"""The executor owns every commit: what happens at the edges of one task and of the plan."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from invariants import AGENT
from scenarios.conftest import PLAN, Stage
from scratch import HOLDFAST


@pytest.fixture
def planned(stage: Stage) -> Stage:
    stage.plan(PLAN)
    return stage


def hook(stage: Stage, name: str, body: str) -> None:
    stage.repo.write(f".git/hooks/{name}", f"#!/bin/sh\n{body}\n").chmod(0o755)


def test_no_changes_to_commit_is_a_commit_of_the_mark_alone_when_the_agent_says_why(planned: Stage) -> None:
    result = planned.run(agent="echo '<SUCCESS>no change needed: it is there</SUCCESS>'")
    assert result.code == 0, result.out + result.err
    assert [planned.changed(commit) for commit in planned.commits()] == [{"plan.md"}] * 3


def test_no_changes_to_commit_and_no_word_why_is_a_failure(planned: Stage) -> None:
    result = planned.run(agent="true")
    assert result.code == 1
    assert planned.commits() == []


def test_allow_dirty_skips_all_commits(planned: Stage) -> None:
    planned.repo.write("mine.txt", "mine\n")
    result = planned.run("--allow-dirty")
    assert result.code == 0, result.out + result.err
    assert planned.commits() == []
    assert {"mine.txt", "plan.md", "work-3.txt"} <= set(planned.dirt())


def test_an_agent_that_accidentally_commits_gets_one_commit_with_work_and_mark(planned: Stage) -> None:
    result = planned.run(agent=AGENT + "git add -A; git commit -qm accident\n")
    assert result.code == 0, result.out + result.err
    assert planned.broken_promises() == []


def test_an_agent_that_suggests_no_message_gets_the_default(planned: Stage) -> None:
    assert planned.run().code == 0
    subjects = planned.repo.git("log", "--reverse", "--format=%s", f"{planned.base}..HEAD").splitlines()
    titles = ("1: One", "2: Two", "3: Three")
    assert subjects == [f"[holdfast] Complete task {title}" for title in titles]


def test_a_task_that_fails_is_not_committed_and_leaves_its_work(planned: Stage) -> None:
    result = planned.run("--max-attempts", "1", agent=AGENT + "exit 1\n")
    assert result.code == 1
    assert planned.commits() == []
    assert planned.dirt() == ["shared/1", "work-1.txt"]


def test_a_plan_that_fails_after_its_attempts_does_not_commit_that(planned: Stage) -> None:
    result = planned.run(agent="test $HOLDFAST_TASK_ID != 2 || exit 1\n" + AGENT)
    assert result.code == 1
    assert "failed after 3 attempts" in result.err
    assert len(planned.commits()) == 1
    assert planned.repo.git("show", "HEAD:plan.md") == "- [x] One\n- [ ] Two\n- [ ] Three"
    assert planned.run().code == 0
    assert planned.broken_promises() == []


def test_a_cancelled_plan_is_not_committed_and_goes_on_later(planned: Stage, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    waits = AGENT + f"touch {ready}; sleep 100\n"
    command = (*HOLDFAST, "run", "plan.md", "--agent-cmd", waits)
    env = {**planned.repo.env, "LEDGER": str(planned.ledger)}
    process = subprocess.Popen(command, cwd=planned.repo.path, env=env, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not ready.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    assert planned.commits() == []
    assert planned.dirt() == ["shared/1", "work-1.txt"]
    assert planned.run().code == 0
    assert planned.broken_promises() == []


def test_the_next_attempt_sees_what_a_failed_one_left(planned: Stage) -> None:
    sees = "test $HOLDFAST_ATTEMPT = 1 || test -e left || exit 9\ntouch left\n"
    result = planned.run(agent=sees + AGENT + "test $HOLDFAST_ATTEMPT = 2\n")
    assert result.code == 0, result.out + result.err
    assert "left" in planned.changed(planned.commits()[0])


def test_a_git_add_that_fails_leaves_the_task_open(planned: Stage) -> None:
    planned.repo.write(".gitattributes", "*.bin filter=broken\n")
    planned.base = planned.repo.commit("attributes")
    for key, value in (("clean", "false"), ("required", "true")):
        planned.repo.git("config", f"filter.broken.{key}", value)
    result = planned.run("--max-attempts", "1", agent=AGENT + "echo x > x.bin\n")
    assert result.code == 1
    assert "git cannot add the changes" in result.err
    assert planned.commits() == []
    assert "x.bin" in planned.dirt()


def test_a_git_commit_that_a_hook_refuses_leaves_the_task_open(planned: Stage) -> None:
    hook(planned, "pre-commit", "echo not today; exit 1")
    result = planned.run("--max-attempts", "1")
    assert result.code == 1
    assert "the pre-commit hook refused" in result.err
    assert planned.commits() == []
    assert planned.dirt() == ["shared/1", "work-1.txt"]


def test_a_commit_message_may_hold_anything(planned: Stage) -> None:
    message = """It's "quoted", $(not run), `nor this`; 100% ünïcode \\n -- #1"""
    planned.repo.write("message", f"SUGGESTED_COMMIT_MESSAGE: {message}\n")
    planned.base = planned.repo.commit("message")
    result = planned.run("--only", "1", agent=AGENT + "cat message\n")
    assert result.code == 0, result.out + result.err
    assert planned.repo.git("log", "-1", "--format=%s") == message


def test_the_last_tasks_mark_is_committed_like_any_other(planned: Stage) -> None:
    assert planned.run().code == 0
    assert planned.repo.git("show", "HEAD:plan.md") == "- [x] One\n- [x] Two\n- [x] Three"
    assert planned.dirt() == []
    assert len(planned.commits()) == 3


def test_a_done_tasks_mark_is_committed_though_the_next_task_fails(planned: Stage) -> None:
    result = planned.run("--max-attempts", "1", agent="test $HOLDFAST_TASK_ID = 1 || exit 1\n" + AGENT)
    assert result.code == 1
    assert planned.repo.git("show", "HEAD:plan.md").startswith("- [x] One")
    assert planned.dirt() == []
