"""`on_failure = continue`: a failed task blocks what depends on it, and the rest is done."""

import pytest

from scratch import Cli, Repo

PLAN = """\
- [ ] T001 First
- [ ] T002 Bad
- [ ] T003 After bad
  depends: T002
- [ ] T004 After that
  depends: T003
- [ ] T005 Independent
"""
AGENT = 'echo work > "$HOLDFAST_TASK_ID.txt"; test "$HOLDFAST_TASK_ID" != T002'
FLAGS = ("--agent-cmd", AGENT, "--max-attempts", "1", "--on-failure", "continue")


@pytest.fixture
def planned(repo: Repo) -> Repo:
    repo.write("plan.md", PLAN)
    repo.commit("Add the plan")
    return repo


def test_what_does_not_depend_on_it_is_done_and_the_exit_code_tells(planned: Repo, cli: Cli) -> None:
    result = cli("run", "plan.md", *FLAGS)
    assert result.code == 1
    assert "task T002 failed; blocked by that: T003, T004" in result.err
    assert "holdfast retry T002" in result.err
    assert _landed(planned) == ["T001", "T005"]
    assert planned.git("status", "--porcelain") == ""
    assert _rescued(planned, "T002.txt") == "work\n"


def test_a_run_again_tries_it_again(planned: Repo, cli: Cli) -> None:
    assert cli("run", "plan.md", *FLAGS).code == 1
    mended = ("--agent-cmd", AGENT.replace("T002", "none"), *FLAGS[2:])
    assert cli("run", "plan.md", *mended).code == 0
    assert _landed(planned) == ["T001", "T005", "T002", "T003", "T004"]


@pytest.mark.parametrize("point", ["restore.before@1", "restore.after@1", "flight.removed@2"])
def test_killed_while_it_is_passed_over_the_rest_is_still_done(planned: Repo, cli: Cli, point: str) -> None:
    assert cli("run", "plan.md", *FLAGS, env={"HOLDFAST_FAULT": point}).code == -9
    assert cli("run", "plan.md", *FLAGS).code == 1
    assert _landed(planned) == ["T001", "T005"]
    assert planned.git("status", "--porcelain") == ""


def test_a_critical_failure_ends_the_run(planned: Repo, cli: Cli) -> None:
    planned.write("plan.md", PLAN.replace("T002 Bad\n", "T002 Bad\n  critical: true\n"))
    planned.commit("It matters")
    result = cli("run", "plan.md", *FLAGS)
    assert result.code == 1
    assert "critical task T002 failed" in result.err
    assert _landed(planned) == ["T001"]


def _landed(repo: Repo) -> list[str]:
    trailers = repo.git("log", "--reverse", "--format=%(trailers:key=Holdfast-Task,valueonly,separator=%x2C)")
    return trailers.split()


def _rescued(repo: Repo, path: str) -> str:
    refs = repo.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue").split()
    return "".join(repo.git("show", f"{ref}:work/{path}") + "\n" for ref in refs)
