"""What users of epics rely on when a run is interrupted, by the names they know it: each ticket in a tree and
on a branch of its own, the state file true, and nothing half built taken for finished."""

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from scratch import HOLDFAST, Cli, Repo, Result

EPIC = """\
name: Shop
tickets:
  - {id: first, title: First}
  - {id: second, title: Second, depends_on: [first]}
  - {id: third, title: Third, depends_on: [second]}
"""
STATE = "epics/shop/artifacts/epic-state.json"
WRITE = 'echo "$HOLDFAST_TASK_ID" > "$HOLDFAST_TASK_ID.txt"'
TICKETS = ["first", "second", "third"]


class Epic:
    def __init__(self, repo: Repo, cli: Cli) -> None:
        self.repo, self.cli = repo, cli
        self.trees = repo.path.with_name(f"{repo.path.name}-worktrees")

    def run(self, *options: str, agent: str = WRITE, **env: str) -> Result:
        return self.cli("run", "epics/shop", "--worktree", "--agent-cmd", agent, *options, env=env)

    def killed(self, point: str, agent: str = WRITE) -> None:
        result = self.run(agent=agent, HOLDFAST_FAULT=point)
        assert result.code == -9, result.out + result.err

    def tickets(self) -> list[str]:
        trailer = "--format=%(trailers:key=Ticket,valueonly,separator=%x2C)"
        return self.repo.git("log", "--reverse", trailer, "main..epic/shop").split()

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.repo.git("show", f"epic/shop:{STATE}"))
        return found

    def rescued(self) -> str:
        """Every path under rescue."""
        refs = self.repo.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue").split()
        return "\n".join(self.repo.git("ls-tree", "-r", "--name-only", ref) for ref in refs)

    def is_whole(self) -> None:
        assert self.tickets() == TICKETS
        assert self.state()["epic_state"] == "FINALIZED"
        assert {ticket["state"] for ticket in self.state()["tickets"].values()} == {"COMPLETED"}
        assert self.repo.git("for-each-ref", "refs/heads/ticket") == ""


@pytest.fixture
def epic(repo: Repo, cli: Cli) -> Epic:
    repo.write("epics/shop/shop.epic.yaml", EPIC)
    for ticket in TICKETS:
        repo.write(f"epics/shop/tickets/{ticket}.md", f"# {ticket}\n")
    repo.commit("Add the epic")
    return Epic(repo, cli)


def interrupted(epic: Epic, tmp_path: Path) -> Result:
    """Ctrl-C while the second ticket is built."""
    agent = f'{WRITE}; test "$HOLDFAST_TASK_ID" != second || {{ touch "{tmp_path}/there"; sleep 60; }}'
    command = (*HOLDFAST, "run", "epics/shop", "--worktree", "--agent-cmd", agent)
    process = subprocess.Popen(
        command, cwd=epic.repo.path, env=epic.cli.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 90
    while not (tmp_path / "there").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return Result(process.returncode, out.decode(), err.decode())


# -- user scenarios --------------------------------------------------------------------------------------


def test_scenario_1_interrupted_mid_ticket(epic: Epic, tmp_path: Path) -> None:
    assert interrupted(epic, tmp_path).code == 130
    clean = 'test "$HOLDFAST_TASK_ID" != second || test ! -e second.txt || exit 1'
    result = epic.run(agent=f"{clean}; {WRITE}")
    assert result.code == 0, result.err
    assert "Resuming epic" in result.out and "(completed: 1, pending: 2, failed: 0)" in result.out
    assert "kept under rescue, begins the task again" in result.out
    assert "work/second.txt" in epic.rescued()
    epic.is_whole()


def test_scenario_2_clean_restart_after_completion(epic: Epic) -> None:
    assert epic.run().code == 0
    before = epic.repo.git("for-each-ref")
    result = epic.run()
    assert result.code == 0
    assert "(completed: 3, pending: 0, failed: 0)" in result.out
    assert epic.repo.git("for-each-ref") == before


def test_scenario_3_failed_ticket_retry(epic: Epic) -> None:
    fails = f'test "$HOLDFAST_TASK_ID" != second || exit 1; {WRITE}'
    assert epic.run(agent=fails).code == 1
    assert epic.state()["tickets"]["second"]["state"] == "FAILED"
    assert epic.state()["tickets"]["third"]["state"] == "BLOCKED"
    again = epic.run()
    assert again.code == 1
    assert "(completed: 1, pending: 1, failed: 1)" in again.out
    assert epic.cli("retry", "second", "--plan", "epics/shop").code == 0
    assert epic.run().code == 0
    epic.is_whole()


# -- edge cases ------------------------------------------------------------------------------------------


def test_edge_case_1_state_file_corrupted(epic: Epic) -> None:
    assert epic.run("--only", "first").code == 0
    tree = epic.trees / "shop"
    (tree / STATE).write_text('{"schema_version": 1, "tick')
    epic.repo.git("-C", str(tree), "commit", "-qam", "Damage it")
    result = epic.run()
    assert result.code == 2
    assert "epic-state.json" in result.err and "--force-new" in result.err


def test_edge_case_2_git_branch_deleted_externally(epic: Epic) -> None:
    """Of a ticket that is done: its commit is on the epic's branch, so nothing is missing."""
    assert epic.run("--only", "first").code == 0
    assert epic.repo.git("for-each-ref", "refs/heads/ticket") == ""
    assert epic.run().code == 0
    epic.is_whole()


def test_edge_case_3_multiple_in_progress_tickets(epic: Epic) -> None:
    assert epic.run("--only", "first").code == 0
    tree = epic.trees / "shop"
    state = json.loads((tree / STATE).read_text())
    for ticket in ("second", "third"):
        state["tickets"][ticket]["state"] = "IN_PROGRESS"
    (tree / STATE).write_text(json.dumps(state, indent=2))
    epic.repo.git("-C", str(tree), "commit", "-qam", "Two at once")
    result = epic.run()
    assert result.code == 2
    assert "second" in result.err and "third" in result.err


def test_edge_case_4_working_directory_on_wrong_branch(epic: Epic) -> None:
    """The user's checkout may be on whatever branch: the run has trees of its own."""
    assert epic.run("--only", "first").code == 0
    epic.repo.git("switch", "-q", "-c", "elsewhere")
    assert epic.run().code == 0
    epic.is_whole()
    assert epic.repo.git("rev-parse", "--abbrev-ref", "HEAD") == "elsewhere"


def test_edge_case_5_partial_commit_on_ticket_branch(epic: Epic) -> None:
    half = 'test "$HOLDFAST_TASK_ID" = first || { echo half > half.txt; git add -A; git commit -qm partial; }'
    epic.killed("agent.after@2", agent=f"{WRITE}; {half}")
    result = epic.run(agent=f"test ! -e half.txt || exit 1; {WRITE}")
    assert result.code == 0, result.err
    epic.is_whole()
    refs = epic.repo.git("for-each-ref", "--format=%(subject)", "refs/holdfast/rescue")
    assert "partial" in refs


# -- integration tests -----------------------------------------------------------------------------------


def test_resume_after_interrupt(epic: Epic, tmp_path: Path) -> None:
    assert interrupted(epic, tmp_path).code == 130
    assert epic.run("--resume").code == 0
    epic.is_whole()


def test_resume_with_uncommitted_changes(epic: Epic) -> None:
    epic.killed("agent.after@2", agent=f"{WRITE}; echo half > half.txt")
    result = epic.run(agent=f"test -e first.txt || test ! -e half.txt || exit 1; {WRITE}")
    assert result.code == 0, result.err
    assert "work/half.txt" in epic.rescued()
    epic.is_whole()


def test_resume_with_partial_commits(epic: Epic) -> None:
    half = 'test "$HOLDFAST_TASK_ID" = first || { echo half > half.txt; git add -A; git commit -qm partial; }'
    epic.killed("agent.after@2", agent=f"{WRITE}; {half}")
    result = epic.run(agent=f"test ! -e half.txt || exit 1; {WRITE}")
    assert result.code == 0, result.err
    assert "partial" in epic.repo.git("for-each-ref", "--format=%(subject)", "refs/holdfast/rescue")
    epic.is_whole()


def test_resume_idempotency(epic: Epic) -> None:
    epic.killed("agent.after@2")
    epic.killed("restore.after")
    assert epic.run().code == 0
    epic.is_whole()
    before = epic.repo.git("for-each-ref")
    assert epic.run().code == 0
    assert epic.repo.git("for-each-ref") == before


def test_force_new_archives_state(epic: Epic) -> None:
    assert epic.run().code == 0
    result = epic.run("--force-new", agent=f"{WRITE}; date +%N >> again.txt")
    assert result.code == 0, result.err
    names = epic.repo.git("ls-tree", "--name-only", "epic/shop", "epics/shop/artifacts/").split()
    assert len(names) == 2 and any(name != STATE for name in names)
    assert epic.state()["epic_state"] == "FINALIZED"


def test_resume_validation_errors(epic: Epic) -> None:
    """A state file that git ignores has outlived the epic's branch: every contradiction at once."""
    epic.repo.write(".gitignore", "artifacts/\n")
    epic.repo.commit("Ignore the state")
    assert epic.run().code == 0
    state = (epic.trees / "shop" / STATE).read_bytes()
    for tree in sorted(epic.trees.iterdir()):
        epic.repo.git("worktree", "remove", "--force", str(tree))
    epic.repo.git("branch", "-q", "-D", "epic/shop")
    epic.repo.write(STATE, state)
    result = epic.run()
    assert result.code == 3, result.out
    assert all(ticket in result.err for ticket in TICKETS)


# -- unit tests of the state file, on the command line ---------------------------------------------------


def test_load_state_valid(epic: Epic) -> None:
    assert epic.run("--only", "first").code == 0
    status = json.loads(epic.cli("status", "epics/shop", "--json").out)
    assert (status["tasks"][0]["id"], status["tasks"][0]["status"]) == ("first", "completed")


def _with_state(epic: Epic, change: str) -> Result:
    assert epic.run("--only", "first").code == 0
    tree = epic.trees / "shop"
    (tree / STATE).write_text(change.replace("STATE", (tree / STATE).read_text()))
    epic.repo.git("-C", str(tree), "commit", "-qam", "Change the state")
    return epic.run()


def test_load_state_corrupted(epic: Epic) -> None:
    result = _with_state(epic, '{"schema_version"')
    assert result.code == 2 and "epic-state.json" in result.err


def test_load_state_wrong_version(epic: Epic) -> None:
    result = _with_state(epic, '{"schema_version": 0, "tickets": {}}')
    assert result.code == 2
    assert "0" in result.err and "1" in result.err and "epic-state.json" in result.err


def test_validate_git_state_missing_branch(epic: Epic) -> None:
    assert epic.run("--only", "first").code == 0
    tree = epic.trees / "shop"
    text = (tree / STATE).read_text().replace('"epic/shop"', '"epic/gone"')
    (tree / STATE).write_text(text)
    epic.repo.git("-C", str(tree), "commit", "-qam", "Another branch")
    result = epic.run()
    assert result.code == 3
    assert "epic/gone" in result.err


def test_validate_git_state_missing_commit(epic: Epic) -> None:
    assert epic.run("--until", "second").code == 0
    tree = epic.trees / "shop"
    state = json.loads((tree / STATE).read_text())
    state["tickets"]["first"]["git_info"]["final_commit"] = "1" * 40
    (tree / STATE).write_text(json.dumps(state, indent=2))
    epic.repo.git("-C", str(tree), "commit", "-qam", "Another commit")
    result = epic.run()
    assert result.code == 3
    assert "first" in result.err and "1" * 12 in result.err


def test_handle_partial_ticket_clean(epic: Epic) -> None:
    epic.killed("agent.before@2")
    assert epic.run().code == 0
    epic.is_whole()


def test_handle_partial_ticket_dirty(epic: Epic) -> None:
    epic.killed("agent.after@2")
    assert epic.run().code == 0
    assert "work/second.txt" in epic.rescued()
    epic.is_whole()


def test_handle_partial_ticket_partial_commits(epic: Epic) -> None:
    half = 'test "$HOLDFAST_TASK_ID" = first || '
    half += "{ git add -A; git commit -qm one; date > two.txt; git add -A; git commit -qm two; }"
    epic.killed("agent.after@2", agent=f"{WRITE}; {half}")
    assert epic.run(agent=f"test ! -e two.txt || exit 1; {WRITE}").code == 0
    epic.is_whole()
