"""A snapshot brings everything back: every state of a tree, wrecked and restored, compared to the byte."""

import os
import shutil
import signal
import stat
import sys
from pathlib import Path

import pytest

import rescue_states
from rescue_states import STATES, State
from scratch import Repo, Result, run, scratch_repo

DRIVER = """
import sys
from holdfast.engine import rescue, restore
from holdfast.engine.rescue_list import list_rescues
from holdfast.errors import HoldfastError
from holdfast.system.git import find_repository
from holdfast.workspaces.base import Workspace

verb, *words = sys.argv[1:]
workspace = Workspace(find_repository("."), "refs/heads/main")
try:
    if verb == "snapshot":
        print(rescue.snapshot(workspace, "plan-1", "label", "a reason"))
    elif verb == "pin":
        print(rescue.pin(workspace.git, "plan-1", "label", words[0], "a reason"))
    elif verb == "into":
        restore.restore_into(workspace.git, *words)
    else:
        print(restore.restore(workspace, words[0], force=verb == "force").saved)
except HoldfastError as error:
    print(error.message, error.fix, file=sys.stderr)
    sys.exit(error.exit_code)
"""
STATE_NAMES = (
    "MERGE_ CHERRY_PICK_HEAD REVERT_HEAD REBASE_HEAD AUTO_MERGE SQUASH_MSG BISECT_ rebase- sequencer"
)


def drive(repo: Repo, *words: str, **env: str) -> Result:
    return run((sys.executable, "-P", "-c", DRIVER, *words), cwd=repo.path, env={**repo.env, **env})


def take(repo: Repo) -> str:
    result = drive(repo, "snapshot")
    assert result.code == 0, result.err
    return result.out.strip()


def rescues(repo: Repo) -> list[str]:
    return repo.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue").split()


def picture(repo: Repo, git_dir: Path | None = None) -> dict[str, object]:
    """Everything a restore has to give back."""
    own = git_dir or repo.path / ".git"
    state = {p: p.read_bytes() for top in _state(own) for p in (top, *top.rglob("*")) if p.is_file()}
    index = own / "index"
    return {
        "tree": tree(repo.path),
        "index": index.read_bytes() if index.exists() else None,
        "state": {str(path.relative_to(own)): data for path, data in state.items()},
        "head": (own / "HEAD").read_text(),
        "refs": repo.git("for-each-ref", "refs/bisect", "refs/rewritten"),
    }


def tree(root: Path) -> dict[bytes, tuple[int, bytes]]:
    """Path → permissions and bytes of a file, or target of a link; directories count only when empty."""
    found = {}
    for here, directories, names in os.walk(os.fsencode(root)):
        if here == os.fsencode(root) and b".git" in directories:
            directories.remove(b".git")
        for name in (*names, *directories):
            path = os.path.join(here, name)
            found[os.path.relpath(path, os.fsencode(root))] = _entry(path)
    found.pop(b".git", None)
    return {path: entry for path, entry in found.items() if entry[1] != b"a directory that is not empty"}


def _entry(path: bytes) -> tuple[int, bytes]:
    info = os.lstat(path)
    if stat.S_ISLNK(info.st_mode):
        return 0, os.readlink(path)
    if stat.S_ISDIR(info.st_mode):
        return 0, b"a directory that is not empty" if os.listdir(path) else b"an empty directory"
    with open(path, "rb") as f:
        return stat.S_IMODE(info.st_mode), f.read()


def _state(own: Path) -> list[Path]:
    return [path for path in own.iterdir() if path.name.startswith(tuple(STATE_NAMES.split()))]


def wreck(repo: Repo, *, gc: bool = True) -> None:
    """Nothing is left of it but what a ref keeps."""
    own = repo.path / ".git"
    for path in (*_state(own), *own.glob("sharedindex.*"), own / "index"):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    for path in repo.path.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for ref in repo.git("for-each-ref", "--format=%(refname)", "refs/bisect").split():
        repo.git("update-ref", "-d", ref)
    run(("git", "config", "--remove-section", "filter.turn"), cwd=repo.path, env=repo.env)
    repo.git("symbolic-ref", "HEAD", "refs/heads/main")
    repo.git("reset", "--quiet", "--hard")
    (own / "ORIG_HEAD").unlink(missing_ok=True)
    if gc:
        repo.git("reflog", "expire", "--expire=now", "--all")
        repo.git("gc", "--quiet", "--prune=now")


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_a_wrecked_tree_comes_back_to_the_byte(repo: Repo, state: State) -> None:
    state(repo)
    before = picture(repo)
    ref = take(repo)
    assert picture(repo) == before
    wreck(repo)
    assert picture(repo) != before
    result = drive(repo, "restore", ref)
    assert (result.code, result.out) == (0, "\n"), result.err
    assert picture(repo) == before
    assert repo.git("fsck", "--strict", "--no-dangling") == ""
    assert not list((repo.path / ".git").glob("*.lock"))


@pytest.mark.parametrize(
    ("state", "command"),
    [
        (
            rescue_states.rebase,
            "git rebase --abort && test \"$(cat stashed.txt)\" = 'changed before the rebase'",
        ),
        (rescue_states.rebase, "git add -A && GIT_EDITOR=: git rebase --continue"),
        (rescue_states.cherry_pick, "git add -A && git -c core.editor=: cherry-pick --continue"),
        (rescue_states.conflict, "git diff AUTO_MERGE && git commit -qam Merged && git rev-parse HEAD^2"),
        (rescue_states.bisect, "git checkout -q -- . && git bisect good && git bisect reset"),
    ],
)
def test_what_was_under_way_can_be_finished_or_given_up(repo: Repo, state: State, command: str) -> None:
    state(repo)
    ref = take(repo)
    run(("git", "branch", "-D", "side"), cwd=repo.path, env=repo.env)
    wreck(repo)
    assert drive(repo, "restore", ref).code == 0
    result = run(("sh", "-c", command), cwd=repo.path, env=repo.env)
    assert result.code == 0, result.out + result.err


def test_a_snapshot_leaves_everything_else_alone(repo: Repo) -> None:
    repo.write("stashed", "1\n")
    repo.git("add", "stashed")
    repo.git("stash", "--quiet")
    rescue_states.staged(repo)
    own = repo.path / ".git"

    def others() -> dict[str, bytes]:
        files = [own / "config", own / "HEAD", *(own / "logs").rglob("*"), *(own / "refs").rglob("*")]
        return {str(p): p.read_bytes() for p in files if p.is_file() and "holdfast" not in p.parts}

    before = others()
    take(repo)
    assert others() == before
    assert list((own / "holdfast").rglob("*")) == [own / "holdfast/trees", own / "holdfast/trees/main"]


def test_the_same_state_is_kept_once(repo: Repo) -> None:
    rescue_states.conflict(repo)
    assert {take(repo) for _ in range(3)} == set(rescues(repo))
    repo.write("README.md", "something else\n")
    assert len({take(repo), *rescues(repo)}) == 2
    head = repo.git("rev-parse", "HEAD")
    assert drive(repo, "pin", head).out == drive(repo, "pin", head).out
    assert len(rescues(repo)) == 3


def test_a_snapshot_needs_no_identity(repo: Repo) -> None:
    nobody = {
        name: value for name, value in repo.env.items() if not name.startswith(("GIT_AUTHOR", "GIT_COMM"))
    }
    repo.git("config", "user.useConfigOnly", "true")
    repo.write("new", "1\n")
    assert take(Repo(repo.path, nobody)) in rescues(repo)


def test_what_is_left_out_is_written_down(repo: Repo) -> None:
    repo.write(".gitignore", "node_modules/\n*.big\nmany/\n")
    repo.commit("Ignore")
    repo.write("node_modules/x/index.js", "1\n")
    repo.write("one.big", b"x" * ((1 << 20) + 1))
    for number in range(2001):
        repo.write(f"many/{number}", "")
    os.mkfifo(repo.path / "pipe")
    repo.git("worktree", "add", "--quiet", "-b", "other", "inside")
    note = repo.git("show", f"{take(repo)}:rescue.json")
    for path in ("node_modules/", "one.big", "many/", "pipe", "inside/"):
        assert f'"{path}"' in note
    assert repo.git("ls-tree", "-r", "--name-only", f"{rescues(repo)[0]}:work").split() == [
        ".gitignore",
        "README.md",
    ]


def test_a_clean_submodule_is_left_out_and_a_dirty_one_comes_back(repo: Repo, tmp_path: Path) -> None:
    other = scratch_repo(tmp_path / "other", repo.env)
    for name in ("clean", "dirty"):
        repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.path), name)
    repo.commit("Submodules")
    repo.write("dirty/README.md", "changed there\n")
    repo.write("dirty/new", "new there\n")
    before = tree(repo.path / "dirty")
    ref = take(repo)
    assert '"clean/"' in repo.git("show", f"{ref}:rescue.json")
    shutil.rmtree(repo.path / "dirty")
    assert drive(repo, "restore", ref).code == 0
    assert tree(repo.path / "dirty") == before
    assert (repo.path / "clean/README.md").exists()


def test_in_a_linked_working_tree_its_own_index_and_state_come_back(repo: Repo) -> None:
    repo.git("worktree", "add", "--quiet", "-b", "work", "../linked")
    linked = Repo(repo.path.parent / "linked", repo.env)
    rescue_states.staged(linked)
    own = Path(linked.git("rev-parse", "--absolute-git-dir"))
    before = picture(linked, own)
    ref = take(linked)
    linked.git("reset", "--quiet", "--hard")
    (linked.path / "new.txt").unlink(missing_ok=True)
    assert drive(linked, "restore", ref).code == 0
    assert picture(linked, own) == before
    refused = drive(repo, "restore", ref)
    assert refused.code == 3 and f"another working tree: {linked.path}" in refused.err


# -- what a restore must not destroy -------------------------------------------------------------------


def test_bytes_that_nothing_else_keeps_are_not_overwritten(repo: Repo) -> None:
    rescue_states.file_and_directory_swapped(repo)
    repo.write("README.md", "theirs\n")
    repo.write("new", "theirs\n")
    ref = take(repo)
    wreck(repo)
    repo.write("README.md", "mine\n")
    repo.write("new", "mine\n")
    repo.write("was-directory/c", "mine\n")
    repo.write("unrelated", "mine\n")
    before = picture(repo)
    refused = drive(repo, "restore", ref)
    assert refused.code == 3
    for path in ("README.md", "new", "was-directory/c"):
        assert f"  {path} holds other bytes" in refused.err
    assert "unrelated" not in refused.err and "--force" in refused.err
    assert picture(repo) == before


def test_with_force_what_was_there_is_kept_first(repo: Repo) -> None:
    rescue_states.conflict(repo)
    wanted = picture(repo)
    ref = take(repo)
    wreck(repo)
    rescue_states.staged(repo)
    before = picture(repo)
    assert drive(repo, "restore", ref).code == 3
    result = drive(repo, "force", ref)
    assert result.code == 0, result.err
    assert (repo.path / "README.md").read_text() == "half solved\n"
    back = drive(repo, "force", result.out.strip())
    assert back.code == 0, back.err
    assert picture(repo) == before
    assert drive(repo, "force", ref).code == 0
    (repo.path / "new.txt").unlink(missing_ok=True)
    assert picture(repo) == wanted


def test_staged_bytes_and_an_operation_under_way_are_in_the_way(repo: Repo) -> None:
    repo.write("new", "1\n")
    ref = take(repo)
    repo.write("staged", "only in the index\n")
    repo.git("add", "staged")
    (repo.path / "staged").unlink()
    refused = drive(repo, "restore", ref)
    assert refused.code == 3 and "staged is staged with other bytes" in refused.err
    repo.git("reset", "--quiet", "--hard")
    rescue_states.conflict(repo)
    refused = drive(repo, "restore", ref)
    assert refused.code == 3 and "a merge is under way" in refused.err


def test_force_does_not_overwrite_what_it_could_not_keep(repo: Repo) -> None:
    repo.write(".gitignore", "*.big\n")
    repo.commit("Ignore")
    repo.write("one.big", "small\n")
    ref = take(repo)
    repo.write("one.big", b"x" * (2 << 20))
    refused = drive(repo, "force", ref)
    assert refused.code == 3 and "one.big is in the way and cannot be kept" in refused.err
    assert (repo.path / "one.big").stat().st_size == 2 << 20


def test_a_branch_that_moved_on_is_not_moved_back(repo: Repo) -> None:
    base = repo.git("rev-parse", "HEAD")
    repo.write("README.md", "partial\n")
    ref = take(repo)
    tip = repo.commit("Moved on")
    refused = drive(repo, "restore", ref)
    assert refused.code == 3 and "main has moved on" in refused.err
    result = drive(repo, "force", ref)
    assert result.code == 0, result.err
    assert repo.git("rev-parse", "main", "HEAD").split() == [tip, base]
    assert repo.git("status", "--porcelain") == " M README.md"


def test_a_branch_that_is_gone_is_made_again(repo: Repo) -> None:
    repo.git("checkout", "--quiet", "-b", "work")
    head = repo.commit("On the branch")
    repo.write("new", "1\n")
    ref = take(repo)
    repo.git("checkout", "--quiet", "main")
    repo.git("branch", "--quiet", "-D", "work")
    (repo.path / "new").unlink()
    assert drive(repo, "restore", ref).code == 0
    assert repo.git("symbolic-ref", "HEAD") == "refs/heads/work"
    assert repo.git("rev-parse", "HEAD") == head


def test_no_byte_is_written_through_a_link_that_leads_outside(repo: Repo, tmp_path: Path) -> None:
    repo.write("dir/file", "kept\n")
    ref = take(repo)
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.rmtree(repo.path / "dir")
    (repo.path / "dir").symlink_to(outside)
    assert drive(repo, "restore", ref).code == 3
    assert drive(repo, "force", ref).code == 0
    assert list(outside.iterdir()) == []
    assert (repo.path / "dir/file").read_text() == "kept\n"


@pytest.mark.parametrize("name", ["work/%2E%2E/escaped", "work/%2Egit/hooks/post-checkout", "state/config"])
def test_a_forged_snapshot_is_refused(repo: Repo, name: str) -> None:
    ref = take(repo)
    blob = repo.git("hash-object", "-w", "--stdin", input="bad\n")
    repo.git("read-tree", ref)
    repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
    commit = repo.git("commit-tree", "-m", "forged", repo.git("write-tree"))
    repo.git("read-tree", "HEAD")
    refused = drive(repo, "restore", commit)
    assert refused.code == 3 and "was not made by Holdfast" in refused.err
    assert drive(repo, "restore", "HEAD").code == 3


# -- into a working tree of its own --------------------------------------------------------------------


@pytest.mark.parametrize("state", [rescue_states.staged, rescue_states.conflict, rescue_states.unborn])
def test_a_snapshot_can_be_looked_at_elsewhere(repo: Repo, state: State) -> None:
    state(repo)
    before = picture(repo)
    ref = take(repo)
    aside = Repo(repo.path.parent / "aside", repo.env)
    for _ in range(2):  # the second time there is nothing left to do
        result = drive(repo, "into", ref, str(aside.path))
        assert result.code == 0, result.err
        own = Path(aside.git("rev-parse", "--absolute-git-dir"))
        assert tree(aside.path) == before["tree"]
        assert (own / "index").read_bytes() == before["index"]
    assert picture(repo) == before
    aside.write("README.md", "worked on\n")
    assert drive(repo, "into", ref, str(aside.path)).code == 3


def test_only_a_new_directory_is_filled(repo: Repo) -> None:
    ref = take(repo)
    repo.write("../taken/file", "mine\n")
    assert drive(repo, "into", ref, str(repo.path.parent / "taken")).code == 3
    assert drive(repo, "into", ref, str(repo.path)).code == 3


# -- killed anywhere -----------------------------------------------------------------------------------


def messy(repo: Repo) -> None:
    """Something for every step of a restore: files, links, removals, an operation, the index, HEAD."""
    for path in ("was-file", "was-directory/a", "dir/gone", "dir/changed"):
        repo.write(path, f"{path}\n")
    (repo.path / "link").symlink_to("dir")
    repo.commit("Files to change")
    rescue_states.rebase(repo)
    for path in ("was-file", "was-directory/a", "dir/gone", "link"):
        (repo.path / path).unlink()
    (repo.path / "was-directory").rmdir()
    repo.write("was-file/inside", "1\n")
    repo.write("was-directory", "2\n")
    repo.write("dir/changed", "3\n").chmod(0o600)
    (repo.path / "link").symlink_to("elsewhere")
    (repo.path / "empty").mkdir()


def thinned(reached: list[str]) -> list[str]:
    """Of a point that is passed often: the first, the second and the last time."""
    by_name: dict[str, list[str]] = {}
    for point in reached:
        by_name.setdefault(point.partition("@")[0], []).append(point)
    return [point for times in by_name.values() for point in dict.fromkeys((*times[:2], times[-1]))]


def points(repo: Repo, log: Path, *words: str) -> list[str]:
    assert drive(repo, *words, HOLDFAST_FAULT_LOG=str(log)).code == 0
    return log.read_text().split()


def test_a_snapshot_killed_anywhere_and_taken_again_is_the_same(repo: Repo, tmp_path: Path) -> None:
    messy(repo)
    before = picture(repo)
    reached = points(repo, tmp_path / "log", "snapshot")
    assert {"rescue.begin@1", "rescue.hashed@1", "rescue.tree@1", "rescue.commit@1", "rescue.after@1"} <= {
        *reached
    }
    (whole,) = rescues(repo)
    tree_id = repo.git("rev-parse", f"{whole}^{{tree}}")
    for point in reached:
        repo.git("update-ref", "-d", rescues(repo)[0])
        assert drive(repo, "snapshot", HOLDFAST_FAULT=point).code == -signal.SIGKILL
        assert repo.git("rev-parse", f"{take(repo)}^{{tree}}") == tree_id
        assert len(rescues(repo)) == 1
    assert picture(repo) == before


def test_a_restore_killed_anywhere_and_repeated_is_whole(repo: Repo, tmp_path: Path) -> None:
    messy(repo)
    before = picture(repo)
    ref = take(repo)
    wreck(repo)
    reached = points(repo, tmp_path / "log", "restore", ref)
    assert len(reached) > 30
    assert picture(repo) == before
    for point in thinned(reached):
        wreck(repo, gc=False)
        assert drive(repo, "restore", ref, HOLDFAST_FAULT=point).code == -signal.SIGKILL, point
        result = drive(repo, "restore", ref)
        assert result.code == 0, f"{point}: {result.err}"
        assert picture(repo) == before, point
        assert not list((repo.path / ".git").glob("*.lock"))


def test_a_restore_elsewhere_killed_anywhere_and_repeated_is_whole(repo: Repo, tmp_path: Path) -> None:
    messy(repo)
    before = tree(repo.path)
    ref = take(repo)
    for point in thinned(points(repo, tmp_path / "log", "into", ref, str(tmp_path / "first"))):
        aside = tmp_path / point
        killed = drive(repo, "into", ref, str(aside), HOLDFAST_FAULT=point)
        assert killed.code == -signal.SIGKILL, point
        again = drive(repo, "into", ref, str(aside))
        assert again.code == 0, f"{point}: {again.err}"
        assert tree(aside) == before, point
    assert tree(repo.path) == before
