"""What an interrupted run, the user or another tool left behind, and what the same command makes of it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from invariants import AGENT, Expectation, agent_starts, broken_invariants, frozen
from scratch import Cli, Repo, Result

PLAN = "- [ ] One\n- [ ] Two\n"


class Night:
    def __init__(self, repo: Repo, cli: Cli, tmp_path: Path) -> None:
        self.repo, self.cli, self.ledger = repo, cli, tmp_path / "ledger"
        repo.write("plan.md", PLAN)
        self.base = repo.commit("plan")

    def run(self, *options: str, agent: str = AGENT, **env: str) -> Result:
        command = ("run", "plan.md", "--trunk", "--agent-cmd", agent, *options)
        return self.cli(*command, env={"LEDGER": str(self.ledger), **env})

    def killed(self, point: str, *options: str, agent: str = AGENT) -> None:
        result = self.run(*options, agent=agent, HOLDFAST_FAULT=point)
        assert result.code == -9, result.out + result.err

    def problems(self, base: str = "") -> list[str]:
        return broken_invariants(
            self.repo, Expectation("plan.md", ("1", "2"), base or self.base, self.ledger)
        )


@pytest.fixture
def night(repo: Repo, cli: Cli, tmp_path: Path) -> Night:
    return Night(repo, cli, tmp_path)


def rescued(repo: Repo) -> list[str]:
    return repo.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue").split()


def test_partial_work_is_kept_and_the_agent_goes_on_with_it(night: Night) -> None:
    night.killed("agent.after")
    result = night.run(agent="test -f work-1.txt || test $HOLDFAST_TASK_ID = 2 || exit 1\n" + AGENT)
    assert result.code == 0, result.out
    assert "goes on in place" in result.out
    assert night.problems() == []
    (ref,) = rescued(night.repo)
    assert night.repo.git("show", f"{ref}:work/work-1.txt") == "work of 1"


def test_with_rollback_partial_work_goes_to_rescue_and_the_task_begins_again(night: Night) -> None:
    night.killed("agent.after", agent=AGENT + "echo half > half-done.txt\n")
    result = night.run("--on-interrupt", "rollback", agent="test ! -e half-done.txt || exit 1\n" + AGENT)
    assert result.code == 0, result.out
    assert night.problems() == []
    (ref,) = rescued(night.repo)
    assert night.repo.git("show", f"{ref}:work/half-done.txt") == "half"


def test_with_rollback_a_repository_the_agent_made_in_the_tree_is_set_aside_whole(night: Night) -> None:
    night.killed("agent.after", agent=AGENT + "git init -q nested; echo kept > nested/file\n")
    result = night.run("--on-interrupt", "rollback", agent="test ! -e nested || exit 1\n" + AGENT)
    assert result.code == 0, result.out
    assert night.problems() == []
    (ref,) = rescued(night.repo)
    assert night.repo.git("show", f"{ref}:work/nested/file") == "kept"
    (aside,) = (night.repo.path / ".git/holdfast").rglob("set-aside/*/nested")
    assert (aside / "file").read_text() == "kept\n" and (aside / ".git/HEAD").exists()


def test_after_a_reboot_torn_files_go_to_rescue_and_the_task_begins_again(night: Night) -> None:
    night.killed("agent.after", agent=AGENT + "echo half > half-done.txt\n")
    record = next((night.repo.path / ".git/holdfast").rglob("in-flight.json"))
    text = record.read_text()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    record.write_text(text.replace(boot, "another-boot"))
    result = night.run()
    assert result.code == 0, result.out
    assert "may be torn" in result.out
    assert night.problems() == []
    assert len(rescued(night.repo)) == 1


def test_a_sealed_candidate_is_published_without_agent_or_gates(night: Night) -> None:
    night.killed("candidate.after")
    result = night.run("--verify", "test $(git rev-list --count HEAD) != 2 || exit 1")
    assert result.code == 0, result.out
    assert agent_starts(night.ledger) == {"1": 1, "2": 1}
    assert night.problems() == []


def test_a_commit_the_user_makes_after_a_crash_is_kept(night: Night) -> None:
    night.killed("agent.after")
    night.repo.write("mine.txt", "mine\n")
    night.repo.git("add", "mine.txt")
    night.repo.git("commit", "-q", "-m", "mine", "mine.txt")
    mine = night.repo.git("rev-parse", "HEAD")
    result = night.run()
    assert result.code == 0, result.out
    assert night.problems(base=mine) == []


def test_a_commit_made_while_a_candidate_waits_is_kept_and_the_work_checked_again(night: Night) -> None:
    night.killed("candidate.after")
    night.repo.write("mine.txt", "mine\n")
    night.repo.git("add", "mine.txt")
    night.repo.git("commit", "-q", "-m", "mine", "mine.txt")
    mine = night.repo.git("rev-parse", "HEAD")
    result = night.run()
    assert result.code == 0, result.out + result.err
    assert agent_starts(night.ledger) == {"1": 1, "2": 1}
    assert night.problems(base=mine) == []


def test_a_commit_of_the_user_during_an_attempt_stays_on_the_branch(night: Night) -> None:
    commit = "env -u GIT_REFLOG_ACTION git commit -q --allow-empty -m mine"
    mine = f"test -e ../once || {{ touch ../once; {commit}; }}\n"
    result = night.run(agent=mine + AGENT)
    assert result.code == 0, result.out + result.err
    subjects = night.repo.git("log", "--format=%s", "--reverse", f"{night.base}..HEAD").splitlines()
    assert subjects[0] == "mine"
    assert "unasked" not in result.out
    assert night.problems(base=night.repo.git("rev-parse", "HEAD~2")) == []


def test_a_commit_of_the_user_on_top_of_one_of_the_agents_stays_and_so_does_that(night: Night) -> None:
    """Only a user can rewrite what users have committed."""
    agents = "echo early > early.txt; git add early.txt; git commit -qm unasked"
    users = "env -u GIT_REFLOG_ACTION git commit -q --allow-empty -m mine"
    both = f"test -e ../once || {{ touch ../once; {agents}; {users}; }}\n"
    result = night.run(agent=both + AGENT)
    assert result.code == 0, result.out + result.err
    subjects = night.repo.git("log", "--format=%s", "--reverse", f"{night.base}..HEAD").splitlines()
    assert subjects[:2] == ["unasked", "mine"] and len(subjects) == 4
    assert night.repo.git("show", "HEAD:early.txt") == "early"
    unasked = night.repo.git("rev-parse", "HEAD~3")[:12]
    assert f"task 1: below it is what the agent committed unasked ({unasked}); it stays" in result.out
    assert night.problems(base=night.repo.git("rev-parse", "HEAD~2")) == []


def test_tasks_added_to_the_plan_after_a_crash_are_done_too(night: Night) -> None:
    night.killed("candidate.after")
    night.repo.write("plan.md", PLAN + "- [ ] Three\n")
    result = night.run()
    assert result.code == 0, result.out + result.err
    assert night.repo.git("show", "HEAD:plan.md") == "- [x] One\n- [x] Two\n- [x] Three"
    assert night.repo.git("status", "--porcelain") == ""


def record_of(night: Night) -> Path:
    return next((night.repo.path / ".git/holdfast").rglob("in-flight.json"))


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "no bytes": lambda data: b"",
    "truncated": lambda data: data[: len(data) // 2],
    "a flipped bit": lambda data: data.replace(b'"attempt"', b'"atteopt"'),
    "no text": lambda data: b"\xff\xfe",
    "no record": lambda data: b"[]",
    "an older schema": lambda data: data.replace(b'"version": 1', b'"version": 0'),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_record_is_set_aside_and_git_tells_the_rest(night: Night, damage: str) -> None:
    night.killed("agent.after")
    record = record_of(night)
    record.write_bytes(DAMAGES[damage](record.read_bytes()))
    result = night.run()
    assert result.code == 0, result.out + result.err
    assert "cannot be read" in result.out
    assert night.problems() == []


@pytest.mark.parametrize("point", ["agent.after", "candidate.after", "commit.after"])
def test_deleting_our_state_between_runs_changes_no_commit(night: Night, point: str) -> None:
    night.killed(point)
    shutil.rmtree(night.repo.path / ".git/holdfast")
    result = night.run()
    assert result.code == 0, result.out + result.err
    assert night.problems() == []


def test_without_its_record_partial_work_goes_to_rescue_and_the_task_begins_again(night: Night) -> None:
    night.killed("agent.after", agent=AGENT + "echo half > half-done.txt\n")
    record_of(night).unlink()
    result = night.run(agent="test ! -e half-done.txt || exit 1\n" + AGENT)
    assert result.code == 0, result.out + result.err
    assert "no record of the task in flight, but its base" in result.out
    assert night.problems() == []
    (ref,) = rescued(night.repo)
    assert night.repo.git("show", f"{ref}:work/half-done.txt") == "half"


def test_without_its_record_the_agents_own_commits_still_go_to_rescue(night: Night) -> None:
    night.killed("agent.after", agent=AGENT + "git add -A; git commit -qm mine\n")
    record_of(night).unlink()
    result = night.run()
    assert result.code == 0, result.out + result.err
    assert night.problems() == []


@pytest.mark.parametrize("point", ["flight.durable", "base.before"])
def test_changes_are_the_users_where_no_pin_says_that_a_task_was_in_flight(night: Night, point: str) -> None:
    night.killed(point)
    record_of(night).unlink()
    night.repo.write("mine.txt", "mine\n")
    result = night.run()
    assert result.code == 3
    assert "mine.txt" in result.err
    assert (night.repo.path / "mine.txt").read_text() == "mine\n"


def test_a_pin_that_the_user_has_committed_past_says_nothing_about_their_changes(night: Night) -> None:
    night.killed("agent.after")
    record_of(night).unlink()
    night.repo.commit("Everything, by hand")
    night.repo.write("mine.txt", "mine\n")
    result = night.run()
    assert result.code == 3
    assert (night.repo.path / "mine.txt").read_text() == "mine\n"


def test_a_record_of_a_newer_holdfast_stops_the_run_and_nothing_is_written(night: Night) -> None:
    night.killed("agent.after")
    record = record_of(night)
    record.write_bytes(record.read_bytes().replace(b'"version": 1', b'"version": 2'))
    (night.repo.path / ".git/index.lock").touch()
    before = frozen(night.repo), record.read_bytes()
    result = night.run()
    assert result.code == 3
    assert "a newer Holdfast has a task in flight here" in result.err
    assert (frozen(night.repo), record.read_bytes()) == before
    assert (night.repo.path / ".git/index.lock").exists()
    assert night.cli("skip", "1", "--plan", "plan.md").code == 3
    assert night.cli("status", "plan.md").code == 0


def test_another_plan_is_refused_while_a_task_is_in_flight(night: Night) -> None:
    night.killed("agent.after")
    night.repo.write("other.md", "- [ ] Other\n")
    result = night.cli("run", "other.md", "--agent-cmd", AGENT)
    assert result.code == 3
    assert "task 1 of plan.md is in flight" in result.err


def test_scenario_1_full_task_recovery(night: Night) -> None:
    """A task marked done with its code in the tree, by a tool whose commit failed, becomes its own commit."""
    night.repo.write("plan.md", "- [x] One\n- [ ] Two\n")
    night.repo.write("work-1.txt", "work of 1\n")
    night.repo.write("shared/1", "1\n")
    result = night.run()
    assert result.code == 0, result.out + result.err
    assert "Detected uncommitted changes from a previous run" in result.out
    assert agent_starts(night.ledger) == {"2": 1}
    assert night.problems() == []


def test_scenario_2_partial_task_is_resumed_not_committed(night: Night) -> None:
    night.repo.write("plan.md", "- [ ] One\n  - [ ] a\n  - [ ] b\n- [ ] Two\n")
    base = night.repo.commit("steps")
    night.repo.write("plan.md", "- [ ] One\n  - [x] a\n  - [ ] b\n- [ ] Two\n")
    night.repo.write("shared/1", "1\n")
    result = night.run()
    assert result.code == 0, result.out + result.err
    assert agent_starts(night.ledger) == {"1": 1, "2": 1}
    assert night.problems(base=base) == []


def test_several_tasks_marked_at_once_are_refused_because_their_work_is_mixed(night: Night) -> None:
    night.repo.write("plan.md", "- [x] One\n- [x] Two\n")
    night.repo.write("work-1.txt", "work\n")
    result = night.run()
    assert result.code == 3
    assert "cannot be told apart" in result.err


LOCKS = [
    *("refs/heads/main.lock", "HEAD.lock", "packed-refs.lock"),
    *("index.lock", "index.stash.4711.lock", "objects/maintenance.lock"),
]


@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize("point", ["agent.after", "candidate.after", "commit.after", "helpers.before"])
def test_locks_of_a_git_call_that_was_killed_are_moved_away(night: Night, point: str, lock: str) -> None:
    night.killed(point)
    (night.repo.path / ".git" / lock).touch()
    result = night.run()
    assert result.code == 0, result.out + result.err
    assert "a lock file was left behind" in result.out
    assert night.problems() == []


def test_a_git_call_that_died_over_a_ref_of_ours_is_known_by_the_lock_on_it(night: Night) -> None:
    """As `rescue drop` leaves it, with nothing in flight."""
    for lock in (".git/packed-refs.lock", ".git/refs/holdfast/rescue/x.lock"):
        night.repo.write(lock, "")
    result = night.run()
    assert result.code == 0, result.out + result.err
    assert result.out.count("a lock file was left behind") == 2


def test_a_lock_of_the_users_own_git_is_not_touched(night: Night) -> None:
    lock = night.repo.path / ".git/index.lock"
    lock.touch()
    result = night.run()
    assert result.code != 0
    assert lock.exists()
    assert "index.lock" in result.err


@pytest.mark.parametrize("point", ["agent.after", "flight.durable"])
def test_an_edit_of_the_plan_after_a_crash_is_taken_in_with_the_task_in_flight(
    night: Night, point: str
) -> None:
    night.killed(point)
    night.repo.write("plan.md", "# Plan\n\n- [x] One\n- [ ] Two, but better\n- [ ] Three\n")
    result = night.run()
    assert result.code == 0, result.out + result.err
    done = "# Plan\n\n- [x] One\n- [x] Two, but better\n- [x] Three"
    assert night.repo.git("show", "HEAD:plan.md") == done
    subjects = night.repo.git("log", "--reverse", "--format=%s", f"{night.base}..HEAD").splitlines()
    assert subjects[0] == "[holdfast] Update plan: plan"
    assert len(subjects) == 4
    assert night.repo.git("status", "--porcelain") == ""


def test_removing_the_task_in_flight_keeps_its_work_under_rescue(night: Night) -> None:
    night.killed("agent.after")
    night.repo.write("plan.md", "- [ ] Two\n")
    result = night.run()
    assert result.code == 0, result.out + result.err
    assert not (night.repo.path / "work-1.txt").exists() or "Two" in night.repo.git("show", "HEAD:plan.md")
    assert any(
        "work-1.txt" in night.repo.git("ls-tree", "-r", "--name-only", ref) for ref in rescued(night.repo)
    )
    assert night.repo.git("status", "--porcelain") == ""


def test_a_hook_mended_after_a_failure_stays_mended(night: Night) -> None:
    hook = night.repo.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    assert night.run("--max-attempts", "1").code == 1
    hook.write_text("#!/bin/sh\nexit 0\n")
    result = night.run()
    assert result.code == 0, result.out + result.err
    assert hook.read_text() == "#!/bin/sh\nexit 0\n"


def test_an_agent_that_moves_the_branch_by_plumbing_is_seen_through(night: Night) -> None:
    deed = "git add -A; git update-ref HEAD $(git commit-tree -p HEAD -m x $(git write-tree))\n"
    result = night.run(agent=AGENT + deed)
    assert result.code == 0, result.out + result.err
    assert agent_starts(night.ledger) == {"1": 1, "2": 1}
    assert night.problems() == []


@pytest.mark.parametrize("deed", ["echo nonsense > plan.md; git commit -qam x", "rm plan.md; mkdir plan.md"])
def test_a_plan_the_agent_spoiled_before_the_runner_died_is_no_obstacle(night: Night, deed: str) -> None:
    night.killed("agent.after", agent=AGENT + deed)
    result = night.run()
    assert result.code == 0, result.out + result.err
    assert night.problems() == []
