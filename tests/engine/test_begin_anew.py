"""`--force-new` begins a plan again; `--resume` refuses to begin one."""

import pytest

from scratch import Cli, Repo

AGENT = ("--agent-cmd", 'echo "$HOLDFAST_TASK_ID" >> work.txt')
PLAN = "# Plan\n\n- [ ] One\n- [ ] Two\n"


@pytest.mark.parametrize("ignored", [False, True])
def test_every_task_is_done_again_and_the_old_commits_stay(repo: Repo, cli: Cli, ignored: bool) -> None:
    repo.write(".gitignore", "plan.md\n" if ignored else "")
    repo.commit("Ignore or not")
    repo.write("plan.md", PLAN)
    assert cli("run", "plan.md", *AGENT).code == 0
    result = cli("run", "plan.md", *AGENT, "--force-new")
    assert result.code == 0, result.err
    assert (repo.path / "work.txt").read_text() == "1.1\n1.2\n1.1\n1.2\n"
    assert "- [x] One\n- [x] Two" in (repo.path / "plan.md").read_text()
    assert "[holdfast] Start plan anew" in repo.git("log", "--format=%s")
    assert cli("run", "plan.md", *AGENT).code == 0
    assert len((repo.path / "work.txt").read_text().split()) == 4


def test_it_says_that_the_same_command_would_begin_again(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", "- [ ] One\n")
    repo.commit("Add the plan")
    assert "from here on run without --force-new" in cli("run", "plan.md", *AGENT, "--force-new").out


def test_partial_work_is_kept_under_rescue(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", PLAN)
    repo.commit("Add the plan")
    assert cli("run", "plan.md", *AGENT, env={"HOLDFAST_FAULT": "agent.after@2"}).code == -9
    assert cli("run", "plan.md", *AGENT, "--force-new").code == 0
    (ref,) = repo.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue").split()
    assert repo.git("show", f"{ref}:work/work.txt") == "1.1\n1.2"
    assert (repo.path / "work.txt").read_text() == "1.1\n1.1\n1.2\n"


def test_resume_needs_something_to_resume(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", PLAN)
    repo.commit("Add the plan")
    refused = cli("run", "plan.md", *AGENT, "--resume")
    assert refused.code == 2
    assert "nothing has been done for plan.md yet" in refused.err
    assert cli("run", "plan.md", *AGENT, "--only", "1.1").code == 0
    assert cli("run", "plan.md", *AGENT, "--resume").code == 0


def test_the_two_contradict_each_other(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", PLAN)
    assert cli("run", "plan.md", *AGENT, "--resume", "--force-new").code == 2
    assert cli("run", "plan.md", *AGENT, "--dry-run", "--force-new").code == 2
    assert (repo.path / "plan.md").read_text() == PLAN
