"""What the user stages or commits between a crash and the next run is not lost when the index follows."""

import shutil

import pytest

from scratch import Cli, Repo

AGENT = 'echo work > "work-$HOLDFAST_TASK_ID"; echo "<SUCCESS>done</SUCCESS>"'
RUN = ("run", "plan.md", "--trunk", "--agent-cmd", AGENT)


@pytest.fixture
def planned(repo: Repo) -> Repo:
    repo.write("plan.md", "- [ ] one\n- [ ] two\n")
    repo.commit("plan")
    return repo


@pytest.mark.parametrize("point", ["candidate.after", "commit.after", "plan.synced"])
def test_bytes_that_are_staged_alone_are_kept_before_the_index_follows(
    planned: Repo, cli: Cli, point: str
) -> None:
    assert cli(*RUN, env={"HOLDFAST_FAULT": point}).code == -9
    planned.write("draft.txt", "staged\n")
    planned.git("add", "draft.txt")
    planned.write("draft.txt", "in the tree\n")
    assert cli(*RUN).code == 3
    assert (planned.path / "draft.txt").read_text() == "in the tree\n"
    reachable = planned.git("rev-list", "--objects", "--no-object-names", "--glob=refs/holdfast/rescue")
    assert planned.git("hash-object", "--stdin", input="staged\n") in reachable.split()


@pytest.mark.parametrize("point", ["candidate.after", "commit.after"])
def test_a_mark_whose_record_is_lost_leaves_the_index_to_the_user(
    planned: Repo, cli: Cli, point: str
) -> None:
    planned.write("draft.txt", "staged\n")
    planned.git("add", "draft.txt")
    assert cli("skip", "1", "--plan", "plan.md", env={"HOLDFAST_FAULT": point}).code == -9
    shutil.rmtree(planned.path / ".git/holdfast")
    assert cli(*RUN).code == 3
    assert planned.git("status", "--porcelain") == "A  draft.txt"
    assert planned.git("show", "HEAD:plan.md") == "- [-] one\n- [ ] two"


def test_an_index_that_follows_as_usual_needs_no_snapshot(planned: Repo, cli: Cli) -> None:
    for point in ("candidate.after", "commit.after", "index.after"):
        assert cli(*RUN, env={"HOLDFAST_FAULT": point}).code in (0, -9)
    assert cli(*RUN).code == 0
    assert planned.git("for-each-ref", "refs/holdfast/rescue") == ""


@pytest.mark.parametrize("point", ["commit.after", "plan.synced", "index.after"])
def test_a_file_committed_right_after_a_commit_landed_stays_in_the_index(
    planned: Repo, cli: Cli, point: str
) -> None:
    assert cli(*RUN, env={"HOLDFAST_FAULT": point}).code == -9
    planned.write("note.txt", "by hand\n")
    planned.git("add", "note.txt")
    planned.git("commit", "-qm", "By hand", "--", "note.txt")
    result = cli(*RUN)
    assert result.code == 0, result.out + result.err
    assert planned.git("status", "--porcelain") == ""
    assert planned.git("show", "HEAD:note.txt") == "by hand"


def test_a_plan_committed_before_it_had_the_mark_of_the_commit_that_landed_gets_it(
    planned: Repo, cli: Cli
) -> None:
    assert cli(*RUN, env={"HOLDFAST_FAULT": "commit.after"}).code == -9
    planned.write("plan.md", "- [ ] one\n- [ ] two\n- [ ] three\n")
    planned.git("commit", "-qm", "By hand", "--", "plan.md")
    result = cli(*RUN)
    assert result.code == 0, result.out + result.err
    assert planned.git("status", "--porcelain") == ""
    done = planned.git("log", "--format=%(trailers:key=Holdfast-Task,valueonly,separator=)").split()
    assert sorted(done) == ["1", "2", "3"]


def test_a_plan_committed_right_after_a_mark_by_hand_landed_stays_in_the_index(
    planned: Repo, cli: Cli
) -> None:
    assert cli("skip", "1", "--plan", "plan.md", env={"HOLDFAST_FAULT": "commit.after"}).code == -9
    planned.write("plan.md", "- [-] one\n- [ ] two\n- [ ] three\n")
    planned.git("commit", "-qm", "By hand", "--", "plan.md")
    result = cli(*RUN)
    assert result.code == 0, result.out + result.err
    assert planned.git("status", "--porcelain") == ""
    assert planned.git("show", "HEAD:plan.md") == "- [-] one\n- [x] two\n- [x] three"
    assert "Update plan" not in planned.git("log", "--format=%s")
