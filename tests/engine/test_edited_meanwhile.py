"""A run died or stopped, and the user edits the plan or a hook before the next one: the edit counts."""

from pathlib import Path

import pytest

from scratch import Cli, Repo, Result

COMMITTING = """\
mkdir -p work && date >> "work/$HOLDFAST_TASK_TITLE"
sed -i "s/^- \\[ \\] $HOLDFAST_TASK_TITLE$/- [x] $HOLDFAST_TASK_TITLE/" plan.md
git add -A && git commit -qm "agent: $HOLDFAST_TASK_TITLE" && echo "<SUCCESS>done</SUCCESS>"
"""
STOPPING = """\
echo 'exit 1' > .git/hooks/commit-msg
kill -INT $(grep -o '[0-9]*' "$HOLDER" | head -n 1); sleep 9
"""
"""Does something to a hook, then the run is stopped."""
AGENT = 'mkdir -p work && date >> "work/$HOLDFAST_TASK_TITLE" && echo "<SUCCESS>done</SUCCESS>"'


class Evening:
    def __init__(self, repo: Repo, cli: Cli) -> None:
        self.repo, self.cli = repo, cli
        repo.write("plan.md", "- [ ] one\n- [ ] two\n")
        self.base = repo.commit("plan")

    def run(self, *options: str, agent: str = AGENT, **env: str) -> Result:
        return self.cli("run", "plan.md", "--trunk", "--agent-cmd", agent, *options, env=env)

    def killed(self, point: str, *options: str, agent: str = AGENT) -> None:
        result = self.run(*options, agent=agent, HOLDFAST_FAULT=point)
        assert result.code == -9, result.out + result.err

    def done(self, *options: str, agent: str = AGENT) -> None:
        result = self.run(*options, agent=agent)
        assert result.code == 0, result.out + result.err
        assert self.repo.git("status", "--porcelain") == ""

    @property
    def holder(self) -> str:
        """The file that names the runner."""
        return str(self.repo.path / ".git/holdfast/trees/main/holder.json")

    def commits(self) -> list[tuple[str, set[str]]]:
        """Subject and changed paths of each, the oldest first."""
        ids = self.repo.git("rev-list", "--reverse", f"{self.base}..HEAD").split()
        return [(self.repo.git("log", "-1", "--format=%s", c), self._paths(c)) for c in ids]

    def _paths(self, commit: str) -> set[str]:
        return set(self.repo.git("diff-tree", "--no-commit-id", "--name-only", "-r", commit).split())

    def rescued_files(self) -> set[str]:
        refs = self.repo.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue").split()
        return {n for r in refs for n in self.repo.git("ls-tree", "-r", "--name-only", r).split()}


@pytest.fixture
def evening(repo: Repo, cli: Cli, tmp_path: Path) -> Evening:
    return Evening(repo, cli)


def test_work_of_a_removed_task_does_not_go_to_the_task_that_has_its_number_now(evening: Evening) -> None:
    evening.killed("agent.after")
    evening.repo.write("plan.md", "- [ ] two\n")
    evening.done()
    assert evening.commits() == [
        ("[holdfast] Update plan: plan", {"plan.md"}),
        ("[holdfast] Complete task 1: two", {"plan.md", "work/two"}),
    ]
    assert "work/work/one" in evening.rescued_files()


def test_work_of_a_task_with_a_new_title_stays_that_tasks(evening: Evening) -> None:
    evening.killed("agent.after")
    evening.repo.write("plan.md", "- [ ] first\n- [ ] two\n")
    evening.killed("rescue.after")
    evening.done()
    assert evening.commits()[1] == (
        "[holdfast] Complete task 1: first",
        {"plan.md", "work/first", "work/one"},
    )


def test_a_hook_mended_after_it_took_the_trailers_away_stays_mended(evening: Evening) -> None:
    hook = evening.repo.write(".git/hooks/commit-msg", '#!/bin/sh\nsed -i /^Holdfast-/d "$1"\n')
    hook.chmod(0o755)
    assert evening.run().code == 1
    hook.write_text("#!/bin/sh\nexit 0\n")
    evening.done()
    assert hook.read_text() == "#!/bin/sh\nexit 0\n"


def test_a_hook_changed_after_an_agent_that_commits_was_stopped_stays_changed(evening: Evening) -> None:
    """What the agent itself did to a hook before it was stopped is put back all the same."""
    assert evening.run("--commits", "agent", agent=STOPPING, HOLDER=evening.holder).code == 130
    assert not (evening.repo.path / ".git/hooks/commit-msg").exists()
    hook = evening.repo.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n")
    hook.chmod(0o755)
    evening.done("--commits", "agent", agent=COMMITTING)
    assert hook.read_text() == "#!/bin/sh\nexit 0\n"


@pytest.mark.parametrize("mode", ["resume", "rollback"])
@pytest.mark.parametrize("point", ["agent.before", "agent.after", "edit.before", "edit.after"])
def test_an_edit_counts_for_an_agent_that_commits_too(evening: Evening, mode: str, point: str) -> None:
    options = ("--commits", "agent", "--on-interrupt", mode)
    killed_at = point if point.startswith("agent") else "agent.before"
    evening.killed(killed_at, *options, agent="mkdir work && echo half > work/one")
    evening.repo.write("plan.md", "- [ ] one\n- [ ] three\n  with words\n- [ ] two\n")
    if point != killed_at:
        evening.killed(point, *options)
    evening.done(*options, agent=COMMITTING)
    subjects = [subject for subject, _ in evening.commits()]
    assert subjects == ["[holdfast] Update plan: plan", "agent: one", "agent: three", "agent: two"]
    done = "- [x] one\n- [x] three\n  with words\n- [x] two"
    assert evening.repo.git("show", "HEAD:plan.md") == done


def test_an_edit_is_in_the_index_before_an_agent_commits_what_it_staged(evening: Evening) -> None:
    """An agent that adds its own files alone commits the rest of the index as it is."""
    evening.killed("agent.after", "--commits", "agent", agent="mkdir work && echo half > work/one")
    evening.repo.write("plan.md", "- [ ] one\n- [ ] two, better\n")
    careful = COMMITTING.replace("git add -A", "git add work plan.md")
    evening.run(
        "--commits", "agent", "--max-attempts", "1", "--only", "1", agent="git add work; git commit -qm x"
    )
    assert evening.repo.git("diff", "--cached", "--", "plan.md") == ""
    evening.done("--commits", "agent", "--only", "1", agent=careful)
    assert evening.repo.git("show", "HEAD:plan.md") == "- [x] one\n- [ ] two, better"


def test_ticking_another_task_does_not_give_it_the_work_in_flight(evening: Evening) -> None:
    evening.killed("agent.after", "--commits", "agent", agent="mkdir work && echo half > work/one")
    evening.repo.write("plan.md", "- [ ] one\n- [x] two\n")
    evening.done("--commits", "agent", agent=COMMITTING)
    assert evening.commits() == [
        ("agent: one", {"plan.md", "work/one"}),
        ("agent: two", {"plan.md", "work/two"}),
    ]
    assert "work/plan.md" in evening.rescued_files()


def test_marks_made_by_hand_are_kept_when_an_edit_is_taken_in(evening: Evening) -> None:
    evening.killed("agent.after")
    evening.repo.write("plan.md", "- [ ] one\n- [x] two\n- [ ] three\n")
    evening.done()
    refs = evening.repo.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue").split()
    kept = [evening.repo.git("show", f"{ref}:work/plan.md") for ref in refs if _holds_plan(evening.repo, ref)]
    assert "- [ ] one\n- [x] two\n- [ ] three" in kept


def test_words_edited_beside_a_tick_and_its_work_become_a_commit_of_their_own(evening: Evening) -> None:
    """A task ticked beside changes is a commit that failed; what else the plan says is an edit."""
    evening.repo.write("plan.md", "- [x] one\n- [ ] two\n- [ ] three\n")
    evening.repo.write("work/one", "by hand\n")
    evening.done()
    assert evening.commits()[:2] == [
        ("[holdfast] Update plan: plan", {"plan.md"}),
        ("[holdfast] Complete task 1: one", {"plan.md", "work/one"}),
    ]
    assert evening.repo.git("show", "HEAD:plan.md") == "- [x] one\n- [x] two\n- [x] three"


def test_words_edited_beside_a_tick_are_committed_before_the_agent_is_asked_to_commit_the_rest(
    evening: Evening,
) -> None:
    evening.repo.write("plan.md", "- [x] one\n- [ ] zwei\n")
    evening.repo.write("work/one", "by hand\n")
    evening.done("--commits", "agent", agent=COMMITTING)
    assert evening.commits() == [
        ("[holdfast] Update plan: plan", {"plan.md"}),
        ("agent: one", {"plan.md", "work/one"}),
        ("agent: zwei", {"plan.md", "work/zwei"}),
    ]


def test_a_task_does_not_inherit_the_attempts_of_the_one_that_had_its_number(evening: Evening) -> None:
    failing = 'echo "$HOLDFAST_ATTEMPT" >> attempts; exit 1'
    evening.killed("agent.before@2", agent=failing)
    evening.repo.write("plan.md", "- [ ] two\n- [ ] one\n")
    noting = f'echo "$HOLDFAST_TASK_TITLE $HOLDFAST_ATTEMPT" >> attempts; {AGENT}'
    evening.done("--on-interrupt", "rollback", agent=noting)
    assert (evening.repo.path / "attempts").read_text() == "two 1\none 1\n"


@pytest.mark.parametrize("point", ["commit.after", "plan.synced", "helpers.before"])
def test_the_last_task_removed_while_a_commit_lands_is_not_taken_for_a_torn_file(
    evening: Evening, point: str
) -> None:
    evening.killed(point)
    text = (evening.repo.path / "plan.md").read_text()
    evening.repo.write("plan.md", text.removesuffix("- [ ] two\n"))
    evening.done()
    assert evening.repo.git("show", "HEAD:plan.md") == "- [x] one"


@pytest.mark.parametrize("size", [0, 4096, 8192])
def test_a_plan_torn_by_a_killed_git_call_is_written_again(evening: Evening, size: int) -> None:
    words = "".join(f"  {number:04} words\n" for number in range(1000))
    evening.repo.write("plan.md", f"- [ ] one\n{words}")
    evening.repo.commit("A long plan")
    evening.killed("commit.after")
    evening.repo.write("plan.md", evening.repo.git("show", "HEAD:plan.md")[:size])
    evening.done()
    assert evening.repo.git("show", "HEAD:plan.md") == f"- [x] one\n{words}".rstrip("\n")


@pytest.mark.parametrize("command", ["reset", "skip"])
def test_letting_go_of_work_in_flight_keeps_an_edit_of_the_plan(evening: Evening, command: str) -> None:
    evening.killed("agent.after")
    evening.repo.write("plan.md", "- [ ] one\n- [ ] two, better\n")
    result = evening.cli(command, "1", "--plan", "plan.md")
    assert result.code == 0, result.out + result.err
    mark = {"reset": " ", "skip": "-"}[command]
    assert evening.repo.git("show", "HEAD:plan.md") == f"- [{mark}] one\n- [ ] two, better"
    assert evening.repo.git("status", "--porcelain") == ""


def test_letting_go_of_work_in_flight_is_not_held_up_by_the_lock_of_a_dead_git_call(evening: Evening) -> None:
    evening.killed("agent.after")
    evening.repo.write(".git/index.lock", "")
    result = evening.cli("reset", "1", "--plan", "plan.md")
    assert result.code == 0, result.out + result.err
    assert evening.repo.git("status", "--porcelain") == ""


def test_a_hook_changed_after_an_agent_asked_to_commit_was_stopped_stays_changed(evening: Evening) -> None:
    evening.repo.write("plan.md", "- [x] one\n- [ ] two\n")
    evening.repo.write("work/one", "finished by another tool\n")
    assert evening.run("--commits", "agent", agent=STOPPING, HOLDER=evening.holder).code == 130
    hook = evening.repo.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n")
    evening.done("--commits", "agent", agent=COMMITTING)
    assert hook.read_text() == "#!/bin/sh\nexit 0\n"


def _holds_plan(repo: Repo, ref: str) -> bool:
    return "work/plan.md" in repo.git("ls-tree", "-r", "--name-only", ref).split()


def test_an_edit_taken_back_while_it_was_being_committed_stays_taken_back(evening: Evening) -> None:
    evening.repo.write("plan.md", "- [ ] one\n- [ ] two\n- [ ] three\n")
    evening.killed("entry.before")
    evening.repo.write("plan.md", "- [ ] one\n- [ ] two\n")
    evening.done()
    assert evening.repo.git("show", "HEAD:plan.md") == "- [x] one\n- [x] two"
