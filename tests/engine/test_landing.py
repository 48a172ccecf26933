"""Landing takes much for granted, because it has just sealed the commit; here it must not."""

import os

from invariants import AGENT
from scratch import Cli, Repo

TWO = "# Plan\n\n- [ ] T1 First\n- [ ] T2 Second\n"


def run(cli: Cli, agent: str = AGENT) -> None:
    result = cli("run", "plan.md", "--trunk", "--agent-cmd", agent, env={"LEDGER": os.devnull})
    assert result.code == 0, result.err


def begin(repo: Repo) -> None:
    repo.write("plan.md", TWO)
    repo.commit("Add the plan")


def test_what_a_message_hook_stages_is_neither_committed_nor_left_in_the_users_index(
    repo: Repo, cli: Cli
) -> None:
    begin(repo)
    hook = repo.write(".git/hooks/commit-msg", "#!/bin/sh\ngit update-index --force-remove README.md\n")
    hook.chmod(0o755)
    run(cli)
    assert repo.git("status", "--porcelain") == ""
    assert "README.md" in repo.git("ls-tree", "--name-only", "HEAD").split()


def test_an_executable_plan_stays_executable(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", TWO).chmod(0o755)
    repo.commit("Add the plan")
    run(cli)
    assert repo.git("ls-tree", "HEAD", "plan.md").startswith("100755 ")
    assert repo.git("status", "--porcelain") == ""


def test_helpers_that_the_agent_deleted_are_not_missed(repo: Repo, cli: Cli) -> None:
    begin(repo)
    forget = "git for-each-ref --format='delete %(refname)' refs/holdfast | git update-ref --stdin"
    run(cli, agent=f"{forget}; {AGENT}")
    assert repo.git("for-each-ref", "refs/holdfast") == ""
    assert repo.git("show", "HEAD:plan.md").count("[x]") == 2


def test_a_repository_whose_index_bears_no_checksum_ends_clean(repo: Repo, cli: Cli) -> None:
    """Git 2.40 and newer leave it out when told to; older ones do not know the setting."""
    repo.git("config", "index.skipHash", "true")
    begin(repo)
    run(cli)
    assert repo.git("status", "--porcelain") == ""
