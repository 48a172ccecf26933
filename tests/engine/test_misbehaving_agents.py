"""Agents that do what they should not: each has a defined outcome and a clear line."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from invariants import Expectation, broken_invariants, processes_marked_with
from scratch import HOLDFAST, Cli, Repo, Result

WORK = (
    'echo "work of $HOLDFAST_TASK_ID" > "work-$HOLDFAST_TASK_ID.txt"; '
    "mkdir -p shared; echo $HOLDFAST_TASK_ID > shared/$HOLDFAST_TASK_ID; "
)


@pytest.fixture
def base(repo: Repo) -> str:
    repo.write("plan.md", "- [ ] One\n- [ ] Two\n")
    return repo.commit("plan")


def run(cli: Cli, agent: str, *options: str, timeout: float = 120.0) -> Result:
    return cli("run", "plan.md", "--trunk", "--agent-cmd", agent, *options, timeout=timeout)


def assert_sound(repo: Repo, base: str) -> None:
    assert broken_invariants(repo, Expectation("plan.md", ("1", "2"), base, Path())) == []


def test_no_change_is_a_failed_attempt_that_says_so(repo: Repo, cli: Cli, base: str) -> None:
    result = run(cli, "true", "--max-attempts", "1")
    assert result.code == 1
    assert "the agent changed no file" in result.err
    assert repo.git("rev-parse", "HEAD") == base


def test_no_change_is_accepted_when_the_agent_says_why(repo: Repo, cli: Cli, base: str) -> None:
    result = run(cli, "echo '<SUCCESS>no change needed: it is there already</SUCCESS>'")
    assert result.code == 0, result.err
    assert repo.git("rev-list", "--count", f"{base}..HEAD") == "2"


def test_good_work_with_exit_1_is_not_committed_but_kept_for_the_next_attempt(
    repo: Repo, cli: Cli, base: str
) -> None:
    result = run(cli, WORK + "[ $HOLDFAST_ATTEMPT = 2 ]")
    assert result.code == 0, result.err
    assert "attempt 1 failed: exited with status 1" in result.out
    assert_sound(repo, base)
    assert "Holdfast-Attempt: 2" in repo.git("log", "-1", "--format=%B")


def test_a_failure_tag_fails_the_attempt_with_its_reason(repo: Repo, cli: Cli, base: str) -> None:
    result = run(cli, WORK + "echo '<FAILURE>the API is gone</FAILURE>'", "--max-attempts", "1")
    assert result.code == 1
    assert "the API is gone" in result.err


def test_a_gigabyte_of_output_does_not_grow_the_runner(repo: Repo, cli: Cli, base: str) -> None:
    flood = WORK + "head -c 1000000000 /dev/zero | tr '\\0' 'y' | fold -w 120"
    script = "import resource,subprocess,sys; subprocess.run(sys.argv[1:]); "
    script += "print('peak', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    command = [
        sys.executable,
        "-c",
        script,
        *HOLDFAST,
        "run",
        "plan.md",
        "--agent-cmd",
        flood,
        "--quiet",
        "--only",
        "1",
    ]
    done = subprocess.run(command, cwd=repo.path, env=repo.env, capture_output=True, text=True, timeout=170)
    found = re.search(r"peak (\d+)", done.stdout)
    assert found, done.stderr
    assert int(found[1]) < 80_000
    logs = sum(p.stat().st_size for p in (repo.path / ".git/holdfast/logs").rglob("*"))
    assert logs < 20_000_000
    assert repo.git("rev-list", "--count", f"{base}..HEAD") == "1"


def test_a_line_of_a_hundred_megabytes_is_cut(repo: Repo, cli: Cli, base: str) -> None:
    result = run(cli, WORK + "head -c 100000000 /dev/zero | tr '\\0' x; echo")
    assert result.code == 0, result.err
    assert_sound(repo, base)
    assert len(result.out) < 100_000


def test_invalid_utf8_and_escape_sequences_reach_neither_screen_nor_commit(
    repo: Repo, cli: Cli, base: str
) -> None:
    result = run(
        cli, WORK + r"printf '\377\376 \033[2J bell\007\n'; printf 'SUGGESTED_COMMIT_MESSAGE: caf\351\n'"
    )
    assert result.code == 0, result.err
    assert "\x1b" not in result.out
    assert "\x07" not in result.out
    assert_sound(repo, base)


def test_a_task_that_takes_too_long_is_ended(repo: Repo, cli: Cli, base: str) -> None:
    result = run(cli, "while :; do echo tick; sleep 0.1; done", "--task-timeout", "1", "--max-attempts", "1")
    assert result.code == 1
    assert "did not end within 1 s" in result.err


def test_a_silent_agent_is_ended_even_when_it_ignores_sigterm(repo: Repo, cli: Cli, base: str) -> None:
    agent = "trap '' TERM; echo hello; while :; do sleep 1; done"
    result = run(cli, agent, "--idle-timeout", "1", "--max-attempts", "1")
    assert result.code == 1
    assert "said nothing for 1 s" in result.err


def test_a_child_left_behind_is_ended_before_the_gates(
    repo: Repo, cli: Cli, base: str, tmp_path: Path
) -> None:
    ghost = tmp_path / "ghost"
    child = f"import os,time\\nos.setsid()\\nwhile 1: open('{ghost}','a').write('x'); time.sleep(0.01)"
    haunt = f'env -i {sys.executable} -c "$(printf "{child}")" > /dev/null 2>&1 & '
    agent = f"{WORK}{haunt}while ! test -s {ghost}; do sleep 0.05; done"
    result = run(cli, agent, "--only", "1")
    assert result.code == 0, result.err
    assert "left 1 process running; ended" in result.out
    size = ghost.stat().st_size
    assert size > 0
    time.sleep(0.2)
    assert ghost.stat().st_size == size


def test_commits_of_the_agents_own_become_the_tasks_one_commit(repo: Repo, cli: Cli, base: str) -> None:
    agent = (
        WORK + "git add -A; git commit -qm one; echo more >> work-$HOLDFAST_TASK_ID.txt; git commit -qam two"
    )
    result = run(cli, agent)
    assert result.code == 0, result.err
    assert_sound(repo, base)
    assert "moved the branch or HEAD" in result.out
    assert len(repo.git("for-each-ref", "refs/holdfast/rescue").splitlines()) == 2


@pytest.mark.parametrize(
    "deed",
    [
        "git checkout -q -b elsewhere; git add -A; git commit -qm x",
        "git checkout -q --detach; git add -A; git commit -qm x",
        "git tag mine-$HOLDFAST_TASK_ID",
        "git worktree add -q ../extra-$HOLDFAST_TASK_ID",
        "touch .git/index.lock",
        "git config core.hooksPath /nowhere; git config user.name Mallory",
        "echo 'exit 1' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
        "mkdir -p .git/info; echo '*' >> .git/info/exclude",
        "rm -rf .git/holdfast",
        "git add -A",
        "sed -i 's/\\[ \\]/[x]/' plan.md",
        "sed -i 's/\\[x\\]/[ ]/' plan.md",
        "rm plan.md",
        "git mv plan.md moved.md; mv moved.md plan.md",
        "rm plan.md; mkdir plan.md; touch plan.md/x",
        "rm plan.md; ln -s /etc/passwd plan.md",
        "git merge -q --no-ff -m x HEAD 2>/dev/null; true",
    ],
)
def test_whatever_it_does_to_the_repository_each_task_is_one_clean_commit(
    repo: Repo, cli: Cli, base: str, deed: str
) -> None:
    repo.git("branch", "keep")
    before = {name: (repo.path / ".git" / name).read_bytes() for name in ("config", "info/exclude")}
    result = run(cli, f"{WORK} {deed}")
    assert result.code == 0, result.out + result.err
    assert_sound(repo, base)
    assert repo.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert repo.git("rev-parse", "keep") == base
    assert not (repo.path / ".git/hooks/pre-commit").exists()
    assert {name: (repo.path / ".git" / name).read_bytes() for name in before} == before


@pytest.mark.parametrize(
    "deed",
    [
        "git reset -q --hard HEAD~1",
        "git commit -q --amend --allow-empty -m amended",
        "git checkout -q --orphan o; git add -A; git commit -qm x; git branch -D main",
    ],
)
def test_moving_history_fails_the_attempt_and_puts_everything_back(
    repo: Repo, cli: Cli, base: str, deed: str
) -> None:
    result = run(cli, f"{WORK} {deed}", "--max-attempts", "1")
    assert result.code == 1, result.out + result.err
    assert "moved the branch off its base" in result.err
    assert repo.git("rev-parse", "main") == base
    assert repo.git("symbolic-ref", "HEAD") == "refs/heads/main"
    good = run(cli, WORK)
    assert good.code == 0, good.err
    assert_sound(repo, base)


def test_refs_that_are_not_the_runs_are_put_back_and_what_was_made_of_them_is_kept(
    repo: Repo, cli: Cli, base: str
) -> None:
    repo.write("README.md", "# Stashed\n")
    repo.git("stash")
    repo.git("branch", "moved")
    repo.git("branch", "gone")
    repo.git("tag", "v1")
    refs = ("for-each-ref", "refs/heads/moved", "refs/heads/gone", "refs/tags", "refs/stash")
    before = repo.git(*refs), repo.git("stash", "list")
    deed = "git branch -q -D gone; git branch -q -f moved HEAD~1; git tag -f v1 HEAD~1; git stash clear; "
    result = run(cli, f"{deed} {WORK}")
    assert result.code == 0, result.out + result.err
    assert_sound(repo, base)
    assert (repo.git(*refs), repo.git("stash", "list")) == before
    assert "the agent changed refs/tags/v1; put back, its version is refs/holdfast/rescue/" in result.out
    assert "the agent changed the stash; put back" in result.out


def test_what_somebody_else_does_to_another_branch_meanwhile_stays(repo: Repo, cli: Cli, base: str) -> None:
    repo.git("branch", "theirs")
    repo.git("tag", "older", "HEAD~1")
    meanwhile = "env -u GIT_REFLOG_ACTION git fetch -q --force . older:theirs; "
    result = run(cli, f"{meanwhile} {WORK}")
    assert result.code == 0, result.out + result.err
    assert repo.git("rev-parse", "theirs") != base


def test_a_branch_that_is_checked_out_elsewhere_meanwhile_is_left_alone(
    repo: Repo, cli: Cli, base: str
) -> None:
    repo.git("branch", "theirs")
    commit = "env -u GIT_REFLOG_ACTION git -C ../tree commit -q --allow-empty -m x"
    meanwhile = f"git worktree add -q ../tree theirs && {commit}"
    result = run(cli, f"{meanwhile}; {WORK}", "--only", "1")
    assert result.code == 0, result.out + result.err
    assert repo.git("log", "-1", "--format=%s", "theirs") == "x"
    assert "refs/heads/theirs" not in result.out


def test_stashed_work_is_a_failed_attempt(repo: Repo, cli: Cli, base: str) -> None:
    done = "echo '<SUCCESS>done</SUCCESS>'"
    result = run(cli, f"{WORK} [ $HOLDFAST_ATTEMPT = 2 ] || git stash -q -u; {done}")
    assert result.code == 0, result.out + result.err
    assert "attempt 1 failed: the agent stashed its work" in result.out
    assert_sound(repo, base)
    assert repo.git("stash", "list") == ""


def test_everything_an_agent_stashes_is_kept(repo: Repo, cli: Cli, base: str) -> None:
    """Of several entries only the last is a ref."""
    stash = "echo one > one; git stash -q -u; echo two > two; git stash -q -u"
    result = run(cli, f"[ $HOLDFAST_ATTEMPT = 2 ] || {{ {stash}; }}; {WORK}", "--only", "1")
    assert result.code == 0, result.out + result.err
    assert repo.git("stash", "list") == ""
    kept = repo.git("rev-list", "--objects", "--glob=refs/holdfast/rescue")
    assert {name for name in ("one", "two") if f" {name}\n" in f"{kept}\n"} == {"one", "two"}


def test_a_push_is_said(repo: Repo, cli: Cli, base: str) -> None:
    repo.git("init", "--quiet", "--bare", "../hub.git")
    repo.git("remote", "add", "hub", "../hub.git")
    result = run(cli, f"{WORK} git push -q hub main", "--only", "1")
    assert result.code == 0, result.out + result.err
    assert "pushed to while the agent worked: refs/remotes/hub/main" in result.out


def test_a_nested_repository_is_feedback_not_a_broken_commit(repo: Repo, cli: Cli, base: str) -> None:
    deed = "git init -q sub; cd sub; echo x > x; git add x; git commit -qm x"
    result = run(cli, f"{WORK} {deed}", "--max-attempts", "1")
    assert result.code == 1
    assert "sub" in result.err


def test_odd_file_names_are_committed_as_they_are(repo: Repo, cli: Cli, base: str) -> None:
    names = (r"new\nline", "-dash", r"caf\351", " space ")
    odd = "".join(f"""printf x > "$(printf -- '{name}')-$HOLDFAST_TASK_ID"; """ for name in names)
    result = run(cli, odd)
    assert result.code == 0, result.err
    assert repo.git("status", "--porcelain") == ""
    listed = repo.git("ls-files", "-z").split("\0")
    assert {"new\nline-1", "-dash-1", "caf\udce9-1", " space -1"} <= set(listed)


def test_an_agent_that_cannot_be_started_is_exit_69(repo: Repo, cli: Cli, base: str) -> None:
    result = run(cli, "no-such-agent --go")
    assert result.code == 69
    assert "no-such-agent" in result.err
    assert repo.git("rev-parse", "HEAD") == base


# -- interrupts --------------------------------------------------------------------------------------


def started(repo: Repo, agent: str, ready: Path) -> "subprocess.Popen[bytes]":
    command = [*HOLDFAST, "run", "plan.md", "--agent-cmd", agent]
    process = subprocess.Popen(
        command, cwd=repo.path, env=repo.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 30
    while not ready.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return process


def marked(repo: Repo) -> list[int]:
    return processes_marked_with(f"TEST_MARK={repo.path}")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_stops_the_agent_saves_the_state_and_is_not_an_attempt(
    repo: Repo, cli: Cli, base: str, tmp_path: Path, number: int, code: int
) -> None:
    ready = tmp_path / "ready"
    repo.env["TEST_MARK"] = str(repo.path)
    slow = WORK + f"touch {ready}; sleep 100"
    process = started(repo, slow, ready)
    process.send_signal(number)
    assert process.wait(30) == code
    assert marked(repo) == []
    assert (repo.path / "work-1.txt").exists()
    result = run(cli, WORK)
    assert result.code == 0, result.err
    assert "attempt 1 of 3" in result.out
    assert "goes on in place" in result.out
    assert_sound(repo, base)


def test_kill_9_of_the_runner_takes_the_agents_whole_tree_with_it(
    repo: Repo, cli: Cli, base: str, tmp_path: Path
) -> None:
    ready, ghost = tmp_path / "ready", tmp_path / "ghost"
    child = f"import os,time\\nos.setsid()\\nwhile 1: open('{ghost}','a').write('x'); time.sleep(0.01)"
    haunt = f'env -i {sys.executable} -c "$(printf "{child}")" & '
    agent = f"{WORK}{haunt}while ! test -s {ghost}; do sleep 0.05; done; touch {ready}; sleep 100"
    process = started(repo, agent, ready)
    process.kill()
    process.wait()
    result = run(cli, WORK)
    size = ghost.stat().st_size
    assert result.code == 0, result.err
    assert_sound(repo, base)
    time.sleep(0.1)
    assert ghost.stat().st_size == size


def test_a_second_run_is_turned_away_at_once_and_names_the_holder(
    repo: Repo, cli: Cli, base: str, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    process = started(repo, f"touch {ready}; sleep 100", ready)
    try:
        result = run(cli, WORK)
        assert result.code == 75
        assert f"process {process.pid}" in result.err
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    assert os.path.exists(ready)
