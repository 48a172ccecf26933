"""`holdfast merge`: what was built lands in the user's branch, and nothing of theirs is touched."""

import os
import shutil
from pathlib import Path

import pytest

from built import AGENT, DONE, PLAN, Built, begin_something, belonging, make_built
from invariants import tree
from scratch import HOLDFAST, Repo, Result, hermetic_environment, scratch_repo
from scratch import run as start

ADDED = "[holdfast] Add plan: plan"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return make_built(tmp_path_factory.mktemp("finished"))


@pytest.fixture
def built(finished: Built, tmp_path: Path) -> Built:
    return finished.copy(tmp_path / "scene")


@pytest.fixture
def busy(built: Built) -> Built:
    begin_something(built.repo)
    return built


def untouched(repo: Repo) -> dict[str, object]:
    index = (repo.path / ".git/index").read_bytes()
    return {"files": tree(repo), "index": index, "refs": repo.git("for-each-ref")}


def diverge(built: Built, path: str = "elsewhere.txt", text: str = "in the meantime\n") -> None:
    """A commit on main; what the user has staged is not part of it."""
    built.repo.write(path, text)
    built.git("add", path)
    built.git("commit", "-qm", "In the meantime", "--only", path)


def assert_refused(built: Built, result: Result, *words: str, code: int = 3) -> None:
    assert result.code == code, result.out + result.err
    for word in words:
        assert word in result.err
    assert not (built.repo.path / ".git/index.lock").exists()
    assert not list((built.repo.path / ".git/holdfast").rglob("merge*"))


# -- ways of merging -----------------------------------------------------------------------------------


def test_a_branch_that_did_not_move_is_fast_forwarded_and_the_checkout_follows(busy: Built) -> None:
    before = belonging(busy.repo)
    old = busy.git("rev-parse", "main")
    result = busy("merge", "plan.md")
    assert result.code == 0, result.err
    assert "merged holdfast/plan into main: fast-forward, 3 commits" in result.out
    assert f"undo:     git reset --keep {old[:10]}" in result.out
    assert busy.git("rev-parse", "main") == busy.git("rev-parse", "holdfast/plan")
    assert belonging(busy.repo) == before
    assert busy.git("diff", "--cached", "--name-only").split() == ["kept.txt", "staged.txt"]
    assert busy.git("diff", "--name-only").split() == ["README.md", "kept.txt"]
    assert (busy.repo.path / "swap/file").read_text() == "inside\n"
    assert not (busy.repo.path / "gone").exists()
    assert os.readlink(busy.repo.path / "link") == "old.txt"
    assert os.access(busy.repo.path / "tool", os.X_OK)


def test_the_reflogs_say_who_moved_the_branch(built: Built) -> None:
    assert built("merge").code == 0
    for ref in ("main", "HEAD"):
        said = built.git("reflog", "-1", "--format=%gs", ref)
        assert said == "holdfast: merge holdfast/plan: fast-forward"


def test_branches_that_parted_get_a_merge_commit(busy: Built) -> None:
    diverge(busy)
    before = belonging(busy.repo)
    result = busy("merge")
    assert result.code == 0, result.err
    assert "by a merge commit" in result.out
    assert busy.subjects("-1") == ["Merge branch 'holdfast/plan'"]
    assert busy.git("rev-parse", "main^2") == busy.git("rev-parse", "holdfast/plan")
    assert (busy.repo.path / "elsewhere.txt").exists() and (busy.repo.path / "1.1.txt").exists()
    assert belonging(busy.repo) == before


def test_no_ff_makes_a_merge_commit_where_none_is_needed(built: Built) -> None:
    assert built("merge", "--no-ff").code == 0
    assert len(built.git("rev-list", "--parents", "-1", "main").split()) == 3
    assert built.git("rev-parse", "main^{tree}") == built.git("rev-parse", "holdfast/plan^{tree}")


def test_squash_makes_one_commit_whose_message_lists_the_tasks(built: Built) -> None:
    old = built.git("rev-parse", "main")
    assert built("merge", "--squash").code == 0
    assert built.git("rev-parse", "main^") == old
    message = built.git("log", "-1", "--format=%B", "main")
    assert message.startswith("[holdfast] Complete plan: plan\n")
    assert "- 1.1: First thing\n- 1.2: Second thing\n" in message
    assert f"Holdfast-Merged: {built.git('rev-parse', 'holdfast/plan')}" in message


@pytest.mark.parametrize("how", [(), ("--no-ff",), ("--squash",)])
def test_what_is_merged_already_is_not_merged_again(built: Built, how: tuple[str, ...]) -> None:
    assert built("merge", *how).code == 0
    diverge(built, "old.txt", "edited on top\n")
    refs = built.git("for-each-ref")
    result = built("merge", *how)
    assert result.code == 0, result.err
    assert "already merged: main has all of holdfast/plan" in result.out
    assert built.git("for-each-ref") == refs


def test_into_a_branch_that_is_not_checked_out_moves_it_alone(busy: Built) -> None:
    busy.git("branch", "release")
    before = untouched(busy.repo)
    result = busy("merge", "--into", "release")
    assert result.code == 0, result.err
    assert busy.git("rev-parse", "release") == busy.git("rev-parse", "holdfast/plan")
    after = untouched(busy.repo)
    assert (after["files"], after["index"]) == (before["files"], before["index"])
    assert busy("merge", "--into", "main").code == 0
    assert (busy.repo.path / "1.1.txt").exists()


def test_dry_run_says_what_would_be_done(busy: Built) -> None:
    before = untouched(busy.repo)
    result = busy("merge", "--dry-run")
    assert "would merge holdfast/plan into main: fast-forward, 3 commits, 10 files" in result.out
    assert "nothing was changed (--dry-run)" in result.out
    assert untouched(busy.repo) == before


def test_a_merge_commit_is_signed_where_the_user_signs(built: Built, tmp_path: Path) -> None:
    signer = tmp_path / "signer"
    signer.write_text("#!/bin/sh\ncat > /dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\necho SIGNED\n")
    signer.chmod(0o755)
    built.git("config", "gpg.program", str(signer))
    built.git("config", "commit.gpgsign", "true")
    assert built("merge", "--no-ff").code == 0
    assert "gpgsig SIGNED" in built.git("cat-file", "commit", "main")


def test_the_commit_msg_hook_has_its_say(built: Built) -> None:
    hook = built.repo.write(".git/hooks/commit-msg", "#!/bin/sh\necho no tickets; exit 1\n")
    hook.chmod(0o755)
    before = untouched(built.repo)
    assert_refused(built, built("merge", "--no-ff"), "commit-msg hook refused", "no tickets", code=1)
    assert untouched(built.repo) == before
    hook.write_text('#!/bin/sh\nprintf "JIRA-1 %s" "$(cat "$1")" > "$1"\n')
    assert built("merge", "--no-ff").code == 0
    assert built.subjects("-1") == ["JIRA-1 Merge branch 'holdfast/plan'"]


def test_a_pre_merge_commit_hook_is_not_run_and_that_is_said(built: Built) -> None:
    hook = built.repo.write(".git/hooks/pre-merge-commit", "#!/bin/sh\ntouch ran\n")
    hook.chmod(0o755)
    result = built("merge", "--no-ff")
    assert "the pre-merge-commit hook was not run" in result.out
    assert not (built.repo.path / "ran").exists()


# -- refusals ------------------------------------------------------------------------------------------


def test_a_conflict_is_reported_before_anything_is_touched(busy: Built) -> None:
    diverge(busy, "old.txt", "another end\n")
    before = untouched(busy.repo)
    result = busy("merge")
    assert_refused(busy, result, "conflict in\n  old.txt", "git switch main && git merge holdfast/plan")
    assert untouched(busy.repo) == before


@pytest.mark.parametrize(
    "mine",
    [
        "echo mine >> old.txt",
        "echo mine >> old.txt; git add old.txt",
        "rm old.txt",
        "git rm -q --cached old.txt",
        "echo mine > 1.1.txt",
        "echo 1.1.txt >> .git/info/exclude; echo ignored > 1.1.txt",
        "echo mine > src",
        "mkdir -p /tmp; ln -s /tmp src",
        "mkdir 1.1.txt; echo mine > 1.1.txt/mine",
        "echo mine >> gone/a",
        "chmod +x old.txt",
        "git update-index --assume-unchanged old.txt; echo mine >> old.txt",
        "git add plan.md; echo mine >> plan.md; git add plan.md",
        "echo '- [ ] A third' >> plan.md",
    ],
)
def test_a_path_with_something_of_the_users_in_it_stops_the_merge(built: Built, mine: str) -> None:
    done = start(("sh", "-c", mine), cwd=built.repo.path, env=built.repo.env)
    assert done.code == 0, done.err
    before = untouched(built.repo)
    result = built("merge")
    assert_refused(built, result, "these files have changes of yours that the merge would touch")
    assert untouched(built.repo) == before


def test_a_merge_under_way_stays_under_way(built: Built) -> None:
    built.git("switch", "-q", "-c", "theirs")
    diverge(built, "README.md", "theirs\n")
    built.git("switch", "-q", "main")
    diverge(built, "README.md", "ours\n")
    merging = start(("git", "merge", "theirs"), cwd=built.repo.path, env=built.repo.env)
    assert merging.code == 1
    before = untouched(built.repo)
    assert_refused(built, built("merge", "plan.md"), "a merge is under way", "git merge --abort")
    assert untouched(built.repo) == before


def test_a_target_that_is_checked_out_elsewhere_is_named(built: Built) -> None:
    other = built.root / "other"
    built.git("worktree", "add", "-q", "-b", "release", str(other))
    result = built("merge", "--into", "release")
    assert_refused(built, result, f"release is checked out in {other}", f"cd {other} && holdfast merge")


def test_a_detached_head_needs_a_branch(built: Built) -> None:
    built.git("checkout", "-q", "--detach")
    assert_refused(built, built("merge"), "HEAD is detached", "--into BRANCH")
    assert built("merge", "--into", "main").code == 0
    assert built.git("rev-parse", "main") == built.git("rev-parse", "holdfast/plan")


def test_an_unfinished_plan_is_merged_only_when_asked_for(built: Built) -> None:
    built.repo.write("plan.md", PLAN + "- [ ] Third thing\n")
    assert built.run("--only", "1.1").code == 0
    refused = built("merge")
    assert_refused(built, refused, "1 of 3 tasks are open on holdfast/plan: 1.3", "--partial")
    result = built("merge", "--partial")
    assert result.code == 0, result.err
    assert "- [ ] Third thing" in built.git("show", "main:plan.md")


def test_a_run_in_progress_keeps_the_merge_out(built: Built) -> None:
    built.repo.write("plan.md", PLAN + "- [ ] Third thing\n")
    ready, go = built.root / "ready", built.root / "go"
    agent = f"touch {ready}; while test ! -e {go}; do sleep 0.05; done; {AGENT}"
    import subprocess
    import time

    words = (*HOLDFAST, "run", "plan.md", "--agent-cmd", agent)
    running = subprocess.Popen(words, cwd=built.repo.path, env=built.repo.env, stdout=subprocess.DEVNULL)
    try:
        while not ready.exists() and running.poll() is None:
            time.sleep(0.02)
        assert built("merge", "--partial").code == 75
        assert built("discard", "--yes").code == 75
    finally:
        go.touch()
        assert running.wait() == 0


def test_nothing_built_is_said(repo: Repo, built: Built) -> None:
    built.repo.write("other.md", PLAN)
    result = built("merge", "other.md")
    assert (result.code, "there is no branch holdfast/other" in result.err) == (2, True)


def test_a_plan_run_in_place_has_nothing_to_merge(built: Built) -> None:
    built.repo.write("other.md", PLAN)
    built.git("add", "other.md")
    built.git("commit", "-qm", "Other", "--only", "other.md")
    (built.repo.path / "plan.md").unlink()
    assert built("run", "other.md", "--trunk", "--agent-cmd", AGENT).code == 0
    result = built("merge", "other.md", HOLDFAST_MODE="")
    assert (result.code, "its commits are on main already" in result.out) == (0, True)


def git_that(tmp_path: Path, word: str, deed: str) -> str:
    """A PATH whose git does something else when it is asked for this."""
    stand_in = tmp_path / "bin/git"
    stand_in.parent.mkdir()
    real = shutil.which("git")
    lines = f'#!/bin/sh\nfor w in "$@"; do test "$w" = {word} && {{ {deed}; }}; done\nexec {real} "$@"\n'
    stand_in.write_text(lines)
    stand_in.chmod(0o755)
    return f"{stand_in.parent}:{os.environ['PATH']}"


def test_an_older_git_is_told_from_a_conflict(built: Built, tmp_path: Path) -> None:
    diverge(built)
    result = built("merge", PATH=git_that(tmp_path, "merge-tree", "exit 129"))
    assert_refused(built, result, "cannot tell beforehand", "git switch main && git merge holdfast/plan")


@pytest.mark.parametrize("deed", ["echo 'No space left on device' >&2; exit 128", "kill -9 $$"])
def test_a_git_call_that_fails_before_the_branch_moves_leaves_nothing_behind(
    deed: str, busy: Built, tmp_path: Path
) -> None:
    before = untouched(busy.repo)
    result = busy("merge", PATH=git_that(tmp_path, "checkout-index", deed))
    assert_refused(busy, result, "git checkout-index", code=1)
    assert untouched(busy.repo) == before
    assert busy("merge").code == 0


# -- the plan ------------------------------------------------------------------------------------------


def test_the_users_untracked_plan_gives_way_to_the_one_with_marks(built: Built) -> None:
    assert (built.repo.path / "plan.md").read_text() == PLAN
    assert built("merge").code == 0
    assert (built.repo.path / "plan.md").read_text() == PLAN.replace("[ ]", "[x]")
    assert built.git("status", "--porcelain") == ""
    assert built.git("for-each-ref", "refs/holdfast/rescue") == ""


def test_an_edit_of_the_plan_that_was_taken_in_gives_way_and_is_kept(built: Built) -> None:
    edited = PLAN + "- [ ] Third thing\n"
    built.repo.write("plan.md", edited)
    assert built.run().code == 0
    result = built("merge")
    assert result.code == 0, result.err
    assert (built.repo.path / "plan.md").read_text() == edited.replace("[ ]", "[x]")
    (ref,) = built.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue").split()
    assert built.git("show", f"{ref}:work/plan.md") + "\n" == edited


@pytest.fixture
def ignored(tmp_path: Path) -> Built:
    built = Built(tmp_path / "ignored")
    repo = scratch_repo(built.repo.path, hermetic_environment(built.root / "home"))
    repo.write(".gitignore", "plan.md\n")
    repo.commit("Ignore")
    repo.write("plan.md", PLAN)
    assert built.run(agent='echo "$HOLDFAST_TASK_ID" > "$HOLDFAST_TASK_ID"').code == 0
    return built


def test_a_plan_that_git_ignores_gets_its_marks_and_keeps_its_words(ignored: Built) -> None:
    ignored.repo.write("plan.md", f"{PLAN}\nMore words.\n")
    result = ignored("merge")
    assert result.code == 0, result.err
    marked = PLAN.replace("[ ]", "[x]")
    assert (ignored.repo.path / "plan.md").read_text() == f"{marked}\nMore words.\n"


@pytest.mark.parametrize("point", ["merge.plan.written", "merge.plan.durable"])
def test_killed_while_it_gets_its_marks_it_has_them_in_the_end(point: str, ignored: Built) -> None:
    assert ignored("merge", HOLDFAST_FAULT=point).code == -9
    assert ignored("merge").code == 0
    assert (ignored.repo.path / "plan.md").read_text() == PLAN.replace("[ ]", "[x]")
    assert ignored.git("status", "--porcelain") == ""


# -- killed --------------------------------------------------------------------------------------------


class Scene:
    """A dirty checkout before a merge, and everything that must be true after it."""

    def __init__(self, built: Built, words: tuple[str, ...], parents: int) -> None:
        self.built, self.words, self.parents = built, words, parents
        self.mine = belonging(built.repo)

    def points(self, arena: Path) -> list[str]:
        undisturbed = self.built.copy(arena / "undisturbed")
        log = arena / "points"
        result = undisturbed("merge", *self.words, HOLDFAST_FAULT_LOG=str(log))
        assert result.code == 0, result.err
        self.after = tree(undisturbed.repo)
        self.tree = undisturbed.git("rev-parse", "main^{tree}")
        self.status = undisturbed.git("status", "--porcelain")
        return log.read_text().split()

    def problems(self, point: str, arena: Path) -> list[str]:
        built = self.built.copy(arena / point)
        killed = built("merge", *self.words, HOLDFAST_FAULT=point)
        found = [] if killed.code == -9 else [f"not reached: {killed.code}"]
        found += [f"{p} changed by the kill" for p in self._changed(built)]
        pending = (built.repo.path / ".git/holdfast/trees/main/merge.json").exists()
        if pending and not self.words:
            said = built("status").out + built.run().out
            found += [] if said.count("finish it with: holdfast merge plan.md") == 2 else ["nobody says so"]
        again = built("merge", *self.words)
        found += [] if again.code == 0 else [f"again: {again.code} {again.err}"]
        found += [f"{p} changed in the end" for p in self._changed(built)] + self._wrong(built)
        shutil.rmtree(built.root)
        return [f"{point}: {problem}" for problem in found]

    def _changed(self, built: Built) -> list[str]:
        now = belonging(built.repo)
        return [part for part in now if now[part] != self.mine[part]]

    def _wrong(self, built: Built) -> list[str]:
        tip = built.git("rev-list", "--parents", "-1", "main").split()
        checks = {
            "the tree of main": built.git("rev-parse", "main^{tree}") == self.tree,
            "the parents of main": len(tip) == 1 + self.parents,
            "one commit of the merge's own": built.git("log", "--format=%s", "main").count("Merge branch")
            == (self.parents == 2),
            "the files": tree(built.repo) == self.after,
            "the status": built.git("status", "--porcelain") == self.status,
            "fsck": built.git("fsck", "--strict", "--no-dangling") == "",
            "no locks": not list((built.repo.path / ".git").rglob("*.lock")),
            "no scratch": not list((built.repo.path / ".git/holdfast").rglob("merge-*")),
            "no record": not list((built.repo.path / ".git/holdfast").rglob("merge.json")),
        }
        return [f"wrong: {what}" for what, right in checks.items() if not right]


@pytest.mark.parametrize(("words", "parents"), [((), 1), (("--no-ff",), 2), (("--squash",), 1)])
def test_killed_at_every_point_the_same_command_finishes_and_nothing_of_the_users_changes(
    words: tuple[str, ...], parents: int, busy: Built, tmp_path: Path
) -> None:
    if words:
        diverge(busy)
    scene = Scene(busy, words, parents)
    arena = tmp_path / "arena"
    arena.mkdir()
    points = scene.points(arena)
    assert {"merge.locked@1", "merge.after@1", "merge.file@9", "merge.index@1"} <= set(points)
    problems = [problem for point in points for problem in scene.problems(point, arena)]
    assert problems == []


@pytest.mark.parametrize("point", ["merge.record.durable", "merge.before", "merge.after"])
def test_killed_on_the_way_into_another_branch_the_same_command_finishes(point: str, busy: Built) -> None:
    busy.git("branch", "release")
    before = untouched(busy.repo)
    assert busy("merge", "--into", "release", HOLDFAST_FAULT=point).code == -9
    assert busy("merge", "--into", "release").code == 0
    after = untouched(busy.repo)
    assert (after["files"], after["index"]) == (before["files"], before["index"])
    assert busy.git("rev-parse", "release") == busy.git("rev-parse", "holdfast/plan")


def test_an_edit_made_while_a_merge_was_cut_off_is_not_overwritten(busy: Built) -> None:
    assert busy("merge", HOLDFAST_FAULT="merge.after").code == -9
    busy.repo.write("old.txt", "mine\n")
    refused = busy("merge")
    assert refused.code == 3
    assert "these have been edited since:\n  old.txt" in refused.err
    assert (busy.repo.path / "old.txt").read_text() == "mine\n"
    busy.repo.write("old.txt", "old.txt as it was\n")
    assert busy("merge").code == 0
    assert busy.git("diff", "--name-only", "main").split() == ["README.md", "kept.txt", "staged.txt"]


def test_git_makes_no_commit_from_an_index_that_has_not_followed(busy: Built) -> None:
    assert busy("merge", HOLDFAST_FAULT="merge.after").code == -9
    committing = start(("git", "commit", "-m", "x"), cwd=busy.repo.path, env=busy.repo.env)
    assert committing.code != 0
    assert "index.lock" in committing.err
    assert busy("merge").code == 0


def test_a_merge_of_another_plan_does_not_begin_before_the_first_is_finished(busy: Built) -> None:
    assert busy("merge", HOLDFAST_FAULT="merge.after").code == -9
    busy.repo.write("other.md", PLAN)
    assert busy("run", "other.md", "--agent-cmd", 'echo x > "$HOLDFAST_TASK_ID"').code == 0
    refused = busy("merge", "other.md", "--partial")
    assert refused.code == 3
    assert "finish it first: holdfast merge plan.md" in refused.err
    assert busy("merge", "plan.md").code == 0


def test_subjects_on_main_are_those_of_the_tasks(built: Built) -> None:
    assert built("merge").code == 0
    assert built.subjects()[-3:] == [ADDED, *DONE]
