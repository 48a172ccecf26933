"""A half-done plan of every dialect, run by the scripted agent, and what its own files must say at the end.

The files are read by what is known of each tool's format, not by the code that writes them.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from epic_shape import state_in
from scratch import HOLDFAST, Repo, Result, hermetic_environment, run, scratch_repo

SCRIPT = '[default]\nactions = [{ write = "work/{id}.txt", text = "{title}\\n" }]\n'


class Kind(NamedTuple):
    plan: str
    """What is given to `holdfast run`."""
    tasks: tuple[str, ...]
    """Those still to be done, in their order."""
    write: Callable[[Repo], None]
    agrees: Callable[[Repo, dict[str, str]], None]
    """Asserts that the files agree with git: task → its commit."""


class PlanScene(NamedTuple):
    root: Path
    kind: Kind

    @property
    def repo(self) -> Repo:
        return Repo(self.root / "repo", hermetic_environment(self.root / "home"))

    def run(self, **env: str) -> Result:
        script = ("--agent", "scripted", "--script", str(self.root / "script.toml"))
        command = (*HOLDFAST, "run", self.kind.plan, *script)
        return run(command, cwd=self.repo.path, env={**self.repo.env, **env}, timeout=90.0)

    def copy(self, root: Path) -> "PlanScene":
        shutil.copytree(self.root, root, symlinks=True)
        return self._replace(root=root)


def make(kind: str, root: Path) -> PlanScene:
    repo = scratch_repo(root / "repo", hermetic_environment(root / "home"))
    for sample in (repo.path / ".git/hooks").glob("*.sample"):
        sample.unlink()  # they only slow every copy down
    (root / "script.toml").write_text(SCRIPT)
    KINDS[kind].write(repo)
    repo.commit("Add the plan")
    return PlanScene(root, KINDS[kind])


# -- i2code ------------------------------------------------------------------------------------------

IDEA = "docs/ideas/active/shop/shop"
THREADS = """\
# Implementation Plan: Shop

## Steel Thread 1: Sell

- [x] **Task 1.1: Done before**
  - Steps:
    - [x] one
- [ ] **Task 1.2: Second**
  - Steps:
    - [ ] one
    - [ ] two
- [ ] **Task 1.3: Third**
"""


def _write_idea(repo: Repo) -> None:
    repo.write(f"{IDEA}-idea.md", "An idea\n")
    repo.write(f"{IDEA}-spec.md", "A specification\n")
    repo.write(f"{IDEA}-plan.md", THREADS)


def _idea_agrees(repo: Repo, commits: dict[str, str]) -> None:
    assert (repo.path / f"{IDEA}-plan.md").read_text() == THREADS.replace("[ ]", "[x]")


# -- Auto-Claude -------------------------------------------------------------------------------------

SPEC = ".auto-claude/specs/001-shop"


def _write_spec(repo: Repo) -> None:
    items = [
        ("one", "Done before", "completed"),
        ("two", "Second", "in_progress"),
        ("three", "Third", "failed"),
    ]
    subtasks = [{"id": name, "description": text, "status": status} for name, text, status in items]
    phases = [
        {"phase": 1, "name": "First", "subtasks": subtasks[:2]},
        {"phase": 2, "name": "Then", "depends_on": [1], "subtasks": subtasks[2:]},
    ]
    repo.write(f"{SPEC}/spec.md", "A specification\n")
    plan = {"feature": "Shop", "phases": phases, "status": "in_progress"}
    repo.write(f"{SPEC}/implementation_plan.json", json.dumps(plan, indent=4))
    history = {"subtasks": {}, "stuck_subtasks": [], "metadata": {"created_at": "2025"}}
    repo.write(f"{SPEC}/memory/attempt_history.json", json.dumps(history, indent=2))


def _write_ignored_spec(repo: Repo) -> None:
    repo.write(".gitignore", ".auto-claude/\n")
    _write_spec(repo)


def _spec_agrees(repo: Repo, commits: dict[str, str]) -> None:
    plan = _json(repo, f"{SPEC}/implementation_plan.json")
    items = [item for phase in plan["phases"] for item in phase["subtasks"]]
    assert [(item["id"], item["status"]) for item in items] == [
        (name, "completed") for name in ("one", "two", "three")
    ]
    built = _json(repo, f"{SPEC}/memory/build_commits.json")
    assert {row["subtask_id"]: row["hash"] for row in built["commits"]} == commits
    assert built["last_good_commit"] == commits["three"]
    history = _json(repo, f"{SPEC}/memory/attempt_history.json")["subtasks"]
    for task in commits:
        assert history[task]["status"] == "completed"
        assert history[task]["attempts"][-1]["success"] is True


# -- rafa --------------------------------------------------------------------------------------------

CART = ".rafa/plans/aB3dE9-cart"


def _write_rafa(repo: Repo) -> None:
    rows = [
        ("t01", "Done before", "completed", 1),
        ("t02", "Second", "in_progress", 1),
        ("t03", "Third", "pending", 0),
    ]
    tasks = [{"id": i, "title": t, "status": s, "attempts": n} for i, t, s, n in rows]
    plan = {"id": "aB3dE9", "name": "cart", "status": "in_progress", "tasks": tasks}
    repo.write(f"{CART}/plan.json", json.dumps(plan, indent=2))
    started = {"timestamp": "2026-01-02T03:04:05Z", "event": "plan_started", "data": {"plan_id": "aB3dE9"}}
    repo.write(f"{CART}/progress.log", json.dumps(started) + "\n")


def _rafa_agrees(repo: Repo, commits: dict[str, str]) -> None:
    plan = _json(repo, f"{CART}/plan.json")
    assert plan["status"] == "completed"
    assert [task["status"] for task in plan["tasks"]] == ["completed"] * 3
    assert all(task["attempts"] >= 1 for task in plan["tasks"])
    log = [json.loads(line) for line in (repo.path / f"{CART}/progress.log").read_text().splitlines()]
    done = [row["data"]["task_id"] for row in log if row["event"] == "task_completed"]
    assert done == ["t02", "t03"]
    assert log[-1]["event"] == "plan_completed"
    assert log[-1]["data"]["total_tasks"] == 3


# -- buildspec ---------------------------------------------------------------------------------------

EPIC = """\
name: Shop
tickets:
  - {id: first, title: First}
  - {id: second, title: Second, depends_on: [first]}
"""
STATE = "epics/shop/artifacts/epic-state.json"


def _write_epic(repo: Repo) -> None:
    repo.write("epics/shop/shop.epic.yaml", EPIC)
    for ticket in ("first", "second"):
        repo.write(f"epics/shop/tickets/{ticket}.md", f"# {ticket}\n")


def _write_epic_with_ignored_state(repo: Repo) -> None:
    repo.write(".gitignore", "artifacts/\n")
    _write_epic(repo)


def _epic_agrees(repo: Repo, commits: dict[str, str]) -> None:
    state = state_in((repo.path / STATE).read_bytes())
    assert state["epic_state"] == "FINALIZED"
    assert {name: ticket["state"] for name, ticket in state["tickets"].items()} == dict.fromkeys(
        commits, "COMPLETED"
    )
    assert {n: ticket["git_info"]["final_commit"] for n, ticket in state["tickets"].items()} == commits


def _json(repo: Repo, path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((repo.path / path).read_bytes())
    return found


KINDS = {
    "i2code": Kind("docs/ideas/active/shop", ("1.2", "1.3"), _write_idea, _idea_agrees),
    "auto-claude": Kind(SPEC, ("two", "three"), _write_spec, _spec_agrees),
    "auto-claude, ignored": Kind(SPEC, ("two", "three"), _write_ignored_spec, _spec_agrees),
    "rafa": Kind(CART, ("t02", "t03"), _write_rafa, _rafa_agrees),
    "buildspec": Kind("epics/shop", ("first", "second"), _write_epic, _epic_agrees),
    "buildspec, ignored": Kind(
        "epics/shop", ("first", "second"), _write_epic_with_ignored_state, _epic_agrees
    ),
}
