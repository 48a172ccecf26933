"""Plans in JSON are run like any other: one commit for each task, with its mark in it."""

import json
from typing import Any

import pytest

from scratch import Cli, Repo

AGENT = 'echo "$HOLDFAST_TASK_TITLE" > "$HOLDFAST_TASK_ID.txt"'
SPEC = ".auto-claude/specs/001-shop/implementation_plan.json"
COMMITS = ".auto-claude/specs/001-shop/memory/build_commits.json"
RAFA = ".rafa/plans/aB3dE9-cart/plan.json"


def statuses(repo: Repo, commit: str, path: str) -> list[str]:
    content = json.loads(repo.git("show", f"{commit}:{path}"))
    phases = content.get("phases", [content])
    return [item["status"] for phase in phases for item in phase.get("tasks", phase.get("subtasks", ()))]


def commit_of(repo: Repo, task: str) -> str:
    (commit,) = repo.git("log", "--format=%H", f"--grep=^Holdfast-Task: {task}$").split()
    return commit


def commits_in_memory(content: dict[str, Any]) -> dict[str, str]:
    """By subtask; "" is the last good one."""
    rows = {row["subtask_id"]: row["hash"] for row in content["commits"]}
    return {**rows, "": content["last_good_commit"]}


def test_a_spec_is_built_in_the_order_of_its_phases(repo: Repo, cli: Cli) -> None:
    late = {"phase": 2, "depends_on": [1], "subtasks": [{"id": "b", "title": "Then", "status": "pending"}]}
    early = {"phase": 1, "subtasks": [{"id": "a", "title": "First", "status": "in_progress"}]}
    repo.write(SPEC, json.dumps({"phases": [late, early]}, indent=2))
    repo.commit("Add the plan")
    assert cli("run", "001", "--agent-cmd", AGENT).code == 0
    assert statuses(repo, commit_of(repo, "a"), SPEC) == ["pending", "completed"]
    assert statuses(repo, commit_of(repo, "b"), SPEC) == ["completed", "completed"]
    assert repo.git("show", f"{commit_of(repo, 'a')}:a.txt") == "First"
    assert not repo.git("status", "--short")
    assert commits_in_memory(json.loads(repo.git("show", f"HEAD:{COMMITS}"))) == {
        "a": commit_of(repo, "a"),
        "b": commit_of(repo, "b"),
        "": commit_of(repo, "b"),
    }
    before = repo.git("rev-parse", "HEAD")
    assert cli("run", "001", "--agent-cmd", AGENT).code == 0
    assert repo.git("rev-parse", "HEAD") == before


def test_a_commit_between_two_items_is_not_taken_for_the_first_ones(repo: Repo, cli: Cli) -> None:
    subtasks = [{"id": name, "title": f"Do {name}", "status": "pending"} for name in "abcd"]
    repo.write(SPEC, json.dumps({"subtasks": subtasks, "status": "backlog"}))
    repo.commit("Add the plan")
    assert cli("run", "001", "--agent-cmd", AGENT, "--only", "a").code == 0
    assert cli("skip", "b", "--plan", "001").code == 0
    repo.commit("Something else")
    assert cli("run", "001", "--agent-cmd", AGENT, "--only", "c").code == 0
    named = commits_in_memory(json.loads((repo.path / COMMITS).read_bytes()))
    assert named == {"a": commit_of(repo, "a"), "c": "", "": commit_of(repo, "a")}


@pytest.mark.parametrize("point", ["", "agent.after", "commit.after", "plan.derived.written"])
def test_a_spec_that_git_ignores_is_kept_up_in_the_tree(repo: Repo, cli: Cli, point: str) -> None:
    repo.write(".gitignore", ".auto-claude/\n")
    repo.commit("Ignore the specs")
    subtasks = [{"id": name, "title": f"Do {name}", "status": "pending"} for name in "ab"]
    file = repo.write(SPEC, json.dumps({"subtasks": subtasks, "status": "backlog"}))
    if point:
        assert cli("run", "001", "--agent-cmd", AGENT, env={"HOLDFAST_FAULT": f"{point}@1"}).code == -9
    assert cli("run", "001", "--agent-cmd", AGENT).code == 0
    content = json.loads(file.read_bytes())
    assert [item["status"] for item in content["subtasks"]] == ["completed", "completed"]
    assert content["status"] == "ai_review"
    first, second = commit_of(repo, "a"), commit_of(repo, "b")
    built = json.loads((repo.path / COMMITS).read_bytes())
    assert commits_in_memory(built) == {"a": first, "b": second, "": second}


@pytest.mark.parametrize("point", ["agent.after", "commit.after"])
def test_killed_in_the_middle_a_spec_goes_on_with_its_first_open_item(
    repo: Repo, cli: Cli, point: str
) -> None:
    items = [{"id": name, "title": f"Do {name}", "status": "pending"} for name in "abc"]
    repo.write(SPEC, json.dumps({"phases": [{"phase": 1, "subtasks": items}]}))
    repo.commit("Add the plan")
    agent = ("--agent-cmd", 'echo "$HOLDFAST_TASK_ID" >> order.txt')
    assert cli("run", "001", *agent, env={"HOLDFAST_FAULT": f"{point}@2"}).code == -9
    first = commit_of(repo, "a")
    result = cli("run", "001", *agent, "--auto-continue")
    assert result.code == 0, result.err
    assert "Auto-continue: Resuming existing build..." in result.out
    assert commit_of(repo, "a") == first
    assert statuses(repo, "HEAD", SPEC) == ["completed"] * 3
    assert [commit_of(repo, name) != first for name in "bc"] == [True, True]


def test_a_rafa_plan_is_run_with_its_own_messages(repo: Repo, cli: Cli) -> None:
    tasks = [{"id": f"t0{n}", "title": f"Add <{n}>", "status": "pending", "attempts": 0} for n in (1, 2)]
    repo.write(RAFA, json.dumps({"id": "aB3dE9", "name": "cart", "status": "not_started", "tasks": tasks}))
    repo.commit("Add the plan")
    assert cli("run", "cart", "--agent-cmd", AGENT).code == 0
    first, second = commit_of(repo, "t01"), commit_of(repo, "t02")
    assert repo.git("log", "-1", "--format=%s", first) == "[rafa] Complete task t01: Add <1>"
    assert repo.git("log", "-1", "--format=%s", second) == "[rafa] Complete task t02: Add <2>"
    assert statuses(repo, first, RAFA) == ["completed", "pending"]
    assert statuses(repo, second, RAFA) == ["completed", "completed"]
    assert repo.git("rev-parse", "HEAD") == second
    assert json.loads(repo.git("show", f"{second}:{RAFA}"))["status"] == "completed"
    assert events(repo, first) == ["plan_started", "task_started", "task_completed"]
    assert events(repo, second) == [*events(repo, first), "task_started", "task_completed", "plan_completed"]


@pytest.mark.parametrize("point", ["agent.after", "sealed", "candidate.after", "commit.after", "plan.synced"])
def test_killed_anywhere_the_log_tells_each_task_once(repo: Repo, cli: Cli, point: str) -> None:
    tasks = [{"id": f"t0{n}", "title": f"Add {n}", "status": "pending", "attempts": 0} for n in (1, 2)]
    repo.write(RAFA, json.dumps({"id": "aB3dE9", "name": "cart", "status": "not_started", "tasks": tasks}))
    repo.commit("Add the plan")
    assert cli("run", "cart", "--agent-cmd", AGENT, env={"HOLDFAST_FAULT": f"{point}@1"}).code == -9
    assert cli("run", "cart", "--agent-cmd", AGENT).code == 0
    told = events(repo, "HEAD")
    assert [told.count(name) for name in ("plan_started", "task_completed", "plan_completed")] == [1, 2, 1]
    assert repo.git("rev-parse", "HEAD") == commit_of(repo, "t02")
    assert not repo.git("status", "--short")


def events(repo: Repo, commit: str) -> list[str]:
    log = repo.git("show", f"{commit}:{RAFA.removesuffix('plan.json')}progress.log")
    return [json.loads(line)["event"] for line in log.splitlines()]


def test_failed_attempts_are_in_the_log_of_the_commit_that_held(repo: Repo, cli: Cli) -> None:
    tasks = [{"id": "t01", "title": "Add it", "status": "pending", "attempts": 0}]
    repo.write(RAFA, json.dumps({"id": "aB3dE9", "name": "cart", "status": "not_started", "tasks": tasks}))
    repo.commit("Add the plan")
    agent = 'echo x >> tried; test "$HOLDFAST_ATTEMPT" = 3'
    assert cli("run", "cart", "--agent-cmd", agent).code == 0
    assert events(repo, "HEAD") == [
        "plan_started",
        *("task_started", "task_failed") * 2,
        *("task_started", "task_completed", "plan_completed"),
    ]
    assert json.loads(repo.git("show", f"HEAD:{RAFA}"))["tasks"][0]["attempts"] == 3


@pytest.mark.parametrize("options", [(), ("--allow-dirty",)])
def test_a_failed_rafa_task_leaves_its_work_and_writes_no_failure_down(
    repo: Repo, cli: Cli, options: tuple[str, ...]
) -> None:
    tasks = [{"id": "t01", "title": "Add it", "status": "pending", "attempts": 0}]
    plan = repo.write(
        RAFA, json.dumps({"id": "aB3dE9", "name": "cart", "status": "not_started", "tasks": tasks})
    )
    repo.commit("Add the plan")
    before = plan.read_bytes(), repo.git("rev-parse", "HEAD")
    result = cli("run", "cart", "--agent-cmd", "echo $HOLDFAST_ATTEMPT > half.txt; exit 1", *options)
    assert result.code == 1
    assert "failed after 5 attempts" in result.err
    assert (plan.read_bytes(), repo.git("rev-parse", "HEAD")) == before
    assert repo.git("status", "--porcelain") == "?? half.txt"


@pytest.mark.parametrize("ignored", [False, True], ids=["", "ignored by git"])
@pytest.mark.parametrize(
    "place", [".worktrees/auto-claude", ".worktrees/001-shop", ".auto-claude/worktrees/tasks/001-shop"]
)
def test_a_build_that_auto_claude_began_is_gone_on_with_where_it_is(
    repo: Repo, cli: Cli, place: str, ignored: bool
) -> None:
    """The plan in its tree is newer than the one in the checkout."""
    subtasks = [{"id": name, "title": f"Do {name}", "status": "pending"} for name in "ab"]
    spec = repo.write(SPEC, json.dumps({"subtasks": subtasks}))
    repo.write(
        ".gitignore", ".auto-claude/\n.worktrees/\n" if ignored else ".worktrees/\n.auto-claude/worktrees/\n"
    )
    repo.commit("Add the plan")
    repo.git("worktree", "add", "--quiet", "-b", "auto-claude/001-shop", place)
    there = repo.path / place / SPEC
    there.parent.mkdir(parents=True, exist_ok=True)
    subtasks[0]["status"] = "completed"
    there.write_text(json.dumps({"subtasks": subtasks}))
    if not ignored:
        repo.git("-C", place, "commit", "--quiet", "--no-verify", "-am", "auto-claude: a")
    before = spec.read_bytes()
    result = cli("run", "001", "--worktree", "--agent-cmd", AGENT)
    assert result.code == 0, result.out + result.err
    assert (repo.path / place / "b.txt").exists() and not (repo.path / place / "a.txt").exists()
    assert spec.read_bytes() == before
    assert [item["status"] for item in json.loads(there.read_text())["subtasks"]] == ["completed"] * 2
    trailers = "--format=%(trailers:key=Holdfast-Task,valueonly,separator=%x2C)"
    assert repo.git("log", trailers, "main..auto-claude/001-shop").split() == ["b"]
    assert not repo.path.with_name(f"{repo.path.name}-worktrees").exists()
