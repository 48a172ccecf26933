"""An i2code idea directory runs as it is: its files must be committed, its steps are ticked with the task."""

from pathlib import Path

import pytest

from scratch import Cli, Repo, Result

IDEA = "docs/ideas/active/greeter"
PLAN = """\
Here is the plan you asked for.

# Implementation Plan: Greeter

## Steel Thread 1: Hello

- [ ] **Task 1.1: Say hello**
  - TaskType: OUTCOME
  - Entrypoint: `true`
  - Observable: a greeting
  - Evidence: `test -f work-1.1.txt`
  - Steps:
    - [ ] write it
    - [ ] try it
- [ ] **Task 1.2: Say goodbye**
  - Steps:
    - [ ] write that too

---

## Change History
"""
AGENT = 'echo "$HOLDFAST_TASK_TITLE" > work-$HOLDFAST_TASK_ID.txt'


@pytest.fixture
def idea(repo: Repo) -> Repo:
    repo.write(f"{IDEA}/greeter-idea.md", "# Greeter\n")
    repo.write(f"{IDEA}/greeter-spec.md", "# Spec\n")
    repo.write(f"{IDEA}/greeter-plan.md", PLAN)
    repo.commit("idea")
    return repo


def run(cli: Cli, *options: str) -> Result:
    return cli("run", IDEA, "--agent-cmd", AGENT, *options)


def test_each_task_is_one_commit_and_its_steps_are_ticked_with_it(idea: Repo, cli: Cli) -> None:
    result = run(cli)
    assert result.code == 0, result.out + result.err
    assert "All tasks completed!" in result.out
    first = idea.git("show", f"HEAD~1:{IDEA}/greeter-plan.md")
    assert first + "\n" == PLAN.replace("- [ ] **Task 1.1", "- [x] **Task 1.1").replace(
        "    - [ ] write it\n    - [ ] try it", "    - [x] write it\n    - [x] try it"
    )
    assert idea.git("show", f"HEAD:{IDEA}/greeter-plan.md").count("[x]") == 5


def test_a_bare_name_means_the_active_idea(idea: Repo, cli: Cli) -> None:
    result = cli("run", "greeter", "--agent-cmd", AGENT)
    assert result.code == 0, result.out + result.err


def test_evidence_commands_are_gates_when_asked_for(idea: Repo, cli: Cli) -> None:
    idea.write("holdfast.toml", "[verify]\nevidence = true\n")
    idea.commit("config")
    result = cli("run", IDEA, "--agent-cmd", "echo x > other", "--max-attempts", "1")
    assert result.code == 1
    assert "test -f work-1.1.txt" in result.err


@pytest.mark.parametrize("name", ["greeter-idea.md", "greeter-spec.md", "greeter-plan.md"])
def test_missing_files_are_named(idea: Repo, cli: Cli, name: str) -> None:
    (idea.path / IDEA / name).unlink()
    idea.commit("remove one")
    result = run(cli)
    assert result.code == 2
    assert name.removesuffix(".md") in result.err


def test_a_dry_run_names_the_mode_before_anything_must_be_committed(idea: Repo, cli: Cli) -> None:
    idea.write(f"{IDEA}/greeter-spec.md", "# Changed\n")
    result = run(cli, "--trunk", "--dry-run")
    assert result.code == 0, result.err
    assert "mode      trunk, on branch main" in result.out
    assert "would run 1.1: Say hello" in result.out
    assert idea.git("status", "--porcelain") == f" M {IDEA}/greeter-spec.md"


@pytest.mark.parametrize("name", ["greeter-idea.md", "greeter-spec.md"])
def test_uncommitted_idea_files_are_refused_unless_told_to_take_them_in(
    idea: Repo, cli: Cli, name: str
) -> None:
    idea.write(f"{IDEA}/{name}", "# Changed\n")
    refused = run(cli)
    assert refused.code == 3
    assert "--ignore-uncommitted-idea-changes" in refused.err
    taken = run(cli, "--ignore-uncommitted-idea-changes")
    assert taken.code == 0, taken.out + taken.err
    assert idea.git("status", "--porcelain") == ""
    assert idea.git("show", "--name-only", "--format=", "HEAD~2") == f"{IDEA}/{name}"
    assert idea.git("show", "--name-only", "--format=", "HEAD").split() == [
        f"{IDEA}/greeter-plan.md",
        "work-1.2.txt",
    ]


def test_a_plan_dirty_only_by_marks_is_recovered_in_spite_of_the_check(idea: Repo, cli: Cli) -> None:
    marked = PLAN.replace("- [ ] **Task 1.1", "- [x] **Task 1.1")
    idea.write(f"{IDEA}/greeter-plan.md", marked)
    idea.write("work-1.1.txt", "by another tool\n")
    result = run(cli)
    assert result.code == 0, result.out + result.err
    assert "Recovery commit successful." in result.out
    assert idea.git("show", "HEAD~1:work-1.1.txt") == "by another tool"
    assert "Holdfast-Task: 1.1" in idea.git("log", "-1", "--format=%B", "HEAD~1")
    assert Path(idea.path / "work-1.2.txt").exists()


def test_an_agent_that_commits_in_a_tree_of_its_own_needs_a_ci_workflow(idea: Repo, cli: Cli) -> None:
    plan = f"{IDEA}/greeter-plan.md"
    mark = f'sed -i "/Task $HOLDFAST_TASK_ID/,/Task 9/s/\\[ \\]/[x]/" {plan}'
    only = f"sed -i '/Task 1.2/,$s/\\[x\\]/[ ]/' {plan}"
    agent = (
        f"{AGENT}; {mark}; test $HOLDFAST_TASK_ID = 1.2 || {only}; "
        'test "$HOLDFAST_ATTEMPT" = 1 || '
        '{ mkdir -p .github/workflows; echo "on: push" > .github/workflows/ci.yml; }; '
        "git add -A; git commit -qm done; echo '<SUCCESS>task implemented: it</SUCCESS>'"
    )
    words = ("--worktree", "--commits", "agent", "--agent-cmd", agent)
    result = cli("run", IDEA, *words)
    assert result.code == 0, result.out + result.err
    assert "task 1.1: attempt 1 failed: the project has no CI workflow" in result.out
    assert idea.git("log", "--format=%s", "main..idea/greeter").splitlines() == ["done", "done"]
    assert "ci.yml" in idea.git("ls-tree", "-r", "--name-only", "idea/greeter~1")
