"""`holdfast review`: what was built, and what to type next."""

import json
from pathlib import Path

import pytest

from built import PLAN, Built, make_built
from invariants import tree

REPORTING = """\
echo "$HOLDFAST_TASK_TITLE" > "$HOLDFAST_TASK_ID.txt"
echo "CRITERION 1: met: tried it"; echo "<SUCCESS>done</SUCCESS>"
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return make_built(tmp_path_factory.mktemp("finished"))


@pytest.fixture
def built(finished: Built, tmp_path: Path) -> Built:
    return finished.copy(tmp_path / "scene")


def test_commits_changes_and_next_commands_are_shown(built: Built) -> None:
    result = built("review", "plan.md")
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    assert lines[0] == "plan: 2 of 2 tasks done"
    assert lines[1] == f"branch holdfast/plan in {built.own}"
    start = built.git("merge-base", "main", "holdfast/plan")
    assert lines[2] == f"since {start[:10]}, where it left main"
    commit = built.git("rev-parse", "holdfast/plan")
    assert f"  {commit[:10]}  [holdfast] Complete task 1.2: Second thing" in lines
    assert "commits: 3" in lines
    assert any(line.endswith("+2     -0  src/log.txt") for line in lines)
    assert "look at it: git diff main...holdfast/plan" in lines
    assert "merge it:   holdfast merge plan.md" in lines
    assert "discard it: holdfast discard plan.md" in lines


def test_it_only_looks(built: Built) -> None:
    before = tree(built.repo), (built.repo.path / ".git/index").read_bytes(), built.git("for-each-ref")
    assert built("review").code == 0
    assert built("review", "--json").code == 0
    assert before == (
        tree(built.repo),
        (built.repo.path / ".git/index").read_bytes(),
        built.git("for-each-ref"),
    )


def test_for_programs(built: Built) -> None:
    (built.own / "half.txt").write_text("half\n")
    said = json.loads(built("review", "--json").out)
    assert (said["branch"], said["into"], said["merged"]) == ("holdfast/plan", "main", False)
    assert [commit["task"] for commit in said["commits"]] == ["", "1.1", "1.2"]
    assert {"path": "src/log.txt", "added": 2, "removed": 0} in said["files"]
    assert said["uncommitted"] == ["half.txt"]
    assert said["open"] == []
    assert {"purpose": "merge it", "command": "holdfast merge plan.md"} in said["next"]


def test_what_is_open_failed_or_not_committed_is_shown(built: Built) -> None:
    built.repo.write("plan.md", PLAN + "- [ ] Third thing\n- [ ] Fourth thing\n")
    assert built.run("--max-attempts", "1", agent="echo half > half.txt; exit 1").code == 1
    out = built("review").out
    assert "open: 2" in out
    assert "  ✗ 1.3: Third thing: " in out
    assert "  ○ 1.4: Fourth thing" in out
    assert "in the tree and in no commit: 1 file\n  half.txt" in out
    assert "holdfast merge plan.md --partial" in out
    assert "go on:      holdfast run plan.md" in out


@pytest.mark.parametrize("how", [(), ("--squash",)])
def test_a_merged_build_says_so(built: Built, how: tuple[str, ...]) -> None:
    assert built("merge", *how).code == 0
    assert "clean up: holdfast discard plan.md" in built("status").out
    out = built("review").out
    assert "merged into main" in out
    assert "merge it" not in out


def test_a_plan_run_in_place_is_shown_since_its_first_commit(built: Built) -> None:
    built.repo.write("other.md", PLAN)
    (built.repo.path / "plan.md").unlink()
    built.repo.commit("Other")
    assert built("run", "other.md", "--trunk", "--agent-cmd", 'echo 1 > "$HOLDFAST_TASK_ID"').code == 0
    out = built("review", "other.md", HOLDFAST_MODE="").out
    assert "commits: 2" in out
    assert "holdfast merge" not in out


def test_nothing_built_yet_is_said(built: Built) -> None:
    built.repo.write("other.md", PLAN)
    result = built("review", "other.md")
    assert (result.code, "nothing was built yet" in result.err) == (2, True)


def test_the_end_of_a_run_and_status_name_the_next_commands(built: Built) -> None:
    for said in (built.run().out, built("status").out):
        assert "review it: holdfast review plan.md" in said
        assert "merge it:  holdfast merge plan.md   (holdfast/plan into main)" in said
    assert built("merge").code == 0
    assert "clean up: holdfast discard plan.md" in built("status").out
    assert built("discard", "--yes").code == 0
    assert built("status").out.rstrip().endswith("all done")


def test_criteria_are_shown_with_what_the_agent_said(built: Built) -> None:
    built.repo.write("plan.md", PLAN + "- [ ] Third thing\n  Acceptance:\n  - it is fast\n")
    assert built.run(agent=REPORTING).code == 0
    out = built("review").out
    assert "criteria: 1 of 1 reported met\n  ✓ 1.3: met: it is fast (tried it)" in out
