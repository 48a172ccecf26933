"""Worktree mode: the run has a tree and a branch of its own, and the user's checkout is not touched."""

import shutil
from pathlib import Path

import pytest

from invariants import tree
from scratch import Cli, Repo, Result

PLAN = "# Shop\n\n- [ ] First thing\n- [ ] Second thing\n"
AGENT = 'echo "$HOLDFAST_TASK_TITLE" > "$HOLDFAST_TASK_ID.txt"'
MAKING = (
    "tree.branch.before",
    "tree.branch.after",
    "tree.before",
    "tree.added",
    "tree.filled",
    "tree.made.written",
    "tree.made.durable",
    "plan.taken.written",
    "plan.taken.durable",
    "seen.before",
    "seen.after",
)


@pytest.fixture
def shop(repo: Repo) -> Repo:
    """A plan that is committed, and a checkout in the middle of something."""
    repo.write("plan.md", PLAN)
    repo.commit("Add the plan")
    repo.write("README.md", "# Half written\n")
    repo.write("staged.txt", "staged\n")
    repo.git("add", "staged.txt")
    repo.write("untracked.txt", "untracked\n")
    return repo


def own(repo: Repo, name: str = "plan") -> Path:
    return repo.path.with_name(f"{repo.path.name}-worktrees") / name


def run(cli: Cli, *words: str, agent: str = AGENT, **env: str) -> Result:
    return cli("run", "plan.md", "--worktree", "--agent-cmd", agent, *words, env=env)


def subjects(repo: Repo, branch: str = "holdfast/plan") -> list[str]:
    return repo.git("log", "--reverse", "--format=%s", f"main..{branch}").splitlines()


def checkout(repo: Repo) -> dict[str, object]:
    index = (repo.path / ".git/index").read_bytes()
    return {"files": tree(repo), "index": index, "head": repo.git("rev-parse", "HEAD", "main")}


DONE = ["[holdfast] Complete task 1.1: First thing", "[holdfast] Complete task 1.2: Second thing"]


def test_a_dirty_checkout_stays_as_it_is_to_the_byte(shop: Repo, cli: Cli) -> None:
    before = checkout(shop)
    result = run(cli)
    assert result.code == 0, result.err
    assert f"works in {own(shop)}; your checkout is not touched" in result.out
    assert checkout(shop) == before
    assert subjects(shop) == DONE
    assert (own(shop) / "1.1.txt").read_text() == "First thing\n"
    assert shop.git("-C", str(own(shop)), "status", "--porcelain") == ""


def test_a_merge_under_way_in_the_checkout_stays_under_way(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", PLAN)
    repo.commit("Add the plan")
    repo.git("switch", "-q", "-c", "theirs")
    repo.write("README.md", "# Theirs\n")
    repo.commit("Theirs")
    repo.git("switch", "-q", "main")
    repo.write("README.md", "# Ours\n")
    repo.commit("Ours")
    assert cli("status", "plan.md").code == 0
    with pytest.raises(AssertionError):
        repo.git("merge", "theirs")
    before = checkout(repo), (repo.path / ".git/MERGE_HEAD").read_bytes()
    assert run(cli).code == 0
    assert (checkout(repo), (repo.path / ".git/MERGE_HEAD").read_bytes()) == before


def test_worktree_mode_is_the_default(shop: Repo, cli: Cli) -> None:
    del cli.env["HOLDFAST_MODE"]
    assert cli("run", "plan.md", "--agent-cmd", AGENT).code == 0
    assert subjects(shop) == DONE


@pytest.mark.parametrize("point", MAKING)
def test_the_making_of_a_tree_can_be_killed_anywhere(point: str, repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", PLAN)  # not committed: the run has to take it in
    killed = run(cli, HOLDFAST_FAULT=point)
    assert killed.code == -9, f"{point} was not reached: {killed.out}{killed.err}"
    result = run(cli)
    assert result.code == 0, result.err
    assert subjects(repo) == ["[holdfast] Add plan: plan", *DONE]
    assert repo.git("-C", str(own(repo)), "status", "--porcelain") == ""
    assert [tree.name for tree in own(repo).parent.iterdir()] == ["plan"]
    before = repo.git("for-each-ref")
    assert run(cli).code == 0
    assert repo.git("for-each-ref") == before


def test_a_killed_run_goes_on_in_its_tree(shop: Repo, cli: Cli) -> None:
    before = checkout(shop)
    assert run(cli, HOLDFAST_FAULT="agent.after@2").code == -9
    result = run(cli)
    assert result.code == 0, result.err
    assert "found 1 changed file of an interrupted attempt; goes on in place" in result.out
    assert subjects(shop) == DONE
    assert checkout(shop) == before


def test_a_lock_on_the_index_of_the_checkout_is_the_users(shop: Repo, cli: Cli) -> None:
    assert run(cli, HOLDFAST_FAULT="agent.after@2").code == -9
    lock = shop.write(".git/index.lock", "a commit whose editor is open\n")
    assert run(cli).code == 0
    assert lock.read_text() == "a commit whose editor is open\n"
    lock.unlink()
    assert subjects(shop) == DONE


def test_a_tree_that_was_deleted_is_made_again(shop: Repo, cli: Cli) -> None:
    assert run(cli, "--only", "1.1").code == 0
    shutil.rmtree(own(shop))
    assert "1 of 2 tasks done" in cli("status", "plan.md", env={"HOLDFAST_MODE": "worktree"}).out
    result = run(cli)
    assert result.code == 0, result.err
    assert f"the working tree {own(shop)} is gone; made again from its branch" in result.out
    assert subjects(shop) == DONE
    assert (own(shop) / "1.1.txt").exists()


def test_a_sealed_commit_is_published_though_its_tree_was_deleted(shop: Repo, cli: Cli) -> None:
    assert run(cli, HOLDFAST_FAULT="candidate.after@1").code == -9
    shutil.rmtree(own(shop))
    result = run(cli)
    assert result.code == 0, result.err
    assert "published it; no agent was needed" in result.out
    assert subjects(shop) == DONE
    assert shop.git("-C", str(own(shop)), "status", "--porcelain") == ""


def test_a_tree_that_leads_nowhere_is_kept_and_made_anew(shop: Repo, cli: Cli) -> None:
    assert run(cli, "--only", "1.1").code == 0
    (own(shop) / "mine.txt").write_text("somebody's\n")
    (own(shop) / ".git").write_text("gitdir: /nowhere\n")
    assert run(cli).code == 0
    assert subjects(shop) == DONE
    (broken,) = own(shop).parent.glob("plan.broken-*")
    assert (broken / "mine.txt").read_text() == "somebody's\n"


def test_a_directory_in_the_way_is_not_touched(shop: Repo, cli: Cli) -> None:
    own(shop).mkdir(parents=True)
    (own(shop) / "mine.txt").write_text("mine\n")
    result = run(cli)
    assert result.code == 3
    assert "is in the way" in result.err
    assert f"mv {own(shop)}" in result.err
    assert (own(shop) / "mine.txt").read_text() == "mine\n"


def test_changes_of_somebody_in_the_tree_are_refused(shop: Repo, cli: Cli) -> None:
    assert run(cli, "--only", "1.1").code == 0
    (own(shop) / "mine.txt").write_text("mine\n")
    result = run(cli)
    assert result.code == 3
    assert f"{own(shop)} has changes that are not Holdfast's" in result.err
    assert (own(shop) / "mine.txt").read_text() == "mine\n"


def test_partial_work_is_kept_under_rescue_when_all_state_is_lost(shop: Repo, cli: Cli) -> None:
    assert run(cli, HOLDFAST_FAULT="agent.after@2").code == -9
    shutil.rmtree(shop.path / ".git/holdfast")
    result = run(cli)
    assert result.code == 0, result.err
    assert "kept under rescue" in result.out
    assert subjects(shop) == DONE
    refs = shop.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue").split()
    assert any("1.2.txt" in shop.git("ls-tree", "-r", "--name-only", ref) for ref in refs)


def test_the_run_branch_must_not_be_checked_out_by_the_user(shop: Repo, cli: Cli) -> None:
    shop.git("stash", "-u")
    shop.git("switch", "-q", "-c", "holdfast/plan")
    result = run(cli)
    assert result.code == 3
    assert "checked out in your own working tree" in result.err


def test_another_tree_that_has_the_branch_is_adopted(shop: Repo, cli: Cli) -> None:
    elsewhere = shop.path.with_name("elsewhere")
    shop.git("worktree", "add", "-q", "-b", "holdfast/plan", str(elsewhere))
    assert run(cli).code == 0
    assert (elsewhere / "1.2.txt").exists()
    assert not own(shop).exists()


def test_a_run_started_in_its_own_tree_works_there(shop: Repo, cli: Cli) -> None:
    assert run(cli, "--only", "1.1").code == 0
    inside = cli("run", "plan.md", "--worktree", "--agent-cmd", AGENT, cwd=own(shop))
    assert inside.code == 0, inside.err
    assert subjects(shop) == DONE
    assert "2 of 2" in cli("status", "plan.md", cwd=own(shop)).out


def test_two_plans_run_beside_each_other(shop: Repo, cli: Cli) -> None:
    shop.write("docs/plan.md", PLAN)
    assert run(cli).code == 0
    other = cli("run", "docs/plan.md", "--worktree", "--agent-cmd", AGENT, "--branch", "other/{name}")
    assert other.code == 0, other.err
    assert subjects(shop, "other/plan") == ["[holdfast] Add plan: plan", *DONE]
    assert len(list(own(shop).parent.iterdir())) == 2


def test_a_branch_name_that_git_does_not_take_is_explained(shop: Repo, cli: Cli) -> None:
    result = run(cli, "--branch", "main/{name}")
    assert result.code == 3
    assert "main/plan cannot be made" in result.err
    assert "--branch NAME" in result.err


def test_dry_run_makes_nothing(shop: Repo, cli: Cli) -> None:
    result = run(cli, "--dry-run")
    assert f"tree      {own(shop)} (would be made)" in result.out
    assert "worktree, on branch holdfast/plan" in result.out
    assert not own(shop).exists()
    assert shop.git("for-each-ref", "refs/heads/holdfast") == ""


def test_setup_only_makes_the_tree_and_stops(shop: Repo, cli: Cli) -> None:
    result = cli("run", "plan.md", "--worktree", "--setup-only")
    assert result.code == 0, result.err
    assert f"ready: {own(shop)}, on branch holdfast/plan" in result.out
    assert subjects(shop) == []


# -- the plan in the checkout and the plan of the run ----------------------------------------------------


def test_edits_in_the_checkout_are_taken_in_by_identity(shop: Repo, cli: Cli) -> None:
    assert run(cli, "--only", "1.1").code == 0
    shop.write("plan.md", "# Shop\n\n- [ ] Before all\n- [ ] First thing\n- [ ] Second thing, better\n")
    result = run(cli)
    assert result.code == 0, result.err
    assert "took in your edits of plan.md" in result.out
    assert subjects(shop)[1] == "[holdfast] Update plan: plan"
    plan = shop.git("show", "holdfast/plan:plan.md")
    assert plan == "# Shop\n\n- [x] Before all\n- [x] First thing\n- [x] Second thing, better"
    assert sorted(p.name for p in own(shop).glob("1.*.txt")) == ["1.1.txt", "1.3.txt"]


def test_an_edit_is_taken_back_too(shop: Repo, cli: Cli) -> None:
    shop.write("plan.md", PLAN + "- [ ] A third\n")
    assert run(cli, "--only", "1.1").code == 0
    shop.write("plan.md", PLAN)
    assert run(cli).code == 0
    assert "A third" not in shop.git("show", "holdfast/plan:plan.md")


def test_a_plan_edited_on_both_sides_is_left_to_the_user(shop: Repo, cli: Cli) -> None:
    assert run(cli, "--only", "1.1").code == 0
    (own(shop) / "plan.md").write_text("# Shop\n\n- [x] First thing\n- [ ] Second thing here\n")
    shop.write("plan.md", "# Shop\n\n- [ ] First thing\n- [ ] Second thing there\n")
    shop.git("-C", str(own(shop)), "commit", "-qam", "Edit the plan")
    result = run(cli)
    assert result.code == 0, result.err
    assert "the edit is not taken in: both it and the one on the run branch have changed" in result.out
    assert "Second thing here" in shop.git("show", "holdfast/plan:plan.md")


@pytest.mark.parametrize("now", ["Second thing, again", "Second thing"], ids=["again", "back"])
def test_an_edit_of_what_the_user_has_committed_is_taken_in(shop: Repo, cli: Cli, now: str) -> None:
    """The branch goes on from the user's commit, and with it their first edit; the second one is on top."""
    assert run(cli, HOLDFAST_FAULT="flight.durable").code == -9
    assert cli("reset", "1.1", "--plan", "plan.md").code == 0
    shop.write("plan.md", PLAN.replace("Second thing", "Second thing, edited"))
    shop.commit("Edit the plan")
    shop.write("plan.md", PLAN.replace("Second thing", now))
    result = run(cli)
    assert result.code == 0 and "not taken in" not in result.out, result.out
    assert f"- [x] {now}" in shop.git("show", "holdfast/plan:plan.md").splitlines()


def test_a_branch_with_nothing_done_starts_from_where_the_user_is_now(shop: Repo, cli: Cli) -> None:
    assert cli("run", "plan.md", "--worktree", "--setup-only").code == 0
    tip = shop.commit("Go on in the meantime")
    result = run(cli)
    assert result.code == 0, result.err
    assert f"the branch goes on from {tip[:12]}" in result.out
    assert shop.git("merge-base", "main", "holdfast/plan") == tip


@pytest.mark.parametrize(
    "point", ["tree.moving.durable", "tree.forward.before", "tree.forward.after", "restore.after"]
)
def test_moving_on_to_where_the_user_is_can_be_killed(point: str, shop: Repo, cli: Cli) -> None:
    assert cli("run", "plan.md", "--worktree", "--setup-only").code == 0
    tip = shop.commit("Go on in the meantime")
    assert run(cli, HOLDFAST_FAULT=point).code == -9
    assert run(cli).code == 0
    assert shop.git("merge-base", "main", "holdfast/plan") == tip
    assert subjects(shop) == DONE


def test_a_plan_that_git_ignores_is_copied_into_the_tree(repo: Repo, cli: Cli) -> None:
    repo.write(".gitignore", "plan.md\n")
    repo.commit("Ignore")
    repo.write("plan.md", PLAN)
    assert run(cli).code == 0
    assert subjects(repo) == DONE
    assert (own(repo) / "plan.md").read_text() == PLAN.replace("[ ]", "[x]")
    assert (repo.path / "plan.md").read_text() == PLAN


def test_an_idea_must_be_committed_before_its_run_begins_in_a_tree(repo: Repo, cli: Cli) -> None:
    for part in ("idea", "spec"):
        repo.write(f"shop/shop-{part}.md", "words\n")
    repo.write("shop/shop-plan.md", "## Steel Thread 1: Go\n\n- [ ] **Task 1.1: First**\n")
    begun = ("run", "shop", "--worktree", "--agent-cmd", AGENT)
    refused = cli(*begun)
    assert refused.code == 3
    assert "the idea's files have changes that are not committed" in refused.err
    repo.commit("Add the idea")
    assert cli(*begun).code == 0
    assert subjects(repo, "idea/shop") == ["[holdfast] Complete task 1.1: First"]


# -- set-up ----------------------------------------------------------------------------------------------


def test_a_tree_is_set_up_once_and_again_when_its_inputs_change(shop: Repo, cli: Cli) -> None:
    shop.write(".gitignore", ".env\nbuilt\n")
    shop.write("lock.json", "1\n")
    settings = '[worktree]\ncopy = [".env"]\nsetup = "cat .env >> built"\nsetup_inputs = ["lock.json"]\n'
    shop.write("holdfast.toml", settings)
    shop.commit("Configure")
    shop.write(".env", "KEY=1\n")
    assert "sets the working tree up: cat .env >> built" in run(cli, "--only", "1.1").out
    assert (own(shop) / "built").read_text() == "KEY=1\n"
    assert "sets the working tree up" not in run(cli, agent=f"{AGENT}; echo 2 > lock.json").out
    assert "sets the working tree up" in run(cli).out
    shop.write(".env", "KEY=2\n")
    run(cli)
    assert (own(shop) / ".env").read_text() == "KEY=2\n"


def test_a_set_up_that_fails_ends_the_run_with_its_words(shop: Repo, cli: Cli) -> None:
    result = run(cli, HOLDFAST_WORKTREE_SETUP="echo no network; exit 7")
    assert result.code == 1
    assert "failed (exit 7):\nno network" in result.err
    assert subjects(shop) == []
    assert run(cli).code == 0


def test_a_copied_file_must_be_one_that_git_ignores(shop: Repo, cli: Cli) -> None:
    result = run(cli, HOLDFAST_WORKTREE_COPY="untracked.txt")
    assert result.code == 2
    assert "would become part of the commits" in result.err


def test_a_set_up_that_changes_tracked_files_is_refused(shop: Repo, cli: Cli) -> None:
    result = run(cli, HOLDFAST_WORKTREE_SETUP="echo more >> README.md")
    assert result.code == 3
    assert "would become part of a task's commit: README.md" in result.err


# -- by hand ---------------------------------------------------------------------------------------------


def test_a_task_is_skipped_in_the_tree_of_the_run(shop: Repo, cli: Cli) -> None:
    before = checkout(shop)
    assert run(cli, "--only", "1.1").code == 0
    assert cli("skip", "1.2", env={"HOLDFAST_MODE": "worktree"}).code == 0
    assert subjects(shop)[-1] == "[holdfast] Skip task 1.2: Second thing"
    assert checkout(shop) == before


def test_a_run_that_was_made_in_place_is_found_there_again(repo: Repo, cli: Cli) -> None:
    del cli.env["HOLDFAST_MODE"]
    repo.write("plan.md", PLAN)
    repo.commit("Add the plan")
    assert cli("run", "plan.md", "--trunk", "--agent-cmd", AGENT, "--only", "1.1").code == 0
    assert "branch main" in cli("status", "plan.md").out
    assert cli("skip", "1.2").code == 0
    assert repo.git("log", "-1", "--format=%s") == "[holdfast] Skip task 1.2: Second thing"


def test_a_tree_that_the_user_locked_or_moved_by_git_is_worked_in_where_it_is(shop: Repo, cli: Cli) -> None:
    assert run(cli, "--only", "1.1").code == 0
    elsewhere = shop.path.with_name("moved")
    shop.git("worktree", "move", str(own(shop)), str(elsewhere))
    shop.git("worktree", "lock", str(elsewhere))
    result = run(cli)
    assert result.code == 0, result.err
    assert (elsewhere / "1.2.txt").exists() and not own(shop).exists()


@pytest.mark.parametrize("mode", ["--worktree", "--trunk"])
def test_a_torn_note_of_gits_about_any_tree_is_mended(repo: Repo, cli: Cli, mode: str) -> None:
    """Git dies while it makes a tree, and then fails in every other one."""
    repo.write("plan.md", PLAN)
    repo.commit("Add the plan")
    repo.git("worktree", "add", "--quiet", "-b", "mine", "../mine")
    (repo.path / ".git/worktrees/mine/commondir").write_text("")
    assert cli("run", "plan.md", mode, "--agent-cmd", AGENT).code == 0
    assert repo.git("-C", "../mine", "log", "-1", "--format=%s") == "Add the plan"


LED_AWAY = {
    "detached": "git checkout -q --detach",
    "a branch of its own": "git checkout -q -b mine",
    "the user's branch": "git checkout -q other",
    "its branch deleted": "git checkout -q --detach && git branch -q -D holdfast/plan",
}


@pytest.mark.parametrize("deed", LED_AWAY.values(), ids=LED_AWAY)
def test_a_head_that_the_agent_led_away_before_all_died_comes_back(shop: Repo, cli: Cli, deed: str) -> None:
    shop.git("branch", "other")
    strayed = f"{deed}; {AGENT}; git add -A; git commit -qm x"
    agent = f'test -e "$TMPDIR/led" || {{ : > "$TMPDIR/led"; {strayed}; }}; {AGENT}'
    assert run(cli, agent=agent, HOLDFAST_FAULT="agent.after@1").code == -9
    made = shop.git("-C", str(own(shop)), "rev-parse", "HEAD")
    result = run(cli, agent=agent)
    assert result.code == 0, result.err
    assert subjects(shop) == DONE
    assert shop.git("rev-parse", "other") == shop.git("rev-parse", "main")
    assert shop.git("for-each-ref", f"--contains={made}") != ""
    assert shop.git("worktree", "list").count("\n") == 1


def test_commits_made_in_the_runs_tree_on_no_branch_are_kept(shop: Repo, cli: Cli) -> None:
    assert run(cli, "--only", "1.1").code == 0
    shop.git("-C", str(own(shop)), "switch", "--quiet", "--detach")
    (own(shop) / "mine.txt").write_text("mine\n")
    shop.git("-C", str(own(shop)), "add", "mine.txt")
    shop.git("-C", str(own(shop)), "commit", "--quiet", "--no-verify", "-m", "Mine")
    mine = shop.git("-C", str(own(shop)), "rev-parse", "HEAD")
    result = run(cli)
    assert result.code == 0, result.err
    assert shop.git("for-each-ref", f"--contains={mine}", "refs/holdfast/rescue") != ""
    assert subjects(shop) == DONE


@pytest.mark.parametrize("title", ["First thing, edited twice", "First thing"], ids=["again", "back"])
@pytest.mark.parametrize("point", ["taken.after", "plan.taken.durable", "commit.after", "seen.before"])
def test_an_edit_after_a_death_while_the_last_one_was_taken_in_is_taken_in_too(
    shop: Repo, cli: Cli, point: str, title: str
) -> None:
    assert run(cli).code == 0
    shop.write("plan.md", PLAN.replace("First thing", "First thing, edited"))
    assert run(cli, HOLDFAST_FAULT=point).code == -9
    edited = PLAN.replace("First thing", title)
    shop.write("plan.md", edited)
    result = run(cli)
    assert result.code == 0 and "not taken in" not in result.out, result.out
    assert shop.git("show", "holdfast/plan:plan.md") == edited.replace("[ ]", "[x]").rstrip("\n")


@pytest.mark.parametrize("fault", ["", "agent.after"], ids=["", "and all died"])
def test_the_branch_of_the_users_checkout_comes_back(shop: Repo, cli: Cli, fault: str) -> None:
    """Deleted by an agent, or moved to a commit of its own."""
    before = checkout(shop)
    moved = f"git update-ref -d refs/heads/main; {AGENT}"
    assert run(cli, "--only", "1.1", agent=moved, HOLDFAST_FAULT=fault).code == (-9 if fault else 0)
    assert run(cli, "--only", "1.1").code == 0
    assert checkout(shop) == before
    commit = "git commit-tree -p main -m mine HEAD^{tree}"
    moved = f'git update-ref -m "$GIT_REFLOG_ACTION" refs/heads/main $({commit}); {AGENT}'
    assert run(cli, agent=moved, HOLDFAST_FAULT=fault).code == (-9 if fault else 0)
    assert run(cli).code == 0
    assert checkout(shop) == before
    assert subjects(shop) == DONE


def test_what_the_user_does_on_their_branch_meanwhile_stays(shop: Repo, cli: Cli) -> None:
    users = f"env -u GIT_REFLOG_ACTION git -C {shop.path} commit -q --no-verify -m Theirs -- staged.txt"
    assert run(cli, agent=f"{users}; {AGENT}").code == 0
    assert shop.git("log", "--format=%s", "main").splitlines()[0] == "Theirs"


def test_a_tree_that_the_user_put_on_another_branch_is_theirs(shop: Repo, cli: Cli) -> None:
    """The run makes another one; where that is taken too, it says how to go on."""
    assert run(cli, "--only", "1.1").code == 0
    shop.git("-C", str(own(shop)), "switch", "--quiet", "-c", "mine")
    assert run(cli, "--only", "1.2").code == 0
    (second,) = [tree for tree in own(shop).parent.iterdir() if tree != own(shop)]
    shop.git("-C", str(second), "switch", "--quiet", "-c", "mine-too")
    result = run(cli)
    assert result.code == 3
    assert f"git -C {second} switch holdfast/plan" in result.err
    assert shop.git("-C", str(own(shop)), "rev-parse", "--abbrev-ref", "HEAD") == "mine"
    shop.git("-C", str(second), "switch", "--quiet", "holdfast/plan")
    assert run(cli).code == 0


@pytest.mark.parametrize("point", ["candidate.after@2", "commit.before@2"])
def test_an_edit_does_not_undo_a_task_whose_commit_was_sealed(shop: Repo, cli: Cli, point: str) -> None:
    assert run(cli, HOLDFAST_FAULT=point).code == -9
    shop.write("plan.md", PLAN.replace("Second thing", "Second thing, edited"))
    result = run(cli)
    assert result.code == 0, result.err
    trailers = "--format=%(trailers:key=Holdfast-Task,valueonly,separator=%x2C)"
    assert sorted(shop.git("log", trailers, "main..holdfast/plan").split()) == ["1.1", "1.2"]
