"""`--commits agent`: the agent commits, and is held to exactly one commit with exactly its mark."""

from pathlib import Path

import pytest

from invariants import agent_starts, frozen
from scratch import Cli, Repo, Result

PLAN = "- [ ] One\n- [ ] Two\n"
WORK = (
    'echo "start $HOLDFAST_TASK_ID" >> "$LEDGER"; echo "$HOLDFAST_TASK_ID" > "work-$HOLDFAST_TASK_ID.txt"; '
)
MARK = 'sed -i "${HOLDFAST_TASK_ID}s/\\[ \\]/[x]/" plan.md; '
COMMIT = 'git add -A; git commit -q -m "Do $HOLDFAST_TASK_ID" || exit 1; '
DONE = "echo '<SUCCESS>task implemented: it</SUCCESS>'"
GOOD = WORK + MARK + COMMIT + DONE


class Night:
    def __init__(self, repo: Repo, cli: Cli, ledger: Path) -> None:
        self.repo, self.cli, self.ledger = repo, cli, ledger
        repo.write("plan.md", PLAN)
        self.base = repo.commit("plan")

    def run(self, agent: str, *options: str, **env: str) -> Result:
        command = ("run", "plan.md", "--commits", "agent", "--agent-cmd", agent, *options)
        return self.cli(*command, env={"LEDGER": str(self.ledger), **env})

    def assert_done(self) -> None:
        subjects = self.repo.git("log", "--reverse", "--format=%s", f"{self.base}..HEAD").splitlines()
        assert subjects == ["Do 1", "Do 2"]
        assert self.repo.git("show", "HEAD~1:plan.md") == "- [x] One\n- [ ] Two"
        assert self.repo.git("show", "HEAD:plan.md") == "- [x] One\n- [x] Two"
        assert self.repo.git("status", "--porcelain") == ""
        assert self.repo.git("for-each-ref", "refs/holdfast/base", "refs/holdfast/candidate") == ""


@pytest.fixture
def night(repo: Repo, cli: Cli, tmp_path: Path) -> Night:
    return Night(repo, cli, tmp_path / "ledger")


def test_the_agents_commit_is_the_tasks_commit(night: Night) -> None:
    result = night.run(GOOD)
    assert result.code == 0, result.out + result.err
    night.assert_done()
    before = frozen(night.repo)
    assert night.run("exit 9").code == 0
    assert frozen(night.repo) == before


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        (WORK + MARK + DONE, "no commit was made"),
        (WORK + COMMIT + DONE, "does not mark the task as complete"),
        (WORK + MARK + COMMIT + "git commit -q --allow-empty -m again; " + DONE, "exactly one commit"),
        (WORK + "sed -i 's/\\[ \\]/[x]/' plan.md; " + COMMIT + DONE, "marks of other tasks: 2"),
        (WORK + MARK + COMMIT + "echo x > left; " + DONE, "changes were left uncommitted"),
        (WORK + MARK + COMMIT + "exit 3", "exited with status 3"),
        (GOOD.replace(DONE, "true"), "without a <SUCCESS> tag"),
    ],
)
def test_anything_else_fails_and_is_taken_off_the_branch(night: Night, agent: str, reason: str) -> None:
    result = night.run(agent, "--max-attempts", "1")
    assert result.code == 1, result.out + result.err
    assert reason in result.err
    assert night.repo.git("rev-parse", "HEAD") == night.base
    assert (night.repo.path / "work-1.txt").exists()


def test_a_missing_tag_is_not_tried_again(night: Night) -> None:
    result = night.run(GOOD.replace(DONE, "true"))
    assert result.code == 1
    assert agent_starts(night.ledger) == {"1": 1}


def test_a_failing_gate_takes_the_commit_off_the_branch_and_is_feedback(night: Night) -> None:
    agent = 'cat > "$LEDGER.$HOLDFAST_TASK_ID.$HOLDFAST_ATTEMPT"; echo $HOLDFAST_ATTEMPT > n; ' + GOOD
    result = night.run(agent, "--verify", "test $(cat n) -ge 2 || { echo too small; exit 1; }")
    assert result.code == 0, result.out + result.err
    assert "too small" in Path(f"{night.ledger}.1.2").read_text()
    night.assert_done()


def test_a_commit_made_before_the_runner_died_is_kept(night: Night) -> None:
    assert night.run(GOOD, HOLDFAST_FAULT="agent.after").code == -9
    result = night.run(GOOD)
    assert result.code == 0, result.out + result.err
    assert agent_starts(night.ledger) == {"1": 1, "2": 1}
    night.assert_done()


def test_scenario_1_full_task_recovery_by_the_agent(night: Night) -> None:
    """Marked done with its code, by a run whose commit failed: the agent is asked to commit it."""
    night.repo.write("plan.md", "- [x] One\n- [ ] Two\n")
    night.repo.write("work-1.txt", "1\n")
    recover = f'if grep -q "Commit what is there" "$HOLDFAST_PROMPT_FILE"; then {COMMIT} {DONE}; exit; fi; '
    result = night.run(recover + GOOD)
    assert result.code == 0, result.out + result.err
    assert "Detected uncommitted changes from a previous run, attempting to commit..." in result.out
    assert "Recovery commit successful." in result.out
    assert agent_starts(night.ledger) == {"2": 1}
    night.assert_done()


def test_scenario_2_partial_task_skips_recovery_and_resumes_with_its_steps(night: Night) -> None:
    night.repo.write("plan.md", "- [ ] One\n  - [ ] a\n  - [ ] b\n")
    night.base = night.repo.commit("steps")
    night.repo.write("plan.md", "- [ ] One\n  - [x] a\n  - [ ] b\n")
    night.repo.write("half.txt", "half\n")
    agent = 'grep -q "\\[x\\] a" plan.md || exit 1; sed -i "s/\\[ \\]/[x]/" plan.md; ' + COMMIT + DONE
    result = night.run(agent)
    assert result.code == 0, result.out + result.err
    assert "attempting to commit" not in result.out
    assert night.repo.git("show", "--name-only", "--format=", "HEAD").split() == ["half.txt", "plan.md"]


def test_scenario_3_recovery_failure_leaves_the_repository_unchanged(night: Night) -> None:
    night.repo.write("plan.md", "- [x] One\n- [ ] Two\n")
    night.repo.write("work-1.txt", "1\n")
    night.repo.git("add", "work-1.txt")
    before = frozen(night.repo)
    result = night.run("git add -A; exit 1")
    assert result.code == 1
    assert "Recovery attempt 1 failed, retrying..." in result.out
    assert (
        "Error: Could not commit recovered changes after 2 attempts. Please commit manually and rerun."
        in result.err
    )
    after = frozen(night.repo)
    rescue = night.repo.git("for-each-ref", "refs/holdfast/rescue")
    assert str(after.pop("refs")).replace(rescue, "").strip() == str(before.pop("refs"))
    assert after == before


def test_a_failed_commit_is_asked_for_twice_and_no_more_and_nothing_else_is_begun(night: Night) -> None:
    night.repo.write("plan.md", "- [x] One\n- [ ] Two\n")
    night.repo.write("work-1.txt", "1\n")
    assert night.run('echo "start $HOLDFAST_TASK_ID" >> "$LEDGER"; exit 1').code == 1
    assert agent_starts(night.ledger) == {"1": 2}


def test_scenario_4_no_recovery_needed_says_nothing(night: Night) -> None:
    result = night.run(GOOD)
    assert "previous run" not in result.out
