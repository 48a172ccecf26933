"""A commit failed and left a marked plan with its code: the next run commits that first, as its own task.

On an idea directory, with the executor committing and with the agent committing.
"""

import pytest

from invariants import agent_starts, frozen
from scenarios.conftest import Stage
from scratch import Result

IDEA = "docs/ideas/active/greeter"
PLAN = f"{IDEA}/greeter-plan.md"
OPEN = """\
# Implementation Plan: Greeter

## Steel Thread 1: Hello

- [ ] **Task 1.1: Say hello**
  - Steps:
    - [ ] write it
    - [ ] try it
- [ ] **Task 1.2: Say goodbye**
  - Steps:
    - [ ] write that too
"""
ONE_STEP = OPEN.replace("[ ] write it", "[x] write it")
FIRST_DONE = ONE_STEP.replace("[ ] try it", "[x] try it").replace("[ ] **Task 1.1", "[x] **Task 1.1")
ALL_DONE = OPEN.replace("[ ]", "[x]")

WORK = """\
echo "start $HOLDFAST_TASK_ID" >> "$LEDGER"
grep -q 'Commit what is there' "$HOLDFAST_PROMPT_FILE" ||
echo "$HOLDFAST_TASK_ID" > "work-$HOLDFAST_TASK_ID.txt"
"""
DONE = "echo '<SUCCESS>task implemented: it</SUCCESS>'\n"
COMMIT = f"""\
from=$(grep -n "Task $HOLDFAST_TASK_ID" {PLAN} | cut -d: -f1)
sed -i "$from,$((from + 3 - ${{HOLDFAST_TASK_ID#1.}} + 1))s/\\[ \\]/[x]/" {PLAN}
git add -A; git commit -q -m "Do $HOLDFAST_TASK_ID" || exit 1
"""
AGENTS = {"executor": WORK + DONE, "agent": WORK + COMMIT + DONE}


@pytest.fixture
def idea(stage: Stage) -> Stage:
    stage.repo.write(f"{IDEA}/greeter-idea.md", "# Greeter\n")
    stage.repo.write(f"{IDEA}/greeter-spec.md", "# Spec\n")
    stage.plan(OPEN, PLAN)
    return stage


def run(idea: Stage, commits: str, agent: str = "") -> Result:
    return idea.run("--commits", commits, agent=agent or AGENTS[commits], plan=IDEA)


def assert_one_commit_each(idea: Stage) -> None:
    first, second = idea.commits()
    assert idea.changed(first) == {PLAN, "work-1.1.txt"}
    assert idea.repo.git("show", f"{first}:{PLAN}") + "\n" == FIRST_DONE
    assert idea.changed(second) == {PLAN, "work-1.2.txt"}
    assert idea.repo.git("show", f"{second}:{PLAN}") + "\n" == ALL_DONE
    assert idea.dirt() == []


@pytest.mark.parametrize("commits", AGENTS)
def test_scenario_1_full_task_recovery(idea: Stage, commits: str) -> None:
    idea.repo.write(PLAN, FIRST_DONE)
    idea.repo.write("work-1.1.txt", "1.1\n")
    result = run(idea, commits)
    assert result.code == 0, result.out + result.err
    assert "Detected uncommitted changes from a previous run, attempting to commit..." in result.out
    assert "Recovery commit successful." in result.out
    starts = agent_starts(idea.ledger)
    assert starts == ({"1.2": 1} if commits == "executor" else {"1.1": 1, "1.2": 1})
    assert_one_commit_each(idea)


@pytest.mark.parametrize("commits", AGENTS)
def test_scenario_2_partial_task_skips_recovery_and_is_resumed(idea: Stage, commits: str) -> None:
    idea.repo.write(PLAN, ONE_STEP)
    idea.repo.write("work-1.1.txt", "half\n")
    found = "test $HOLDFAST_TASK_ID != 1.1 || grep -q half work-1.1.txt || exit 1\n"
    result = run(idea, commits, found + AGENTS[commits])
    assert result.code == 0, result.out + result.err
    assert "attempting to commit" not in result.out
    assert agent_starts(idea.ledger) == {"1.1": 1, "1.2": 1}
    assert_one_commit_each(idea)


def test_scenario_3_a_hook_that_refuses_leaves_the_work_in_the_tree(idea: Stage) -> None:
    """With the executor committing no agent is asked: what can refuse is a hook or a gate."""
    hook = idea.repo.write(".git/hooks/pre-commit", "#!/bin/sh\necho no permission; exit 1\n")
    hook.chmod(0o755)
    idea.repo.write(PLAN, FIRST_DONE)
    idea.repo.write("work-1.1.txt", "1.1\n")
    result = run(idea, "executor")
    assert result.code == 1
    assert "the pre-commit hook refused" in result.err
    assert idea.commits() == []
    assert (idea.repo.path / "work-1.1.txt").read_text() == "1.1\n"
    hook.unlink()
    assert run(idea, "executor").code == 0
    assert_one_commit_each(idea)


@pytest.mark.parametrize("commits", AGENTS)
def test_scenario_4_no_recovery_needed_says_nothing(idea: Stage, commits: str) -> None:
    result = run(idea, commits)
    assert result.code == 0, result.out + result.err
    assert "previous run" not in result.out
    assert_one_commit_each(idea)


@pytest.mark.parametrize("commits", AGENTS)
def test_recovering_a_failed_commit_twice_is_recovering_it_once(idea: Stage, commits: str) -> None:
    idea.repo.write(PLAN, FIRST_DONE)
    idea.repo.write("work-1.1.txt", "1.1\n")
    assert run(idea, commits).code == 0
    before = frozen(idea.repo)
    assert run(idea, commits).code == 0
    assert frozen(idea.repo) == before
