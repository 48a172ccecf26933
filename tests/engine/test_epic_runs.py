"""Epics run for real: one commit per ticket, the state file in it or behind it, whatever dies or fails."""

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from epic_shape import state_in
from scratch import HOLDFAST, Cli, Repo, Result

EPIC = """\
name: Shop
tickets:
  - {id: a, title: Add the parser}
  - {id: b, title: Add the prices, depends_on: [a]}
  - {id: c, title: Add the taxes, depends_on: [a]}
  - {id: d, title: Add the total, depends_on: [b, c]}
"""
STATE = "epics/shop/artifacts/epic-state.json"
AGENT = 'echo "$HOLDFAST_TASK_ID" >> "$HOLDFAST_TASK_ID.txt"; test "$HOLDFAST_TASK_ID" != "$BAD"'
POINTS = ["flight.durable", "agent.after", "sealed", "candidate.after", "commit.after"]


@pytest.fixture(params=["tracked", "ignored"])
def shop(request: pytest.FixtureRequest, repo: Repo) -> Repo:
    if request.param == "ignored":
        repo.write(".gitignore", "artifacts/\n")
    return _shop(repo, EPIC)


def test_an_epic_runs_to_its_end_in_the_order_of_its_dependencies(shop: Repo, cli: Cli) -> None:
    _finished(shop, _run(cli))
    again = shop.git("rev-parse", "HEAD"), (shop.path / STATE).read_bytes()
    assert _run(cli).code == 0
    assert again == (shop.git("rev-parse", "HEAD"), (shop.path / STATE).read_bytes())


@pytest.mark.parametrize("point", POINTS)
def test_killed_anywhere_an_epic_goes_on(shop: Repo, cli: Cli, point: str) -> None:
    assert _run(cli, HOLDFAST_FAULT=f"{point}@2").code == -9
    _finished(shop, _run(cli))


def test_a_commit_between_two_tickets_does_not_hide_the_first_ones(repo: Repo, cli: Cli) -> None:
    shop = _shop(repo, EPIC)
    assert _run(cli, "--only", "a").code == 0
    shop.commit("Something else")
    assert _run(cli, "--only", "b").code == 0
    tickets = _told(shop)["tickets"]
    assert tickets["a"]["git_info"]["final_commit"] == _commits(shop)["a"]
    assert tickets["b"]["git_info"]["final_commit"] is None


def test_a_failed_ticket_blocks_its_dependents_until_a_retry_works_out(repo: Repo, cli: Cli) -> None:
    shop = _shop(repo, EPIC)
    result = _run(cli, BAD="b")
    assert result.code == 1
    assert "task b failed; blocked by that: d" in result.err
    told = _told(shop)
    assert {name: ticket["state"] for name, ticket in told["tickets"].items()} == {
        "a": "COMPLETED",
        "b": "FAILED",
        "c": "COMPLETED",
        "d": "BLOCKED",
    }
    assert told["tickets"]["d"]["blocking_dependency"] == "b"
    assert told["epic_state"] == "FAILED"
    nothing = "nothing: b failed. Try again with: holdfast retry b\n"
    assert f"would run {nothing}" in _run(cli, "--dry-run").out
    assert cli("plan", "check", "epics/shop").out.endswith(f"next          {nothing}")
    assert cli("plan", "next", "epics/shop").out == nothing.replace("nothing", "nothing is next")
    status = cli("status", "epics/shop").out
    assert "try again: holdfast retry b, then holdfast run epics/shop/shop.epic.yaml\n" in status
    assert status.endswith("no task is ready: what is left failed, or waits for what did\n")
    assert cli("retry", "b", "--plan", "epics/shop").code == 0
    assert "would run b: Add the prices\nwould run d: Add the total\n" in _run(cli, "--dry-run").out
    _finished(shop, _run(cli))


def test_a_critical_failure_takes_back_what_the_epic_did(repo: Repo, cli: Cli) -> None:
    shop = _shop(repo, EPIC.replace("title: Add the taxes,", "title: Add the taxes, critical: true,"))
    begun_with = shop.git("ls-tree", "-r", "--name-only", "HEAD")
    result = _run(cli, BAD="c")
    assert result.code == 1
    assert "critical task c failed" in result.err
    assert _told(shop)["epic_state"] == "ROLLED_BACK"
    assert {ticket["state"] for ticket in _told(shop)["tickets"].values()} == {
        "READY",
        "FAILED",
        "BLOCKED",
        "PENDING",
    }
    assert set(shop.git("ls-tree", "-r", "--name-only", "HEAD").split()) == {*begun_with.split(), STATE}
    assert _run(cli, "--force-new").code == 0
    assert _told(shop)["epic_state"] == "FINALIZED"


@pytest.mark.parametrize("state", ['{"status": "completed", "tickets": {}}', '{"schema_version": 1, "tick'])
def test_a_state_file_that_cannot_be_read_is_archived_when_asked_and_not_before(
    shop: Repo, cli: Cli, state: str
) -> None:
    shop.write(STATE, state)
    shop.commit("As it was left")
    refused = _run(cli)
    assert refused.code == 2
    assert "--force-new" in refused.err
    assert (shop.path / STATE).read_text() == state
    _finished(shop, _run(cli, "--force-new"))
    archived = [path for path in (shop.path / STATE).parent.iterdir() if path.name != "epic-state.json"]
    assert [path.read_text() for path in archived] == [state]


def test_a_ticket_that_a_dead_run_of_the_tool_left_at_work_begins_again(repo: Repo, cli: Cli) -> None:
    shop = _shop(repo, EPIC)
    assert _run(cli, "--only", "a").code == 0
    told = _told(shop)
    told["tickets"]["b"] |= {"state": "IN_PROGRESS", "started_at": "2026-03-01T09:00:00Z"}
    shop.write(STATE, json.dumps(told, indent=2))
    shop.commit("As the tool left it")
    _finished(shop, _run(cli))


def test_skip_and_reset_are_told_in_the_state_file(repo: Repo, cli: Cli) -> None:
    shop = _shop(repo, EPIC)
    assert cli("skip", "c", "--plan", "epics/shop").code == 0
    assert _told(shop)["tickets"]["c"]["failure_reason"] == "skipped by hand"
    assert _run(cli).code == 0
    assert _told(shop)["epic_state"] == "FINALIZED"
    assert not (shop.path / "c.txt").exists()
    assert cli("reset", "c", "--plan", "epics/shop").code == 0
    _finished(shop, _run(cli))


def test_a_failed_ticket_is_reported_again_and_not_tried_unasked_and_force_new_begins_again(
    shop: Repo, cli: Cli
) -> None:
    assert _run(cli, BAD="b").code == 1
    before = shop.git("rev-parse", "HEAD")
    again = _run(cli)
    assert again.code == 1
    assert "(completed: 2, pending: 1, failed: 1)" in again.out
    assert "task b failed; blocked by that: d" in again.err
    assert shop.git("rev-parse", "HEAD") == before
    anew = _run(cli, "--force-new")
    assert anew.code == 0, anew.err
    (archive,) = (shop.path / STATE).parent.glob("epic-state.*.json")
    assert f"Archived existing state: epics/shop/artifacts/{archive.name}" in anew.out
    assert state_in(archive.read_bytes())["tickets"]["b"]["state"] == "FAILED"
    assert {ticket["state"] for ticket in _told(shop)["tickets"].values()} == {"COMPLETED"}


def test_ctrl_c_in_the_middle_of_a_ticket_then_the_same_command_builds_it_from_its_start(
    shop: Repo, cli: Cli, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    waits = f"echo half > half.txt; touch {ready}; sleep 100"
    command = (*HOLDFAST, "run", "epics/shop", "--agent-cmd", waits)
    process = subprocess.Popen(command, cwd=shop.path, env=shop.env, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not ready.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    again = _run(cli)
    assert "found 1 changed file of an interrupted attempt; kept under rescue" in again.out
    _finished(shop, again)
    refs = shop.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue").split()
    assert {shop.git("show", f"{ref}:work/half.txt") for ref in refs} == {"half"}
    assert shop.git("stash", "list") == ""


def _shop(repo: Repo, epic: str) -> Repo:
    repo.write("epics/shop/shop.epic.yaml", epic)
    for ticket in "abcd":
        repo.write(f"epics/shop/tickets/{ticket}.md", f"Do {ticket}.\n")
    repo.commit("Add the epic")
    return repo


def _run(cli: Cli, *words: str, BAD: str = "none", **env: str) -> Result:
    return cli("run", "epics/shop", "--agent-cmd", AGENT, *words, env={"BAD": BAD, **env})


def _told(repo: Repo) -> dict[str, Any]:
    return state_in((repo.path / STATE).read_bytes())


def _finished(repo: Repo, result: Result) -> None:
    assert result.code == 0, result.err
    commits = _commits(repo)
    assert sorted(commits) == list("abcd")
    assert [name for name in commits if name in "ad"] == ["a", "d"]
    told = _told(repo)
    assert told["epic_state"] == "FINALIZED"
    named = {name: ticket["git_info"]["final_commit"] for name, ticket in told["tickets"].items()}
    assert named == commits
    for name, commit in commits.items():
        changed = repo.git("show", "--name-only", "--format=", commit).split()
        assert set(changed) - {STATE} == {f"{name}.txt"}
        assert (Path(repo.path) / f"{name}.txt").read_text() == f"{name}\n"
    assert repo.git("status", "--porcelain") == ""


def _commits(repo: Repo) -> dict[str, str]:
    """Ticket → its commit, oldest first, by the tool's own trailer."""
    log = repo.git("log", "--reverse", "--format=%(trailers:key=Ticket,valueonly,separator=%x2C) %H")
    rows = [line.split() for line in log.split("\n")]
    return {row[0]: row[1] for row in rows if len(row) == 2}


def test_a_state_file_that_contradicts_git_is_refused_with_every_contradiction(repo: Repo, cli: Cli) -> None:
    shop = _shop(repo, EPIC)
    start = shop.git("rev-parse", "HEAD")
    _finished(shop, _run(cli))
    done = (shop.path / STATE).read_bytes()
    shop.git("branch", "elsewhere")
    shop.git("reset", "--hard", start)
    lost = done.replace(shop.git("rev-parse", "elsewhere~3").encode(), b"1" * 40)
    shop.write(STATE, lost.decode())
    shop.commit("A state file from elsewhere")
    result = _run(cli)
    assert result.code == 3
    assert "1" * 40 in result.err and "does not exist" in result.err
    assert result.err.count("is done by commit") == 4
    assert "--force-new" in result.err
    assert (shop.path / STATE).read_bytes() == lost
