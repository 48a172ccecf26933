"""A plan runs to one commit per task; whatever is not the agent's work stays as it was."""

from pathlib import Path

import pytest

from invariants import AGENT, Expectation, broken_invariants, frozen
from scratch import Cli, Repo, Result

FIVE = "# Plan\n\n" + "".join(f"- [ ] Thing number {n}\n" for n in range(1, 6))
TASKS = tuple(f"1.{n}" for n in range(1, 6))


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


@pytest.fixture
def run(repo: Repo, cli: Cli, ledger: Path) -> "Runner":
    return Runner(repo, cli, ledger)


class Runner:
    def __init__(self, repo: Repo, cli: Cli, ledger: Path) -> None:
        self.repo, self.cli, self.ledger = repo, cli, ledger

    def plan(self, text: str) -> str:
        self.repo.write("plan.md", text)
        return self.repo.commit("Add the plan")

    def __call__(self, *options: str, agent: str = AGENT, timeout: float = 60.0) -> Result:
        command = ("run", "plan.md", "--trunk", "--agent-cmd", agent, *options)
        return self.cli(*command, env={"LEDGER": str(self.ledger)}, timeout=timeout)

    def new_commits(self, base: str) -> list[str]:
        return self.repo.git("rev-list", "--reverse", f"{base}..HEAD").split()

    def message(self, commit: str = "HEAD") -> str:
        return self.repo.git("log", "-1", "--format=%B", commit)


def test_five_tasks_give_five_commits_each_with_its_tick_files_and_trailers(run: Runner) -> None:
    base = run.plan(FIVE)
    result = run()
    assert result.code == 0, result.err
    assert broken_invariants(run.repo, Expectation("plan.md", TASKS, base, run.ledger)) == []
    message = run.message()
    assert message.startswith("[holdfast] Complete task 1.5: Thing number 5\n")
    for name in ("Plan: plan.md", "Task: 1.5", "Key: ", "Run: plan-", "Attempt: 1"):
        assert f"\nHoldfast-{name}" in message


def test_the_same_command_again_does_nothing_says_so_and_exits_0(run: Runner) -> None:
    run.plan(FIVE)
    assert run().code == 0
    before = frozen(run.repo)
    again = run(agent="no-such-program-is-needed")
    assert again.code == 0
    assert "already complete" in again.out
    assert frozen(run.repo) == before


def test_tasks_run_in_document_order_but_not_before_what_they_depend_on(run: Runner) -> None:
    base = run.plan("- [ ] T1 Roof\n  depends: T2\n- [ ] T2 Walls\n- [ ] T3 Door\n")
    assert run().code == 0
    order = [run.message(c).partition("task ")[2][:2] for c in run.new_commits(base)]
    assert order == ["T2", "T1", "T3"]


def test_only_runs_one_task_and_until_stops_behind_one(run: Runner) -> None:
    base = run.plan(FIVE)
    assert run("--only", "1.2").code == 0
    assert run("--until", "1.3").code == 0
    tasks = [run.message(c).split(":")[0].rpartition(" ")[2] for c in run.new_commits(base)]
    assert tasks == ["1.2", "1.1", "1.3"]


def test_only_a_task_whose_dependencies_are_open_is_not_a_success(run: Runner) -> None:
    run.plan("- [ ] T1 Roof\n  depends: T2\n- [ ] T2 Walls\n")
    result = run("--only", "T1")
    assert result.code == 1
    assert "waits for T2" in result.err


def test_dry_run_says_what_it_would_do_and_changes_nothing(run: Runner) -> None:
    run.plan(FIVE)
    before = frozen(run.repo)
    result = run("--dry-run", "--verify", "make check")
    assert result.code == 0
    assert "would run 1.5: Thing number 5" in result.out
    assert "make check" in result.out
    assert frozen(run.repo) == before
    assert not (run.repo.path / ".git/holdfast").exists()


def test_a_plan_git_does_not_track_becomes_the_first_commit(run: Runner) -> None:
    base = run.repo.git("rev-parse", "HEAD")
    run.repo.write("plan.md", "- [ ] Only thing\n")
    assert run().code == 0
    first, second = run.new_commits(base)
    assert run.message(first).startswith("[holdfast] Add plan: plan")
    assert run.repo.git("show", f"{first}:plan.md") == "- [ ] Only thing"
    assert "Holdfast-Task: 1" in run.message(second)


def test_edits_of_the_plan_become_a_commit_of_their_own(run: Runner) -> None:
    base = run.plan("- [ ] Only thing\n")
    run.repo.write("plan.md", "- [ ] Only thing\n- [ ] One more\n")
    assert run().code == 0
    first = run.new_commits(base)[0]
    assert run.message(first).startswith("[holdfast] Update plan: plan")
    assert len(run.new_commits(base)) == 3


def test_the_agents_suggested_message_is_used_with_all_its_lines(run: Runner) -> None:
    run.plan("- [ ] Only thing\n")
    message = r"SUGGESTED_COMMIT_MESSAGE: Add x\n\nBecause y.\n\nHoldfast-Task: 99\n<SUCCESS>ok</SUCCESS>\n"
    said = f"echo x > x; printf '{message}'"
    assert run(agent=said).code == 0
    message = run.message()
    assert message.startswith("Add x\n\nBecause y.\n\nHoldfast-Plan: plan.md\n")
    assert "99" not in message


def test_marks_steps_and_line_endings_of_the_plan_survive(run: Runner) -> None:
    data = b"\xef\xbb\xbf# Pl\xc3\xa4n\r\n\r\n- [ ] One\r\n  - [ ] a step\r\n- [ ] Two"
    run.repo.git("config", "core.autocrlf", "false")
    run.repo.write("plan.md", data)
    run.repo.commit("plan")
    assert run().code == 0
    assert (run.repo.path / "plan.md").read_bytes() == data.replace(b"- [ ] One", b"- [x] One").replace(
        b"- [ ] Two", b"- [x] Two"
    )


def test_a_checkout_with_crlf_conversion_ends_clean(run: Runner) -> None:
    run.repo.write(".gitattributes", "*.md text eol=crlf\n")
    run.plan("- [ ] One\n- [ ] Two\n")
    run.repo.git("checkout-index", "--force", "--all")
    run.repo.git("update-index", "--refresh")
    result = run()
    assert result.code == 0, result.err
    assert run.repo.git("status", "--porcelain") == ""
    assert (run.repo.path / "plan.md").read_bytes() == b"- [x] One\r\n- [x] Two\r\n"


# -- the user's own work -----------------------------------------------------------------------------


def test_the_users_changes_are_refused_named_and_untouched(run: Runner) -> None:
    run.plan(FIVE)
    run.repo.write("staged.txt", "s\n")
    run.repo.git("add", "staged.txt")
    run.repo.write("README.md", "# changed\n")
    run.repo.write("new.txt", "n\n")
    before = frozen(run.repo)
    result = run()
    assert result.code == 3
    assert "staged: staged.txt" in result.err
    assert "changed: README.md" in result.err
    assert "untracked: new.txt" in result.err
    for way_out in ("--worktree", "git stash -u", "--allow-dirty"):
        assert way_out in result.err
    assert frozen(run.repo) == before
    assert run.repo.git("stash", "list") == ""


def test_allow_dirty_runs_marks_the_plan_and_commits_nothing(run: Runner) -> None:
    base = run.plan("- [ ] One\n- [ ] Two\n")
    run.repo.write("mine.txt", "mine\n")
    result = run("--allow-dirty")
    assert result.code == 0, result.err
    assert run.new_commits(base) == []
    assert (run.repo.path / "plan.md").read_text() == "- [x] One\n- [x] Two\n"
    assert (run.repo.path / "mine.txt").read_text() == "mine\n"


def test_a_merge_under_way_is_refused(run: Runner) -> None:
    run.plan(FIVE)
    (run.repo.path / ".git/MERGE_HEAD").write_text(run.repo.git("rev-parse", "HEAD") + "\n")
    result = run()
    assert result.code == 3
    assert "git merge --abort" in result.err


def test_stash_other_branches_and_config_are_left_alone(run: Runner) -> None:
    run.plan(FIVE)
    run.repo.write("README.md", "# stashed\n")
    run.repo.git("stash")
    run.repo.git("branch", "other")
    config = (run.repo.path / ".git/config").read_bytes()
    stash = run.repo.git("stash", "list", "--format=%H")
    assert run().code == 0
    assert run.repo.git("stash", "list", "--format=%H") == stash
    assert run.repo.git("rev-parse", "other") != run.repo.git("rev-parse", "main")
    assert (run.repo.path / ".git/config").read_bytes() == config


def test_what_git_ignores_is_not_committed(run: Runner) -> None:
    run.repo.write(".gitignore", ".env\n")
    run.plan("- [ ] One\n")
    assert run(agent=AGENT + "echo secret > .env\n").code == 0
    assert ".env" not in run.repo.git("ls-tree", "-r", "--name-only", "HEAD").split()
    assert (run.repo.path / ".env").read_text() == "secret\n"


def test_a_remote_is_not_written_to_even_when_a_failed_commit_is_recovered(
    run: Runner, tmp_path: Path
) -> None:
    base = run.plan("- [ ] One\n- [ ] Two\n")
    run.repo.git("clone", "--quiet", "--bare", ".", str(tmp_path / "remote"))
    run.repo.git("remote", "add", "origin", str(tmp_path / "remote"))
    run.repo.git("config", "branch.main.remote", "origin")
    run.repo.write("plan.md", "- [x] One\n- [ ] Two\n")
    run.repo.write("work.txt", "of a failed commit\n")
    assert run().code == 0
    assert len(run.new_commits(base)) == 2
    assert run.repo.git("ls-remote", "--heads", "origin") == f"{base}\trefs/heads/main"


# -- attempts and gates ------------------------------------------------------------------------------


def test_a_failing_gate_is_feedback_for_the_next_attempt(run: Runner) -> None:
    base = run.plan("- [ ] One\n")
    agent = 'cat > "$LEDGER.$HOLDFAST_ATTEMPT"; echo $HOLDFAST_ATTEMPT > n'
    result = run("--verify", "grep 2 n || { echo too few; false; }", agent=agent)
    assert result.code == 0, result.err
    assert "too few" in Path(f"{run.ledger}.2").read_text()
    assert len(run.new_commits(base)) == 1
    assert "Holdfast-Attempt: 2" in run.message()


def test_a_gate_of_the_plan_itself_is_run(run: Runner) -> None:
    run.plan("- [ ] One\n  verify: test -f needed\n")
    result = run("--max-attempts", "1")
    assert result.code == 1
    assert "test -f needed" in result.err


def test_after_the_last_attempt_nothing_is_committed_and_the_work_stays(run: Runner) -> None:
    base = run.plan("- [ ] One\n- [ ] Two\n")
    result = run("--max-attempts", "2", "--verify", "false")
    assert result.code == 1
    assert "task 1 failed after 2 attempts" in result.err
    assert run.new_commits(base) == []
    assert (run.repo.path / "work-1.txt").exists()
    assert run().code == 0, "the same tree goes on when the reason is gone"
    assert len(run.new_commits(base)) == 2


def test_a_gate_that_hangs_is_ended_and_fails(run: Runner, repo: Repo) -> None:
    repo.write("holdfast.toml", "[verify]\ntimeout = 1\n")
    run.plan("- [ ] One\n")
    result = run("--max-attempts", "1", "--verify", "sleep 60")
    assert result.code == 1
    assert "not finished after 1 s" in run.cli("log", "1").out


# -- hooks and signatures ----------------------------------------------------------------------------


def hook(repo: Repo, name: str, text: str) -> None:
    repo.write(f".git/hooks/{name}", f"#!/bin/sh\n{text}\n").chmod(0o755)


def test_what_a_pre_commit_hook_reformats_is_in_the_commit(run: Runner, repo: Repo) -> None:
    run.plan("- [ ] One\n")
    hook(repo, "pre-commit", "tr a-z A-Z < work-1.txt > t && mv t work-1.txt")
    result = run()
    assert result.code == 0, result.err
    assert repo.git("show", "HEAD:work-1.txt") == "WORK OF 1"
    assert repo.git("status", "--porcelain") == ""


def test_a_hook_that_fixes_files_and_fails_gets_a_second_look(run: Runner, repo: Repo) -> None:
    run.plan("- [ ] One\n")
    hook(repo, "pre-commit", "grep -q fixed work-1.txt || { echo fixed > work-1.txt; exit 1; }")
    result = run()
    assert result.code == 0, result.err
    assert repo.git("show", "HEAD:work-1.txt") == "fixed"


def test_what_a_gate_writes_when_it_looks_again_is_part_of_the_commit(run: Runner, repo: Repo) -> None:
    run.plan("- [ ] One\n")
    hook(repo, "pre-commit", "echo more >> work-1.txt")
    assert run("--verify", "echo checked >> checks").code == 0
    assert repo.git("show", "HEAD:checks") == "checked\nchecked\nchecked"
    assert repo.git("status", "--porcelain") == ""


def test_a_hook_sees_the_mark_in_the_index_it_is_given(run: Runner, repo: Repo) -> None:
    run.plan("- [ ] One\n")
    hook(repo, "pre-commit", 'git show :plan.md | grep -q "\\[x\\] One"')
    assert run().code == 0


def test_a_rejecting_hooks_words_reach_the_next_attempt_and_then_fail_the_task(
    run: Runner, repo: Repo
) -> None:
    base = run.plan("- [ ] One\n")
    hook(repo, "pre-commit", "echo no tabs allowed; exit 1")
    agent = 'cat > "$LEDGER.$HOLDFAST_ATTEMPT"; echo work > work'
    result = run("--max-attempts", "2", agent=agent)
    assert result.code == 1
    assert "pre-commit hook refused" in result.err
    assert "no tabs allowed" in Path(f"{run.ledger}.2").read_text()
    assert run.new_commits(base) == []
    assert (repo.path / "work").exists()
    assert repo.git("show", "HEAD:plan.md") == "- [ ] One"
    assert (repo.path / "plan.md").read_text() == "- [ ] One\n"


def test_a_commit_msg_hook_may_refuse_or_amend_the_message(run: Runner, repo: Repo) -> None:
    run.plan("- [ ] One\n")
    hook(repo, "commit-msg", 'sed -i "1s/^/feat: /" "$1"')
    assert run().code == 0
    assert run.message().startswith("feat: [holdfast] Complete task 1: One\n")


@pytest.mark.parametrize("name", ["prepare-commit-msg", "commit-msg"])
def test_a_file_that_a_message_hook_leaves_is_part_of_the_same_tasks_commit(
    run: Runner, repo: Repo, name: str
) -> None:
    base = run.plan("- [ ] One\n- [ ] Two\n")
    hook(repo, name, 'echo "$(head -n 1 "$1")" >> told; rm -f README.md')
    result = run("--verify", "echo checked >> checks")
    assert result.code == 0, result.err
    first, second = run.new_commits(base)
    assert repo.git("show", f"{first}:told") == "[holdfast] Complete task 1: One"
    assert repo.git("diff", first, second, "--", "told").count("\n+") == 2
    assert "README.md" not in repo.git("ls-tree", "--name-only", first).split()
    assert repo.git("show", f"{first}:checks") == "checked\nchecked", "what it left was checked"
    assert repo.git("status", "--porcelain") == ""


def test_a_commit_msg_hook_that_drops_the_trailers_is_refused(run: Runner, repo: Repo) -> None:
    base = run.plan("- [ ] One\n")
    hook(repo, "commit-msg", 'sed -i "/^Holdfast-/d" "$1"')
    result = run()
    assert result.code == 1
    assert "removed the trailers" in result.err
    assert "Holdfast-Task" in result.err
    assert run.new_commits(base) == []


def test_a_failing_signature_moves_no_ref(run: Runner, repo: Repo) -> None:
    run.plan("- [ ] One\n")
    repo.git("config", "commit.gpgsign", "true")
    repo.git("config", "gpg.program", "false")
    refs = repo.git("for-each-ref", "refs/heads", "refs/tags")
    result = run()
    assert result.code == 1
    assert "could not be signed" in result.err
    assert repo.git("for-each-ref", "refs/heads", "refs/tags") == refs


def test_commits_are_signed_when_the_user_signs(run: Runner, repo: Repo, tmp_path: Path) -> None:
    run.plan("- [ ] One\n")
    signer = tmp_path / "signer"
    signer.write_text(
        "#!/bin/sh\ncat > /dev/null\n"
        'printf -- "-----BEGIN PGP SIGNATURE-----\\nx\\n-----END PGP SIGNATURE-----\\n"\n'
        'printf "\\n[GNUPG:] SIG_CREATED D 1\\n" >&2\n'
    )
    signer.chmod(0o755)
    repo.git("config", "commit.gpgsign", "true")
    repo.git("config", "gpg.program", str(signer))
    assert run().code == 0
    assert "\ngpgsig -----BEGIN PGP SIGNATURE-----" in repo.git("cat-file", "commit", "HEAD")


# -- changing a task's fate by hand ------------------------------------------------------------------


def test_skip_and_reset_are_commits_and_leave_the_users_changes_alone(run: Runner, repo: Repo) -> None:
    run.plan("- [ ] One\n- [ ] Two\n")
    repo.write("README.md", "# mine\n")
    repo.write("staged", "s\n")
    repo.git("add", "staged")
    skipped = run.cli("skip", "1", "--plan", "plan.md")
    assert skipped.code == 0, skipped.err
    assert repo.git("show", "HEAD:plan.md") == "- [-] One\n- [ ] Two"
    assert (repo.path / "plan.md").read_text() == "- [-] One\n- [ ] Two\n"
    assert repo.git("status", "--porcelain").splitlines() == [" M README.md", "A  staged"]
    assert run.cli("reset", "1", "--plan", "plan.md").code == 0
    assert repo.git("show", "HEAD:plan.md") == "- [ ] One\n- [ ] Two"
    assert repo.git("status", "--porcelain").splitlines() == [" M README.md", "A  staged"]


def test_skip_after_a_failure_keeps_the_work_under_rescue_and_the_run_goes_on(
    run: Runner, repo: Repo
) -> None:
    run.plan("- [ ] One\n- [ ] Two\n")
    assert run("--max-attempts", "1", "--verify", "false").code == 1
    skipped = run.cli("skip", "1")
    assert skipped.code == 0, skipped.err
    ref = repo.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue").splitlines()[-1]
    assert repo.git("show", f"{ref}:work/work-1.txt") == "work of 1"
    assert run().code == 0
    assert repo.git("show", "--name-only", "--format=", "HEAD").split() == [
        "plan.md",
        "shared/2",
        "work-2.txt",
    ]
    assert not (repo.path / "work-1.txt").exists()


def test_retry_gives_the_attempts_back(run: Runner, repo: Repo) -> None:
    run.plan("- [ ] One\n")
    assert run.cli("retry", "1", "--plan", "plan.md").code == 0
    unknown = run.cli("retry", "7", "--plan", "plan.md")
    assert unknown.code == 2
    assert "there is no task 7" in unknown.err
