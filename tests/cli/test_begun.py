"""Whether a plan was begun before: what `--resume` demands, and what a run says first."""

import pytest

from scratch import Cli, Repo

EPIC = "name: Shop\ntickets:\n  - {id: a, title: Add the parser}\n  - {id: b, title: Add the prices}\n"
STATE = "epics/shop/artifacts/epic-state.json"
AGENT = ("--agent-cmd", 'echo "$HOLDFAST_TASK_ID" > "$HOLDFAST_TASK_ID.txt"')
RUN = ("run", "epics/shop", *AGENT)


@pytest.fixture
def shop(repo: Repo) -> Repo:
    repo.write("epics/shop/shop.epic.yaml", EPIC)
    for ticket in "ab":
        repo.write(f"epics/shop/tickets/{ticket}.md", f"Do {ticket}.\n")
    repo.commit("Add the epic")
    return repo


def test_a_run_says_whether_it_begins_an_epic_or_resumes_it_and_how_it_stands(shop: Repo, cli: Cli) -> None:
    first = cli(*RUN, "--only", "a")
    assert "Starting new epic execution: shop" in first.out
    second = cli(*RUN)
    assert f"Resuming epic from state file: {STATE} (completed: 1, pending: 1, failed: 0)" in second.out
    third = cli(*RUN)
    assert third.code == 0
    assert "(completed: 2, pending: 0, failed: 0)" in third.out
    assert "All tasks are already complete" in third.out


def test_resume_is_refused_with_the_state_file_that_is_missing(shop: Repo, cli: Cli) -> None:
    refused = cli(*RUN, "--resume")
    assert refused.code == 2
    assert f"Resume requested but no state file found: {STATE}" in refused.err
    assert "Did you mean to start a new epic execution?" in refused.err
    assert cli(*RUN, "--only", "a").code == 0
    assert cli(*RUN, "--resume").code == 0


def test_a_first_ticket_in_flight_can_be_resumed_before_there_is_a_state_file(shop: Repo, cli: Cli) -> None:
    assert cli(*RUN, env={"HOLDFAST_FAULT": "agent.after"}).code == -9
    assert not (shop.path / STATE).exists()
    resumed = cli(*RUN, "--resume")
    assert resumed.code == 0, resumed.err
    assert "Resuming epic: shop (completed: 0, pending: 2, failed: 0)" in resumed.out


def test_auto_continue_says_so_where_there_is_something_to_go_on_with(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", "- [ ] One\n- [ ] Two\n")
    words = ("run", "plan.md", *AGENT, "--auto-continue", "--non-interactive")
    begun = cli(*words, "--only", "1")
    assert begun.code == 0, begun.err
    assert "Auto-continue" not in begun.out
    went_on = cli(*words)
    assert went_on.code == 0, went_on.err
    assert "Auto-continue: Resuming existing build..." in went_on.out
