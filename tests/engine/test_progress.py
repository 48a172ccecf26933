"""A task whose attempts lead nowhere is given up before they are used up."""

from pathlib import Path

import pytest

from holdfast.engine.progress import stuck
from holdfast.model.events import AttemptFailed
from scratch import Cli, Repo

PLAN = "# Work\n\n- [ ] One\n- [ ] Two\n"
SAME = 'echo call >> "$CALLS"; echo same > one.txt'
CHECK = 'echo "failed after 0.$(date +%N) s in $(mktemp -u)"; exit 1'


class Night:
    def __init__(self, repo: Repo, cli: Cli, calls: Path) -> None:
        self.repo, self.cli, self._calls = repo, cli, calls
        repo.write("plan.md", PLAN)
        self.base = repo.commit("plan")

    def run(self, agent: str, *options: str, check: str = CHECK, stuck: str = "3") -> tuple[int, str]:
        env = {"CALLS": str(self._calls), "HOLDFAST_STOP_WHEN_STUCK": stuck}
        words = ("run", "plan.md", "--agent-cmd", agent, "--max-attempts", "4", "--verify", check, *options)
        result = self.cli(*words, env=env)
        return result.code, result.out + result.err

    @property
    def calls(self) -> int:
        return len(self._calls.read_text().splitlines())


@pytest.fixture
def night(repo: Repo, cli: Cli, tmp_path: Path) -> Night:
    return Night(repo, cli, tmp_path / "calls")


@pytest.mark.parametrize("options", [(), ("--allow-dirty",)])
def test_three_attempts_that_fail_alike_and_leave_the_same_files_are_enough(
    night: Night, options: tuple[str, ...]
) -> None:
    code, told = night.run(SAME, *options)
    assert (code, night.calls) == (1, 3)
    assert "task 1.1 was stopped before attempt 4 of 4: no progress, the last 3 attempts failed alike" in told
    assert "holdfast skip 1.1" in told and "HOLDFAST_STOP_WHEN_STUCK=0" in told
    assert night.repo.git("rev-parse", "HEAD") == night.base
    assert (night.repo.path / "one.txt").read_text() == "same\n"


def test_an_attempt_that_changes_something_is_progress(night: Night) -> None:
    code, told = night.run('echo call >> "$CALLS"; echo $HOLDFAST_ATTEMPT > one.txt', stuck="2")
    assert (code, night.calls) == (1, 4)
    assert "task 1.1 failed after 4 attempts" in told


def test_another_failure_on_the_same_files_is_progress(night: Night) -> None:
    code, told = night.run(SAME, check='wc -l < "$CALLS" | tr 1234 abcd; exit 1', stuck="2")
    assert (code, night.calls) == (1, 4)
    assert "task 1.1 failed after 4 attempts" in told


def test_where_the_attempts_are_used_up_by_then_it_is_said_too(night: Night) -> None:
    code, told = night.run(SAME, "--max-attempts", "3")
    assert (code, night.calls) == (1, 3)
    assert "task 1.1 failed after 3 attempts: " in told
    assert "The last 3 attempts failed alike and left the same files. Change what stands in its way" in told


def test_it_can_be_tuned_and_turned_off(night: Night) -> None:
    code, told = night.run(SAME, stuck="2")
    assert (code, night.calls) == (1, 2) and "the last 2 attempts" in told
    code, told = night.run(SAME, stuck="0")
    assert (code, night.calls) == (1, 2 + 4) and "failed after 4 attempts" in told


def test_attempts_before_a_restart_count_and_a_lost_journal_changes_nothing_else(night: Night) -> None:
    kill = "kill -9 $(ps -o ppid= -p $(ps -o ppid= -p $$))"
    code, _ = night.run(f'{SAME}; if [ $(wc -l < "$CALLS") = 3 ]; then {kill}; fi')
    assert (code, night.calls) == (-9, 3)
    code, told = night.run(SAME)
    assert (code, night.calls) == (1, 4) and "before attempt 4 of 4: no progress" in told
    (night.repo.path / ".git/holdfast/journal.db").unlink()
    code, told = night.run(SAME)
    assert (code, night.calls) == (1, 7) and "before attempt 4 of 4: no progress" in told


def test_it_is_a_failed_task_like_any_other_and_the_rest_can_go_on(night: Night) -> None:
    agent = 'echo call >> "$CALLS"; echo same > "$HOLDFAST_TASK_ID.txt"'
    code, told = night.run(agent, "--on-failure", "continue", check="! test -e 1.1.txt", stuck="2")
    assert (code, night.calls) == (1, 3), told
    assert night.repo.git("log", "-1", "--format=%s") == "[holdfast] Complete task 1.2: Two"
    assert "holdfast: task 1.1 failed" in told


def _failed(*likenesses: str) -> list[AttemptFailed]:
    return [AttemptFailed("1", n, "r", "f", "t", likeness) for n, likeness in enumerate(likenesses, 1)]


@pytest.mark.parametrize(
    ("likenesses", "most", "expected"),
    [
        (("a", "a", "a"), 3, True),
        (("b", "a", "a", "a"), 3, True),
        (("a", "a", "b"), 3, False),
        (("a", "b", "a"), 3, False),
        (("a", "a"), 3, False),
        (("", "", ""), 3, False),
        (("a", "a", "a"), 0, False),
        ((), 0, False),
    ],
)
def test_only_the_last_attempts_in_a_row_are_compared(
    likenesses: tuple[str, ...], most: int, expected: bool
) -> None:
    assert stuck(_failed(*likenesses), most) is expected
