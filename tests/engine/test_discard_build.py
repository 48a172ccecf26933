"""`holdfast discard`: branch and tree of a run go, and whatever only they held is under rescue."""

import shutil
import sys
from pathlib import Path

import pytest

from built import AGENT, PLAN, Built, begin_something, belonging, make_built
from invariants import agent_starts, processes_marked_with, tree
from scratch import HOLDFAST, Cli
from scratch import run as start

LEDGER = 'echo "start $HOLDFAST_TASK_ID" >> "$LEDGER"; '
AS_ANYBODY = """\
import ctypes, os, sys
for capability in (1, 2):  # to write and to search whatever the mode says
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Starts a command for which modes count also where root runs the tests."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return make_built(tmp_path_factory.mktemp("finished"))


@pytest.fixture
def built(finished: Built, tmp_path: Path) -> Built:
    return finished.copy(tmp_path / "scene")


def rescues(built: Built) -> dict[str, str]:
    listing = built.git("for-each-ref", "--format=%(refname:lstrip=-1) %(objectname)", "refs/holdfast/rescue")
    return dict(line.split(" ") for line in listing.splitlines())


def assert_gone(built: Built) -> None:
    assert built.git("branch", "--list", "holdfast/*") == ""
    assert not built.own.parent.exists()
    assert built.git("worktree", "list").count("\n") == 0
    kinds = ("base", "candidate", "seen", "taken")
    others = tuple(f"refs/holdfast/{kind}" for kind in kinds)
    assert built.git("for-each-ref", *others) == ""
    assert not list((built.repo.path / ".git/holdfast").rglob("in-flight.json"))


def test_branch_tree_and_helpers_go_and_the_commits_are_kept(built: Built) -> None:
    begin_something(built.repo)
    tip, mine = built.git("rev-parse", "holdfast/plan"), belonging(built.repo)
    result = built("discard", "plan.md", "--yes")
    assert result.code == 0, result.err
    assert "branch  3 commits that HEAD does not have: kept under rescue" in result.out
    assert f"tree    {built.own}" in result.out
    assert_gone(built)
    ((name, kept),) = rescues(built).items()
    assert (name.endswith("-discarded-commits"), kept) == (True, tip)
    assert belonging(built.repo) == mine
    assert "git branch holdfast/plan refs/holdfast/rescue/" in result.out


def test_work_in_the_tree_is_kept_as_a_snapshot(built: Built) -> None:
    (built.own / "half.txt").write_text("half\n")
    (built.own / "old.txt").write_text("edited\n")
    result = built("discard", "--yes")
    assert "with 2 files in no commit: kept under rescue" in result.out
    assert_gone(built)
    (snapshot,) = (kept for name, kept in rescues(built).items() if name.endswith("-discarded"))
    assert built.git("show", f"{snapshot}:work/half.txt") == "half"
    assert built.git("show", f"{snapshot}:work/old.txt") == "edited"


def test_a_build_that_was_merged_leaves_nothing_under_rescue(built: Built) -> None:
    assert built("merge").code == 0
    result = built("discard", "--yes")
    assert "all of it is in main" in result.out
    assert_gone(built)
    assert rescues(built) == {}


def test_without_a_terminal_it_needs_to_be_told_that_you_mean_it(built: Built) -> None:
    result = built("discard")
    assert (result.code, "add --yes if you mean it" in result.err) == (2, True)
    assert f"tree    {built.own}" in result.out
    assert built.own.exists() and built.git("branch", "--list", "holdfast/plan")


def test_discarding_twice_is_discarding_once(built: Built) -> None:
    assert built("discard", "--yes").code == 0
    refs = built.git("for-each-ref")
    result = built("discard", "--yes")
    assert (result.code, "nothing to discard" in result.out) == (0, True)
    assert built.git("for-each-ref") == refs


def test_a_sealed_commit_that_had_not_landed_is_kept(built: Built) -> None:
    built.repo.write("plan.md", PLAN + "- [ ] Third thing\n")
    assert built.run(HOLDFAST_FAULT="candidate.after").code == -9
    assert built.git("for-each-ref", "refs/holdfast/candidate")
    assert built("discard", "--yes").code == 0
    assert_gone(built)
    assert any(name.endswith("-candidate") for name in rescues(built))


def test_trees_and_branches_of_tasks_beside_each_other_go_too(built: Built) -> None:
    built.repo.write("plan.md", PLAN + "- [ ] [P] Third thing\n- [ ] [P] Fourth thing\n")
    agent = 'echo "half of $HOLDFAST_TASK_ID" > half.txt; sleep 0.5'
    assert built.run("-j", "2", agent=agent, HOLDFAST_FAULT="candidate.after@2").code == -9
    assert len(list(built.own.parent.iterdir())) > 1
    result = built("discard", "--yes")
    assert result.code == 0, result.err
    assert_gone(built)
    assert built.git("branch", "--format=%(refname:short)").split() == ["main"]
    assert "half of" in built.git(
        "log", "-p", "--glob=refs/holdfast/rescue", "--", "half.txt", "work/half.txt"
    )


def test_a_new_start_counts_anew_and_does_everything_again(built: Built, tmp_path: Path) -> None:
    built.repo.write("plan.md", PLAN + "- [ ] Third thing\n")
    assert built.run("--max-attempts", "1", agent="exit 1").code == 1
    assert "failed: 1" in built("status").out
    assert built("discard", "--yes").code == 0
    assert "failed" not in built("status").out
    ledger = tmp_path / "ledger"
    result = built.run("--max-attempts", "1", agent=LEDGER + AGENT, LEDGER=str(ledger))
    assert result.code == 0, result.err
    assert agent_starts(ledger) == {"1.1": 1, "1.2": 1, "1.3": 1}


def test_a_tree_that_the_user_locked_is_left_and_taken_off_the_branch(built: Built) -> None:
    built.git("worktree", "lock", str(built.own))
    (built.own / "mine.txt").write_text("mine\n")
    before, tip = tree(built.repo._replace(path=built.own)), built.git("rev-parse", "holdfast/plan")
    result = built("discard", "--yes")
    assert result.code == 0, result.err
    assert f"stays   {built.own}: you locked it" in result.out
    assert tree(built.repo._replace(path=built.own)) == before
    assert built.git("-C", str(built.own), "rev-parse", "HEAD") == tip
    assert built.git("-C", str(built.own), "status", "--porcelain") == "?? mine.txt"
    assert built.git("branch", "--list", "holdfast/plan") == ""


def test_killed_while_a_tree_that_stays_is_taken_off_the_branch(built: Built) -> None:
    built.git("worktree", "lock", str(built.own))
    assert built("discard", "--yes", HOLDFAST_FAULT="discard.detached").code == -9
    assert built("discard", "--yes").code == 0
    assert built.git("branch", "--list", "holdfast/plan") == ""
    assert built.git("-C", str(built.own), "status", "--porcelain") == ""


def test_a_tree_that_was_adopted_is_left(built: Built) -> None:
    elsewhere = built.root / "elsewhere"
    built.git("worktree", "move", str(built.own), str(elsewhere))
    result = built("discard", "--yes")
    assert f"stays   {elsewhere}: Holdfast did not make it" in result.out
    assert (elsewhere / "1.1.txt").exists()
    assert built.git("branch", "--list", "holdfast/plan") == ""


def test_a_tree_whose_directory_is_gone_is_forgotten(built: Built) -> None:
    shutil.rmtree(built.own)
    assert built("discard", "--yes").code == 0
    assert built.git("worktree", "list").count("\n") == 0
    assert built.git("branch", "--list", "holdfast/plan") == ""


def test_the_run_branch_is_not_discarded_under_the_user(built: Built) -> None:
    built.git("worktree", "remove", "--force", str(built.own))
    (built.repo.path / "plan.md").unlink()
    built.git("switch", "-q", "holdfast/plan")
    result = built("discard", "plan.md", "--yes")
    assert (result.code, "checked out in your own working tree" in result.err) == (3, True)


def test_a_tree_is_not_removed_under_the_user(built: Built) -> None:
    inside = Cli(built.own, built.repo.env)("discard", "plan.md", "--yes")
    assert (inside.code, "cd into your own checkout" in inside.err) == (3, True)
    assert (built.own / "1.1.txt").exists()


def test_what_a_dead_run_left_alive_is_ended_first(built: Built) -> None:
    """The supervisor would have: here it is told apart by its token alone."""
    import subprocess

    from holdfast.engine.site import token_prefix

    token = token_prefix(str(built.repo.path / ".git/worktrees/plan")) + "left"
    env = {**built.repo.env, "HOLDFAST_TOKEN": token}
    left = subprocess.Popen(("sleep", "600"), env=env)
    try:
        assert "process" in built("discard", "--yes").out
        assert left.wait(timeout=10) == -9
        assert processes_marked_with(token) == []
    finally:
        left.kill()


def test_a_read_only_cache_goes_and_what_it_links_to_is_left_alone(built: Built) -> None:
    elsewhere = built.root / "elsewhere"
    elsewhere.mkdir()
    elsewhere.chmod(0o555)
    cache = built.own / "cache/deep"
    cache.mkdir(parents=True)
    (cache / "file").write_text("cached\n")
    (cache / "link").symlink_to(elsewhere)
    for directory in (cache, cache.parent):
        directory.chmod(0o555)
    command = (sys.executable, "-c", AS_ANYBODY, *HOLDFAST, "discard", "plan.md", "--yes")
    assert start(command, cwd=built.repo.path, env=built.repo.env).code == 0
    assert_gone(built)
    assert list(built.root.glob("repo-worktrees/*")) == []
    assert elsewhere.stat().st_mode & 0o777 == 0o555


def test_killed_at_every_point_the_same_command_finishes_and_nothing_is_lost(
    built: Built, tmp_path: Path
) -> None:
    begin_something(built.repo)
    (built.own / "half.txt").write_text("half\n")
    mine, tip = belonging(built.repo), built.git("rev-parse", "holdfast/plan")
    log = tmp_path / "points"
    undisturbed = built.copy(tmp_path / "undisturbed")
    assert undisturbed("discard", "--yes", HOLDFAST_FAULT_LOG=str(log)).code == 0
    points = log.read_text().split()
    assert {"discard.aside@1", "discard.forgotten@1", "discard.removed@1", "discard.branch.after@1"} <= set(
        points
    )
    for point in points:
        scene = built.copy(tmp_path / point)
        assert scene("discard", "--yes", HOLDFAST_FAULT=point).code == -9, point
        again = scene("discard", "--yes")
        assert again.code == 0, f"{point}: {again.err}"
        assert_gone(scene)
        assert belonging(scene.repo) == mine, point
        kept = rescues(scene)
        assert tip in kept.values(), point
        assert sorted(name[16:] for name in kept) == ["discarded", "discarded-commits"], point
        (snapshot,) = (commit for name, commit in kept.items() if name.endswith("-discarded"))
        assert scene.git("show", f"{snapshot}:work/half.txt") == "half", point
        assert scene.git("fsck", "--strict", "--no-dangling") == "", point
        shutil.rmtree(scene.root)


@pytest.mark.parametrize("point", ["discard.mark.removed", "discard.aside", "discard.helpers.after"])
def test_a_run_after_a_discard_that_was_cut_off_goes_on_with_the_branch(point: str, built: Built) -> None:
    assert built("discard", "--yes", HOLDFAST_FAULT=point).code == -9
    result = built.run()
    assert result.code == 0, result.err
    assert "2 of 2 tasks done" in result.out
    assert built.git("-C", str(built.own), "status", "--porcelain") == ""
