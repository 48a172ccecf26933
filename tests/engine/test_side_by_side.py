"""Several tasks at once: each in a tree of its own, one commit each in one line, whatever dies."""

import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from scratch import HOLDFAST, Cli, Repo, Result

DIAMOND = """\
# Diamond

- [ ] T1 Begin
- [ ] T2 Left
  depends: T1
- [ ] T3 Right
  depends: T1
- [ ] T4 Join
  depends: T2, T3
"""
WRITE = 'echo "$HOLDFAST_TASK_ID" > "$HOLDFAST_TASK_ID.txt"'
ALL = ["T1", "T2", "T3", "T4"]
MEET = f"""{WRITE}
case $HOLDFAST_TASK_ID in
T2|T3) touch "$MEETING/$HOLDFAST_TASK_ID"
     while ! test -e "$MEETING/T2" || ! test -e "$MEETING/T3"; do sleep 0.05; done;;
T4) ls T2.txt T3.txt > seen.txt;;
esac
"""
"""T2 and T3 wait for each other: they end only where both run at once."""


@pytest.fixture
def shop(repo: Repo, cli: Cli, tmp_path: Path) -> Repo:
    repo.write("plan.md", DIAMOND)
    repo.commit("Add the plan")
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    cli.env["MEETING"] = str(meeting)
    return repo


def run(cli: Cli, *words: str, agent: str = MEET, **env: str) -> Result:
    return cli("run", "plan.md", "--worktree", "-j", "3", "--agent-cmd", agent, *words, env=env)


def subjects(repo: Repo, branch: str = "holdfast/plan") -> list[str]:
    assert repo.git("rev-list", "--merges", branch) == ""
    return repo.git("log", "--reverse", "--format=%s", f"main..{branch}").splitlines()


def tasks(repo: Repo, branch: str = "holdfast/plan") -> list[str]:
    trailers = "--format=%(trailers:key=Holdfast-Task,valueonly,separator=%x2C)"
    return repo.git("log", "--reverse", trailers, f"main..{branch}").split()


def own(repo: Repo, name: str = "plan") -> Path:
    return repo.path.with_name(f"{repo.path.name}-worktrees") / name


def show(repo: Repo, path: str, branch: str = "holdfast/plan") -> str:
    return repo.git("show", f"{branch}:{path}")


def nothing_left(repo: Repo) -> None:
    assert (
        repo.git("for-each-ref", "refs/holdfast/base", "refs/holdfast/candidate", "refs/holdfast/done") == ""
    )
    assert repo.git("for-each-ref", "refs/heads/holdfast-task", "refs/heads/ticket") == ""
    assert list((repo.path / ".git/holdfast").rglob("in-flight.json")) == []
    for tree in own(repo).parent.iterdir():
        assert repo.git("-C", str(tree), "status", "--porcelain") == ""
    assert repo.git("-C", str(own(repo)), "rev-parse", "--abbrev-ref", "HEAD") == "holdfast/plan"


def test_independent_tasks_run_at_once_and_a_join_sees_both(shop: Repo, cli: Cli) -> None:
    result = run(cli)
    assert result.code == 0, result.err
    assert tasks(shop)[0] == "T1" and tasks(shop)[3] == "T4" and sorted(tasks(shop)) == ALL
    assert show(shop, "seen.txt") == "T2.txt\nT3.txt"
    assert show(shop, "plan.md") == DIAMOND.replace("[ ]", "[x]").rstrip("\n")
    assert (own(shop) / "seen.txt").exists()
    nothing_left(shop)
    before = shop.git("for-each-ref")
    assert run(cli).code == 0
    assert shop.git("for-each-ref") == before


def test_each_commit_holds_its_own_mark_and_work_alone(shop: Repo, cli: Cli) -> None:
    assert run(cli).code == 0
    for commit in shop.git("rev-list", "main..holdfast/plan").split():
        task = shop.git("log", "-1", "--format=%(trailers:key=Holdfast-Task,valueonly)", commit).strip()
        changed = set(shop.git("diff-tree", "-r", "--no-commit-id", "--name-only", commit).split())
        assert changed - {"seen.txt"} == {"plan.md", f"{task}.txt"}
        diff = shop.git("diff", "-U0", f"{commit}^", commit, "--", "plan.md").splitlines()
        assert [line[:9] for line in diff if line.startswith("+- ")] == [f"+- [x] {task}"]


def test_tasks_of_plain_lists_wait_for_what_stands_before_them(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", "- [ ] One\n- [ ] Two\n")
    repo.commit("Add the plan")
    alone = 'test "$HOLDFAST_TASK_TITLE" = One || test -e 1.txt || exit 1; sleep 0.2; ' + WRITE
    assert run(cli, "--max-attempts", "1", agent=alone).code == 0
    assert tasks(repo) == ["1", "2"]


def test_neighbours_tagged_as_parallel_do_not_wait_for_each_other(shop: Repo, cli: Cli) -> None:
    shop.write("plan.md", "- [ ] T1 Begin\n- [ ] T2 [P] Left\n- [ ] T3 [P] Right\n- [ ] T4 Join\n")
    shop.commit("Tag them")
    assert run(cli).code == 0
    assert show(shop, "seen.txt") == "T2.txt\nT3.txt"


def test_tasks_that_name_the_same_file_do_not_run_together(shop: Repo, cli: Cli, tmp_path: Path) -> None:
    shop.write("plan.md", "- [ ] T2 [P] Left\n  files: same.txt\n- [ ] T3 [P] Right\n  files: same.txt\n")
    shop.commit("Name files")
    alone = f'mkdir "{tmp_path}/alone" && sleep 0.3 && {WRITE} && echo $HOLDFAST_TASK_ID >> same.txt'
    alone += f' && rmdir "{tmp_path}/alone"'
    assert run(cli, "--max-attempts", "1", agent=alone).code == 0
    assert show(shop, "same.txt") == "T2\nT3"


CONFLICTING = f"""{MEET}
if grep -qs '<<<<<<<' same.txt; then echo both > same.txt
elif test "$HOLDFAST_TASK_ID" = T2 -o "$HOLDFAST_TASK_ID" = T3; then echo "$HOLDFAST_TASK_ID" > same.txt; fi
"""


def test_a_conflict_goes_back_to_the_agent_with_both_versions(shop: Repo, cli: Cli) -> None:
    result = run(cli, agent=CONFLICTING)
    assert result.code == 0, result.err
    assert "conflicts with what landed meanwhile in same.txt; back to the agent" in result.out
    assert show(shop, "same.txt") == "both"
    assert sorted(tasks(shop)) == ALL
    prompts = [p.read_text() for p in (shop.path / ".git/holdfast/logs").rglob("*.prompt.md")]
    assert sum("between conflict markers" in prompt for prompt in prompts) == 1
    nothing_left(shop)


def test_a_conflict_that_stays_fails_that_task_alone(shop: Repo, cli: Cli) -> None:
    """Whoever has to resolve it makes the other's file conflict anew, as often as it is asked."""
    stubborn = f"""{MEET}
case $HOLDFAST_TASK_ID in T2|T3)
  if grep -qs '<<<<<<<' same.txt; then
    echo "$$" > same.txt
    blob=$(echo "not $$" | git hash-object -w --stdin)
    git read-tree --index-output="$MEETING/index" holdfast/plan
    GIT_INDEX_FILE="$MEETING/index" git update-index --cacheinfo "100644,$blob,same.txt"
    tree=$(GIT_INDEX_FILE="$MEETING/index" git write-tree)
    commit=$(git commit-tree -p holdfast/plan -m Mine "$tree")
    git update-ref -m 'commit: Mine' refs/heads/holdfast/plan "$commit"
  else echo "$HOLDFAST_TASK_ID" > same.txt; fi;;
esac
"""
    result = run(cli, "--on-failure", "continue", agent=stubborn)
    assert result.code == 1, result.out
    landed = tasks(shop)
    assert landed[0] == "T1" and len(landed) == 2 and landed[1] in ("T2", "T3")
    (loser,) = {"T2", "T3"} - {landed[1]}
    assert f"task {loser} failed; blocked by that: T4" in result.err
    assert "it conflicts with what other tasks landed, still after 2 rounds" in result.out
    refs = shop.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue").split()
    assert any(f"{loser}.txt" in shop.git("ls-tree", "-r", "--name-only", ref) for ref in refs)
    nothing_left(shop)


def test_a_merged_tree_that_the_gates_refuse_goes_back_to_the_agent(shop: Repo, cli: Cli) -> None:
    agent = f"{MEET}\ntest -e T2.txt && test -e T3.txt && touch fixed.txt; exit 0"
    gate = "test ! -e T2.txt || test ! -e T3.txt || test -e fixed.txt"
    result = run(cli, "--verify", gate, agent=agent)
    assert result.code == 0, result.err
    assert "failed" in result.out
    assert show(shop, "fixed.txt") == ""
    nothing_left(shop)


def test_the_users_commit_on_the_run_branch_stays(shop: Repo, cli: Cli) -> None:
    commit = (
        "if test $HOLDFAST_TASK_ID = T2; then "
        "commit=$(git commit-tree -p holdfast/plan -m Mine 'holdfast/plan^{tree}'); "
        "git update-ref -m 'commit: Mine' refs/heads/holdfast/plan $commit; fi"
    )
    result = run(cli, agent=f"{MEET}\n{commit}")
    assert result.code == 0, result.err
    assert "Mine" in subjects(shop)
    assert sorted(tasks(shop)) == ALL


def test_a_run_branch_that_an_agent_moves_is_put_back(shop: Repo, cli: Cli) -> None:
    result = run(
        cli, agent=f"{MEET}\ntest $HOLDFAST_TASK_ID != T2 || git update-ref refs/heads/holdfast/plan main"
    )
    assert result.code == 0, result.err
    assert sorted(tasks(shop)) == ALL
    nothing_left(shop)


@pytest.mark.parametrize("branch", ["there", "taken away"])
def test_a_stop_ends_every_agent_and_the_same_command_goes_on(
    shop: Repo, cli: Cli, tmp_path: Path, branch: str
) -> None:
    waiting = f"{WRITE}; test -e {tmp_path}/go || {{ touch {tmp_path}/at-$HOLDFAST_TASK_ID; sleep 60; }}"
    first = "test $HOLDFAST_TASK_ID != T1 || exit 0;"
    command = (
        *HOLDFAST,
        "run",
        "plan.md",
        "--worktree",
        "-j",
        "3",
        "--agent-cmd",
        f"{WRITE}; {first} {waiting}",
    )
    process = subprocess.Popen(
        command, cwd=shop.path, env=cli.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while not all((tmp_path / f"at-{task}").exists() for task in ("T2", "T3")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    running = cli("status", "plan.md").out
    assert "tasks T2, T3" in running and "  ▶ T2" in running and "  ▶ T3" in running
    if branch == "taken away":
        shop.git("update-ref", "-d", "refs/heads/holdfast/plan")
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    if branch == "there":
        assert "tasks T2, T3 were cut off and will be taken up again" in cli("status", "plan.md").out
    (tmp_path / "go").touch()
    again = cli(*command[len(HOLDFAST) :])
    assert again.code == 0, again.err
    assert sorted(tasks(shop)) == ALL
    nothing_left(shop)


def test_what_many_left_behind_is_finished_by_one(shop: Repo, cli: Cli) -> None:
    assert run(cli, HOLDFAST_FAULT="publish.before@3").code == -9
    result = cli("run", "plan.md", "--worktree", "--agent-cmd", WRITE)
    assert result.code == 0, result.err
    assert sorted(tasks(shop)) == ALL
    nothing_left(shop)


def test_a_plan_that_git_ignores_is_marked_by_many(repo: Repo, cli: Cli) -> None:
    repo.write(".gitignore", "plan.md\n")
    repo.commit("Ignore")
    repo.write("plan.md", DIAMOND)
    result = run(cli, agent=WRITE)
    assert result.code == 0, result.err
    assert sorted(tasks(repo)) == ALL
    assert (own(repo) / "plan.md").read_text() == DIAMOND.replace("[ ]", "[x]")
    assert run(cli, agent=WRITE).code == 0


def test_several_at_once_need_trees_of_their_own(shop: Repo, cli: Cli) -> None:
    result = cli("run", "plan.md", "--trunk", "-j", "2", "--agent-cmd", WRITE)
    assert result.code == 2
    assert "--worktree" in result.err


def test_tickets_of_an_epic_have_branches_of_their_own(repo: Repo, cli: Cli) -> None:
    tickets = ("{id: a, title: A}", "{id: b, title: B}", "{id: c, title: C, depends_on: [a, b]}")
    epic = "".join(f"  - {ticket}\n" for ticket in tickets)
    repo.write("epics/shop/shop.epic.yaml", f"name: Shop\ntickets:\n{epic}")
    for ticket in "abc":
        repo.write(f"epics/shop/tickets/{ticket}.md", f"# {ticket}\n")
    repo.commit("Add the epic")
    agent = f'{WRITE}; git rev-parse --abbrev-ref HEAD > "$HOLDFAST_TASK_ID.branch"'
    result = cli("run", "epics/shop", "--worktree", "-j", "2", "--agent-cmd", agent)
    assert result.code == 0, result.err
    assert sorted(tasks(repo, "epic/shop")) == ["a", "b", "c"]
    assert [show(repo, f"{t}.branch", "epic/shop") for t in "abc"] == ["ticket/a", "ticket/b", "ticket/c"]
    assert '"epic_branch": "epic/shop"' in show(repo, "epics/shop/artifacts/epic-state.json", "epic/shop")
    assert repo.git("for-each-ref", "refs/heads/ticket") == ""


def test_partial_work_in_a_tree_of_its_own_is_let_go_of_by_hand(shop: Repo, cli: Cli) -> None:
    assert run(cli, agent=WRITE, HOLDFAST_FAULT="agent.after@2").code == -9
    for task in ("T2", "T3"):
        assert cli("reset", task, "--plan", "plan.md").code == 0
    assert shop.git("for-each-ref", "refs/heads/holdfast-task") == ""
    refs = shop.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue").split()
    assert any("work/T" in shop.git("ls-tree", "-r", "--name-only", ref) for ref in refs)
    assert run(cli, agent=f"test ! -e $HOLDFAST_TASK_ID.txt || exit 1; {WRITE}").code == 0
    nothing_left(shop)


def test_a_lock_that_others_hold_meanwhile_is_not_taken_for_a_dead_ones(shop: Repo, cli: Cli) -> None:
    """T2 is over while the lock is there, for longer than a dead one is given; T3 lets go of it."""
    held = (
        "lock=$(git rev-parse --path-format=absolute --git-common-dir)/packed-refs.lock\n"
        'case $HOLDFAST_TASK_ID in T2) touch "$lock";; T3) sleep 3; rm "$lock";; esac'
    )
    result = run(cli, agent=f"{MEET}\n{held}")
    assert result.code == 0, result.err
    assert "packed-refs.lock" not in result.out
    assert sorted(tasks(shop)) == ALL


@pytest.mark.parametrize(
    "lock", ["packed-refs.lock", "refs/holdfast/tip/x.lock", "worktrees/plan.1/index.stash.4711.lock"]
)
@pytest.mark.parametrize("point", ["slot.branch.after@3", "slot.branch.drop.before@2", "tip.drop.before"])
def test_locks_of_a_git_call_that_died_between_tasks_are_moved_away(
    shop: Repo, cli: Cli, point: str, lock: str
) -> None:
    assert run(cli, HOLDFAST_FAULT=point).code == -9
    left = shop.path / ".git" / lock
    left.parent.mkdir(parents=True, exist_ok=True)
    left.touch()
    result = run(cli)
    assert result.code == 0, result.err
    assert "a lock file was left behind" in result.out
    assert sorted(tasks(shop)) == ALL
    nothing_left(shop)


def test_files_torn_beside_a_finished_commit_are_kept_and_the_commit_lands(shop: Repo, cli: Cli) -> None:
    """A power cut may tear what nobody had flushed, such as the work of other tasks in a task's tree."""
    assert run(cli, HOLDFAST_FAULT="publish.before@3").code == -9
    heads = (shop.path / ".git/worktrees").glob("plan.*/HEAD")
    (name,) = [head.parent.name for head in heads if head.read_text().startswith("ref:")]
    (own(shop, name) / "README.md").write_text("")
    result = run(cli)
    assert result.code == 0, result.err
    assert sorted(tasks(shop)) == ["T1", "T2", "T3", "T4"]
    assert show(shop, "README.md") == "# Scratch"
    assert "left in the tree of a task that is over" in cli("rescue", "list").out
    nothing_left(shop)


def test_what_somebody_left_in_a_tree_between_two_tasks_is_kept(shop: Repo, cli: Cli, tmp_path: Path) -> None:
    assert run(cli, "--only", "T1").code == 0
    (own(shop, "plan.1") / "notes.txt").write_text("mine\n")
    assert run(cli).code == 0
    (ref,) = shop.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue").split()
    assert cli("rescue", "restore", ref, "--into", str(tmp_path / "kept")).code == 0
    assert (tmp_path / "kept/notes.txt").read_text() == "mine\n"
    nothing_left(shop)


@pytest.mark.parametrize("point", ["tree.moving.durable@1", "slot.head.after@1", "slot.branch.drop.before@1"])
def test_what_somebody_left_in_a_tree_that_was_on_its_way_is_kept(shop: Repo, cli: Cli, point: str) -> None:
    assert run(cli, agent=WRITE, HOLDFAST_FAULT=point).code == -9
    (own(shop, "plan.1") / "notes.txt").write_text("mine\n")
    (own(shop, "plan.1") / "README.md").write_text("mine too\n")
    assert run(cli).code == 0
    (ref,) = shop.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue").split()
    assert shop.git("show", f"{ref}:work/notes.txt") == "mine"
    assert shop.git("show", f"{ref}:work/README.md") == "mine too"
    nothing_left(shop)


@pytest.mark.parametrize("point", ["done.after@1", "onto.files@1", "gate.before@4"])
def test_what_somebody_left_beside_a_commit_that_was_being_carried_is_kept(
    shop: Repo, cli: Cli, point: str
) -> None:
    assert run(cli, "--verify", "true", HOLDFAST_FAULT=point).code == -9
    notes = [tree / "notes.txt" for tree in own(shop).parent.glob("plan.*")]
    for note in notes:
        note.write_text(f"mine in {note.parent.name}\n")
    assert run(cli).code == 0
    refs = shop.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue").split()
    kept = [ref for ref in refs if "work/notes.txt" in shop.git("ls-tree", "-r", "--name-only", ref).split()]
    found = [shop.git("show", f"{ref}:work/notes.txt") for ref in kept]
    found += [note.read_text().strip() for note in notes if note.exists()]
    assert sorted(found) == sorted(f"mine in {note.parent.name}" for note in notes)


def test_the_branch_of_a_task_that_got_another_title_before_a_tree_was_on_it_goes(
    shop: Repo, cli: Cli
) -> None:
    assert run(cli, HOLDFAST_FAULT="slot.branch.after@1").code == -9
    shop.write("plan.md", DIAMOND.replace("Begin", "Begin anew"))
    assert run(cli).code == 0
    assert sorted(tasks(shop)) == ALL
    nothing_left(shop)


def test_of_a_tree_that_was_on_its_way_nothing_is_kept_that_its_commits_hold(shop: Repo, cli: Cli) -> None:
    assert run(cli, "--only", "T1", agent=WRITE).code == 0
    assert run(cli, agent=WRITE, HOLDFAST_FAULT="onto.files@1").code == -9
    assert run(cli, agent=WRITE).code == 0
    assert shop.git("for-each-ref", "refs/holdfast/rescue") == ""
    nothing_left(shop)


@pytest.mark.parametrize("lost", [False, True], ids=["", "and our state is lost"])
@pytest.mark.parametrize("where", ["--detach", "-b mine-$HOLDFAST_TASK_ID", "other"])
def test_a_task_whose_agent_led_head_away_before_all_died(
    shop: Repo, cli: Cli, where: str, lost: bool
) -> None:
    shop.git("branch", "other")
    led = "$MEETING/led-$HOLDFAST_TASK_ID"
    away = (
        f"git checkout -q {where} && echo strayed > $HOLDFAST_TASK_ID.txt && git add -A && git commit -qm x"
    )
    agent = f'test -e "{led}" || {{ : > "{led}"; {away}; }}; {WRITE}'
    assert run(cli, agent=agent, HOLDFAST_FAULT="agent.after@2").code == -9
    if lost:
        shutil.rmtree(shop.path / ".git/holdfast")
    trees = list(own(shop).parent.iterdir())
    made = {shop.git("-C", str(tree), "rev-parse", "HEAD") for tree in trees}
    result = run(cli, agent=agent)
    assert result.code == 0, result.err
    assert sorted(tasks(shop)) == ALL
    assert [commit for commit in made if not shop.git("for-each-ref", f"--contains={commit}")] == []
    assert shop.git("rev-parse", "--verify", "other")
    nothing_left(shop)


def test_what_one_agent_spoils_while_another_begins_is_not_taken_for_the_users(shop: Repo, cli: Cli) -> None:
    """T2 spoils a hook and refs after the agent of T1 has ended and before T3 begins; T3 ends last."""
    shop.write("plan.md", "# Plan\n\n- [ ] T1 [P] One\n- [ ] T2 [P] Two\n- [ ] T3 [P] Three\n")
    shop.commit("Another plan")
    shop.git("branch", "other", "HEAD~1")
    shop.git("tag", "keep")
    hook = shop.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n")
    hook.chmod(0o755)
    wait = "while ! test -e $MEETING/{}; do sleep 0.02; done".format
    spoil = (
        f"echo exit 1 >> {hook}; git update-ref refs/heads/other HEAD; git tag -d keep; : > $MEETING/spoilt"
    )
    agent = f"""{WRITE}
case $HOLDFAST_TASK_ID in
T2) {wait("go")}; {spoil}; {wait("begun")};;
T3) : > $MEETING/begun; while ! git tag | grep -q keep; do sleep 0.02; done;;
esac
"""
    checked = f"! test -e T1.txt || test -e T3.txt || {{ : > $MEETING/go; {wait('spoilt')}; }}"
    result = run(cli, "-j", "2", "--verify", checked, agent=agent)
    assert result.code == 0, result.out + result.err
    assert hook.read_text() == "#!/bin/sh\nexit 0\n"
    assert shop.git("rev-parse", "other") == shop.git("rev-parse", "main~1")
    assert shop.git("tag") == "keep"


def test_a_commit_that_was_being_carried_is_kept_when_its_task_gets_another_title(
    shop: Repo, cli: Cli
) -> None:
    """T2 and T3 meet, so that the second of them has to be carried onto the first."""
    assert run(cli, HOLDFAST_FAULT="onto.files@1").code == -9
    carried = shop.git("for-each-ref", "--format=%(objectname)", "refs/holdfast/done")
    title = shop.git("log", "-1", "--format=%s", carried).rpartition(": ")[2]
    shop.write("plan.md", DIAMOND.replace(title, "Something else"))
    result = run(cli, agent=WRITE)
    assert result.code == 0, result.out + result.err
    assert sorted(tasks(shop)) == ALL
    assert shop.git("for-each-ref", f"--contains={carried}", "refs/holdfast/rescue") != ""
    nothing_left(shop)
