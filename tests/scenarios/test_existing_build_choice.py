"""On a terminal, a build that is there already is gone on with, reviewed, merged or begun afresh."""

import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from invariants import agent_starts
from scratch import HOLDFAST, Cli, Repo

SPEC = ".auto-claude/specs/001-shop"
BRANCH = "auto-claude/001-shop"
AGENT = 'echo "start $HOLDFAST_TASK_ID" >> "$LEDGER"; echo "$HOLDFAST_TASK_ID" > "$HOLDFAST_TASK_ID.txt"'
QUESTION = "What would you like to do? [1] "
PATIENCE = 60


class Shop:
    """A spec with two items; the first is built."""

    def __init__(self, repo: Repo, cli: Cli, ledger: Path) -> None:
        self.repo, self.ledger = repo, ledger
        self.env = {**cli.env, "HOLDFAST_MODE": "worktree", "LEDGER": str(ledger), "TERM": "dumb"}
        self.cli = Cli(cli.cwd, self.env)
        items = [{"id": f"s{n}", "description": f"Item {n}", "status": "pending"} for n in (1, 2)]
        plan = {"feature": "Shop", "phases": [{"id": "p1", "name": "All", "subtasks": items}]}
        repo.write(f"{SPEC}/implementation_plan.json", json.dumps(plan, indent=2))
        repo.commit("Add the spec")

    @property
    def command(self) -> tuple[str, ...]:
        return ("run", "001", "--agent-cmd", AGENT)

    @property
    def own(self) -> Path:
        return self.repo.path.with_name(f"{self.repo.path.name}-worktrees") / "001-shop"

    def begin(self) -> None:
        assert self.cli(*self.command, "--only", "s1").code == 0

    def at_terminal(self, *answers: str, more: Sequence[str] = ()) -> tuple[int, str]:
        """Each answer is typed when its question is there; what the terminal showed, and the exit code."""
        ours, theirs = pty.openpty()
        words = (*HOLDFAST, *self.command, *more)
        process = subprocess.Popen(
            words, cwd=self.repo.path, env=self.env, stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        try:
            said = _converse(ours, answers)
            return process.wait(timeout=PATIENCE), said
        finally:
            process.kill()
            os.close(ours)


def _converse(terminal: int, answers: Sequence[str]) -> str:
    said, left = "", list(answers)
    asked = 0
    while select.select([terminal], [], [], PATIENCE)[0]:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # how Linux tells that nobody has the other end any more
            break
        if not data:
            break
        said += data.decode("utf-8", "replace").replace("\r\n", "\n")
        questions = said.count(QUESTION) + said.count("discard this? [y/N] ")
        while asked < questions and left:
            os.write(terminal, f"{left.pop(0)}\n".encode())
            asked += 1
    return said


@pytest.fixture
def shop(repo: Repo, cli: Cli, tmp_path: Path) -> Shop:
    if not sys.platform.startswith("linux"):
        pytest.skip("terminals end differently elsewhere")
    return Shop(repo, cli, tmp_path / "ledger")


def test_scenario_1_planned_and_no_worktree_one_is_made_and_nothing_is_asked(shop: Shop) -> None:
    code, said = shop.at_terminal()
    assert code == 0, said
    assert QUESTION not in said
    assert (shop.own / "s2.txt").exists()
    assert agent_starts(shop.ledger) == {"s1": 1, "s2": 1}


def test_scenario_2_continue_resumes_in_the_worktree_at_the_first_item_that_is_not_done(shop: Shop) -> None:
    shop.begin()
    code, said = shop.at_terminal("")
    assert code == 0, said
    assert f"Found existing build: {BRANCH} in {shop.own}" in said
    for choice in (
        "Continue where it left off",
        "Review what was built",
        "Merge existing build",
        "Start fresh (discard)",
    ):
        assert choice in said
    assert agent_starts(shop.ledger) == {"s1": 1, "s2": 1}


def test_review_shows_the_build_and_asks_again(shop: Shop) -> None:
    shop.begin()
    code, said = shop.at_terminal("2", "1")
    assert code == 0, said
    assert said.count(QUESTION) == 2
    assert "commits: 1" in said
    assert agent_starts(shop.ledger) == {"s1": 1, "s2": 1}


def test_merge_lands_a_finished_build_and_runs_nothing(shop: Shop) -> None:
    assert shop.cli(*shop.command).code == 0
    code, said = shop.at_terminal("merge")
    assert code == 0, said
    assert f"merged {BRANCH} into main: fast-forward" in said
    assert (shop.repo.path / "s2.txt").exists()
    assert agent_starts(shop.ledger) == {"s1": 1, "s2": 1}


def test_merging_an_unfinished_build_is_refused_with_the_way_out(shop: Shop) -> None:
    shop.begin()
    code, said = shop.at_terminal("3")
    assert code == 3, said
    assert "--partial" in said


def test_start_fresh_discards_what_was_built_and_keeps_it_under_rescue(shop: Shop) -> None:
    shop.begin()
    built = shop.repo.git("rev-parse", BRANCH)
    code, said = shop.at_terminal("4", "y")
    assert code == 0, said
    assert agent_starts(shop.ledger) == {"s1": 2, "s2": 1}
    assert built in shop.repo.git("for-each-ref", "--format=%(objectname)", "refs/holdfast/rescue")


def test_start_fresh_can_still_be_declined(shop: Shop) -> None:
    shop.begin()
    refs = shop.repo.git("for-each-ref")
    code, said = shop.at_terminal("4", "n")
    assert code == 3, said
    assert "nothing was discarded" in said
    assert shop.repo.git("for-each-ref") == refs


def test_what_is_no_choice_is_asked_again(shop: Shop) -> None:
    shop.begin()
    code, said = shop.at_terminal("9", "x", "c")
    assert code == 0, said
    assert said.count("type a number from 1 to 4") == 2


def test_a_closed_terminal_chooses_nothing(shop: Shop) -> None:
    shop.begin()
    code, said = shop.at_terminal("\x04")
    assert code == 2, said
    assert "nothing was chosen, and nothing was done" in said
    assert agent_starts(shop.ledger) == {"s1": 1}


def test_auto_continue_goes_on_unasked_and_says_so(shop: Shop) -> None:
    shop.begin()
    code, said = shop.at_terminal(more=["--auto-continue"])
    assert code == 0, said
    assert QUESTION not in said
    assert "Auto-continue: Resuming existing build..." in said


def test_without_a_terminal_the_build_is_gone_on_with(shop: Shop) -> None:
    shop.begin()
    result = shop.cli(*shop.command)
    assert result.code == 0, result.err
    assert QUESTION not in result.out
    assert agent_starts(shop.ledger) == {"s1": 1, "s2": 1}


def test_a_setting_asks_for_any_plan_and_none_asks_for_a_spec(shop: Shop) -> None:
    shop.begin()
    shop.env["HOLDFAST_EXISTING_BUILD"] = "continue"
    code, said = shop.at_terminal()
    assert (code, QUESTION in said) == (0, False)


def test_scenario_4_a_crash_while_coding_is_offered_as_an_existing_build(shop: Shop) -> None:
    killed = shop.cli(*shop.command, env={"HOLDFAST_FAULT": "agent.after@2"})
    assert killed.code == -9
    code, said = shop.at_terminal("1")
    assert code == 0, said
    assert "goes on in place" in said
    assert (shop.own / "s2.txt").exists()
    assert len(shop.repo.git("rev-list", f"main..{BRANCH}").split()) >= 2
