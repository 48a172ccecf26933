"""`holdfast rescue` over the snapshots of a real run that was killed."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

from scratch import HOLDFAST, Cli, Repo, Result

AGENT = """
if test ! -e halfway; then
    echo half > halfway; echo changed >> README.md; rm old; mkdir -p node_modules; echo x > node_modules/x
fi
"""


class Kept:
    """A run that died in its first task, and whose tree was thrown away afterwards."""

    def __init__(self, repo: Repo, cli: Cli) -> None:
        self.repo, self.cli = repo, cli
        repo.write("plan.md", "- [ ] One\n")
        repo.write("old", "to be deleted\n")
        repo.write(".gitignore", "node_modules/\n")
        repo.commit("Plan")
        words = ("run", "plan.md", "--agent-cmd", AGENT)
        assert cli(*words, env={"HOLDFAST_FAULT": "agent.after"}).code < 0
        assert cli(*words, env={"HOLDFAST_FAULT": "agent.before"}).code < 0
        repo.git("reset", "--quiet", "--hard")
        repo.git("clean", "--quiet", "-fdx")

    def rescue(self, *words: str) -> Result:
        return self.cli("rescue", *words)

    @property
    def refs(self) -> list[str]:
        return self.repo.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue").split()

    @property
    def name(self) -> str:
        (ref,) = self.refs
        return ref.rsplit("/", 1)[-1]


@pytest.fixture
def kept(repo: Repo, cli: Cli) -> Kept:
    return Kept(repo, cli)


def assert_restored(root: Path) -> None:
    assert (root / "halfway").read_text() == "half\n"
    assert (root / "README.md").read_text() == "# Scratch\nchanged\n"
    assert not (root / "old").exists()


def test_list_says_what_is_kept_and_how_to_bring_it_back(kept: Kept) -> None:
    result = kept.rescue("list")
    assert result.code == 0, result.err
    assert f"  1  {kept.name}\n" in result.out
    assert "task 1: partial work of an interrupted attempt" in result.out
    assert "3 files, 23 bytes, 1 left out, on main at " in result.out
    assert f"\n     holdfast rescue restore {kept.name}\n" in result.out


def test_list_for_programs(kept: Kept) -> None:
    commit = kept.repo.git("rev-parse", "HEAD")
    kept.repo.git(
        "update-ref", "-m", "holdfast: made by the agent", "refs/holdfast/rescue/x/20200101-000000-y", commit
    )
    first, second = map(json.loads, kept.rescue("list", "--json").out.splitlines())
    assert (first["number"], first["kind"], first["head"], first["when"]) == (
        1,
        "commit",
        commit,
        1577836800.0,
    )
    assert second["kind"] == "snapshot" and second["ref"] in kept.refs
    assert (second["files"], second["bytes"], second["branch"], second["head"]) == (3, 23, "main", commit)
    assert second["left_out"][0]["path"] == "node_modules/"


@pytest.mark.parametrize("how", ["number", "name", "ref"])
def test_restore_brings_the_tree_back(kept: Kept, how: str) -> None:
    word = {"number": "1", "name": kept.name, "ref": kept.refs[0]}[how]
    result = kept.rescue("restore", word)
    assert result.code == 0, result.err
    assert_restored(kept.repo.path)
    assert "2 files written, 1 removed" in result.out
    assert "not in the snapshot: 1\n  node_modules/: a cache" in result.out
    again = kept.rescue("restore", word)
    assert (again.code, again.err) == (0, "") and "all files were in place" in again.out


def test_a_run_goes_on_with_what_was_restored(kept: Kept) -> None:
    assert kept.rescue("restore", "1").code == 0
    assert kept.cli("run", "plan.md", "--agent-cmd", AGENT).code == 0
    assert kept.repo.git("show", "HEAD:halfway") == "half"
    assert kept.repo.git("status", "--porcelain") == ""


def test_a_restore_that_would_overwrite_names_the_files_and_exits_3(kept: Kept) -> None:
    kept.repo.write("halfway", "mine\n")
    refused = kept.rescue("restore", "1")
    assert refused.code == 3 and "halfway holds other bytes" in refused.err
    forced = kept.rescue("restore", "1", "--force")
    assert forced.code == 0, forced.err
    assert_restored(kept.repo.path)
    saved = forced.out.splitlines()[0].removeprefix("what was there is kept as ")
    assert kept.repo.git("show", f"{saved}:work/halfway") == "mine"


def test_restore_into_leaves_this_tree_alone(kept: Kept, tmp_path: Path) -> None:
    kept.repo.write("halfway", "mine\n")
    result = kept.rescue("restore", "1", "--into", "../aside")
    assert result.code == 0, result.err
    assert_restored(tmp_path / "aside")
    assert (kept.repo.path / "halfway").read_text() == "mine\n"
    assert kept.rescue("restore", "1", "--into", ".").code == 3


def test_once_the_branch_has_moved_on_the_command_leads_aside(kept: Kept) -> None:
    kept.repo.commit("Something else")
    assert kept.rescue("restore", "1").code == 3
    lines = kept.rescue("list").out.splitlines()
    command = lines[-1].split()
    assert command[-2:] == ["--into", f"../{kept.name}"]
    assert kept.cli(*command[1:]).code == 0
    assert_restored(kept.repo.path.parent / kept.name)


def test_show_tells_everything_about_one(kept: Kept) -> None:
    result = kept.rescue("show", "1", "--patch")
    assert result.code == 0, result.err
    for line in (
        kept.refs[0],
        "reason:   task 1: partial work of an interrupted attempt",
        "branch:   main",
        f"base:     {kept.repo.git('rev-parse', 'HEAD')}",
        "  M         18  README.md",
        "  A          5  halfway",
        "  D          -  old",
        f"restore:  holdfast rescue restore {kept.name}",
        "+changed",
    ):
        assert f"{line}\n" in result.out
    assert "node_modules/" in result.out


def test_a_kept_commit_is_shown_with_the_way_back(kept: Kept) -> None:
    ref = "refs/holdfast/rescue/x/20200101-000000-y"
    kept.repo.git("update-ref", "--create-reflog", "-m", "holdfast: made by the agent", ref, "HEAD")
    shown = kept.rescue("show", "1")
    assert "reason:   made by the agent\n" in shown.out
    assert f"git worktree add --detach ../20200101-000000-y {ref}" in shown.out
    assert kept.rescue("restore", "1").code == 3


def test_drop_lets_go_of_one_or_all(kept: Kept) -> None:
    for name in ("a", "b"):
        kept.repo.git("update-ref", f"refs/holdfast/rescue/x/20200101-000000-{name}", "HEAD")
    assert kept.rescue("drop", "20200101-000000-a").code == 0
    assert len(kept.refs) == 2
    assert kept.rescue("drop", "--all").code == 2
    assert kept.rescue("drop").code == 2
    assert len(kept.refs) == 2
    assert kept.rescue("drop", "--all", "--yes").code == 0
    assert kept.refs == []
    assert kept.rescue("list").out == "nothing is kept under rescue\n"


def test_a_name_that_means_none_or_several_is_a_usage_error(kept: Kept) -> None:
    assert kept.rescue("show", "2").code == 2
    assert kept.rescue("restore", "nothing").code == 2
    for run in ("x", "y"):
        kept.repo.git("update-ref", f"refs/holdfast/rescue/{run}/20200101-000000-same", "HEAD")
    result = kept.rescue("drop", "20200101-000000-same")
    assert result.code == 2 and "refs/holdfast/rescue/y/20200101-000000-same" in result.err


def test_beside_an_active_run_nothing_is_restored_or_dropped(kept: Kept, tmp_path: Path) -> None:
    shutil.rmtree(kept.repo.path / ".git/holdfast")
    codes = tmp_path / "codes"
    rescue = f"{shlex.join(HOLDFAST)} rescue"
    agent = "; ".join(f"{rescue} {verb} 1; echo $? >> '{codes}'" for verb in ("restore", "drop"))
    assert kept.cli("run", "plan.md", "--agent-cmd", f"{agent}; echo x > x").code == 0
    assert codes.read_text().split() == ["75", "75"]
