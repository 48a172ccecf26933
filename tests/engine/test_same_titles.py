"""Tasks of one title are several tasks: none is called done because another one is."""

import json
from pathlib import Path

import pytest

from scratch import Cli, Repo

PLAN = "# Plan\n\n- [ ] T1 Write tests\n- [ ] T2 Write tests\n- [ ] T3 Write tests\n"
AGENT = ("--agent-cmd", 'echo "$HOLDFAST_TASK_ID" >> did; echo x >> "$HOLDFAST_TASK_ID.txt"')
SPEC = ".auto-claude/specs/001-x"


@pytest.fixture(params=["tracked", "ignored"])
def alike(request: pytest.FixtureRequest, repo: Repo) -> Repo:
    if request.param == "ignored":
        repo.write(".gitignore", "plan.md\n")
    repo.write("plan.md", PLAN)
    repo.commit("Add the plan")
    return repo


def _did(repo: Repo) -> list[str]:
    return (repo.path / "did").read_text().split()


def test_each_is_done_though_the_run_ends_between_them(alike: Repo, cli: Cli) -> None:
    assert cli("run", "plan.md", *AGENT, "--only", "T2").code == 0
    assert (alike.path / "plan.md").read_text() == PLAN.replace("[ ] T2", "[x] T2")
    assert cli("run", "plan.md", *AGENT, env={"HOLDFAST_FAULT": "commit.after@1"}).code == -9
    result = cli("run", "plan.md", *AGENT)
    assert result.code == 0, result.err
    assert _did(alike) == ["T2", "T1", "T3"]
    assert (alike.path / "plan.md").read_text() == PLAN.replace("[ ]", "[x]")


def test_a_skipped_one_does_not_skip_the_others(alike: Repo, cli: Cli) -> None:
    assert cli("skip", "T1", "--plan", "plan.md").code == 0
    assert cli("run", "plan.md", *AGENT).code == 0
    assert _did(alike) == ["T2", "T3"]


def test_without_commits_each_is_done_once(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", PLAN)
    repo.commit("Add the plan")
    assert cli("run", "plan.md", *AGENT, "--allow-dirty", timeout=30.0).code == 0
    assert _did(repo) == ["T1", "T2", "T3"]
    assert (repo.path / "plan.md").read_text() == PLAN.replace("[ ]", "[x]")


def test_an_edit_of_the_plan_in_between_moves_no_mark(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", PLAN)
    repo.commit("Add the plan")
    assert cli("run", "plan.md", *AGENT, "--only", "T1").code == 0
    assert cli("run", "plan.md", *AGENT, env={"HOLDFAST_FAULT": "agent.after@1"}).code == -9
    edited = (repo.path / "plan.md").read_text() + "- [ ] T4 One more\n"
    repo.write("plan.md", edited)
    result = cli("run", "plan.md", *AGENT)
    assert result.code == 0, result.err
    assert [task for task in ("T1", "T3", "T4") if _did(repo).count(task) != 1] == []
    assert (repo.path / "plan.md").read_text() == edited.replace("[ ]", "[x]")


def test_a_failed_commit_is_recovered_as_the_task_that_is_marked(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", PLAN)
    repo.commit("Add the plan")
    repo.write("plan.md", PLAN.replace("[ ] T2", "[x] T2"))
    repo.write("T2.txt", "done by another tool\n")
    result = cli("run", "plan.md", *AGENT)
    assert result.code == 0, result.err
    assert _did(repo) == ["T1", "T3"]
    trailers = repo.git("log", "--reverse", "--format=%(trailers:key=Holdfast-Task,valueonly,separator=%x2C)")
    assert trailers.split() == ["T2", "T1", "T3"]


def test_an_agent_that_commits_itself_is_held_to_its_own_mark(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", PLAN)
    repo.commit("Add the plan")
    agent = (
        'sed -i "s/\\[ \\] $HOLDFAST_TASK_ID /[x] $HOLDFAST_TASK_ID /" plan.md; '
        'echo "$HOLDFAST_TASK_ID" >> did; git add -A; git commit -qm "$HOLDFAST_TASK_ID"; '
        'echo "<SUCCESS>done</SUCCESS>"'
    )
    result = cli("run", "plan.md", "--commits", "agent", "--agent-cmd", agent, "--max-attempts", "1")
    assert result.code == 0, result.err
    assert _did(repo) == ["T1", "T2", "T3"]


@pytest.mark.parametrize("ignore", ["", ".auto-claude/\n"])
def test_the_tools_own_files_tell_them_apart(repo: Repo, cli: Cli, ignore: str) -> None:
    repo.write(".gitignore", ignore)
    items = [{"id": name, "description": "Write tests", "status": "pending"} for name in "abc"]
    repo.write(f"{SPEC}/implementation_plan.json", json.dumps({"phases": [{"phase": 1, "subtasks": items}]}))
    repo.commit("Add the spec")
    for words in (("--only", "a"), ("--only", "b"), ()):
        assert cli("run", "001", *AGENT, *words).code == 0
    assert _did(repo) == ["a", "b", "c"]
    told = json.loads((Path(repo.path) / SPEC / "memory/build_commits.json").read_bytes())["commits"]
    log = repo.git("log", "--reverse", "--format=%H %(trailers:key=Holdfast-Task,valueonly,separator=%x2C)")
    landed = [row.split() for row in log.splitlines() if len(row.split()) == 2]
    assert [[row["hash"], row["subtask_id"]] for row in told] == landed


def test_ids_that_have_moved_on_stop_the_run_instead_of_guessing(repo: Repo, cli: Cli) -> None:
    repo.write(".gitignore", "plan.md\n")
    repo.commit("Ignore the plan")
    repo.write("plan.md", "- [ ] Write tests\n- [ ] Write tests\n")
    assert cli("run", "plan.md", *AGENT, "--only", "1").code == 0
    repo.write("plan.md", "## A\n- [ ] Write tests\n## B\n- [ ] Write tests\n")
    result = cli("run", "plan.md", *AGENT)
    assert result.code == 2
    assert "plan.md:2" in result.err and "cannot be told" in result.err and "--force-new" in result.err
    assert _did(repo) == ["1"]


def test_side_by_side_each_has_its_own_commit(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", PLAN)
    repo.commit("Add the plan")
    agent = 'echo x > "$HOLDFAST_TASK_ID.txt"'
    words = ("run", "plan.md", "--worktree", "-j", "3", "--agent-cmd", agent)
    assert cli(*words, env={"HOLDFAST_FAULT": "commit.after@2"}).code == -9
    result = cli(*words)
    assert result.code == 0, result.err
    trailers = "--format=%(trailers:key=Holdfast-Task,valueonly,separator=%x2C)"
    assert sorted(repo.git("log", trailers, "main..holdfast/plan").split()) == ["T1", "T2", "T3"]
