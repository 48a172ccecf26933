"""A plan that git ignores cannot be part of a commit: trailers are the truth, and the file follows them."""

from pathlib import Path

import pytest

from scratch import Cli, Repo

PLAN = "# Plan\n\n- [x] Zero\n- [ ] One\n- [ ] Two\n"
AGENT = ("--agent-cmd", 'echo "$HOLDFAST_TASK_TITLE" >> "$HOLDFAST_TASK_TITLE.txt"')
TICKS_ITSELF = ("--agent-cmd", AGENT[1] + '; sed -i "s/\\[ \\]/[x]/" plan.md')


@pytest.fixture
def ignored(repo: Repo) -> Repo:
    repo.write(".gitignore", "plan.md\n")
    repo.commit("Ignore the plan")
    repo.write("plan.md", PLAN)
    return repo


def test_it_runs_to_its_end_and_the_marks_follow(ignored: Repo, cli: Cli) -> None:
    result = cli("run", "plan.md", *AGENT)
    assert result.code == 0, result.err
    assert _landed(ignored) == ["1.2", "1.3"]
    assert (ignored.path / "plan.md").read_text() == PLAN.replace("[ ]", "[x]")
    assert ignored.git("ls-files", "plan.md") == ""
    assert cli("status", "plan.md").out.count("done") >= 1


@pytest.mark.parametrize(
    "point", ["flight.durable", "agent.after", "candidate.after", "commit.after", "plan.derived.written"]
)
def test_killed_anywhere_it_goes_on(ignored: Repo, cli: Cli, point: str) -> None:
    assert cli("run", "plan.md", *TICKS_ITSELF, env={"HOLDFAST_FAULT": f"{point}@1"}).code == -9
    result = cli("run", "plan.md", *TICKS_ITSELF)
    assert result.code == 0, result.err
    assert _landed(ignored) == ["1.2", "1.3"]
    assert (ignored.path / "plan.md").read_text() == PLAN.replace("[ ]", "[x]")
    assert {p.name for p in ignored.path.glob("*.txt")} == {"One.txt", "Two.txt"}


@pytest.mark.parametrize("point", ["helpers.after@2", "flight.removed@2"])
def test_killed_when_the_last_task_had_landed_its_mark_stays(ignored: Repo, cli: Cli, point: str) -> None:
    assert cli("run", "plan.md", *AGENT, env={"HOLDFAST_FAULT": point}).code == -9
    result = cli("run", "plan.md", *AGENT)
    assert result.code == 0, result.err
    assert "rescued" not in result.out
    assert (ignored.path / "plan.md").read_text() == PLAN.replace("[ ]", "[x]")


def test_marks_the_agent_made_itself_are_no_evidence(ignored: Repo, cli: Cli) -> None:
    assert cli("run", "plan.md", *TICKS_ITSELF, "--only", "1.2").code == 0
    assert (ignored.path / "plan.md").read_text() == PLAN.replace("[ ] One", "[x] One")


def test_a_file_that_fell_behind_is_brought_in_line(ignored: Repo, cli: Cli) -> None:
    assert cli("run", "plan.md", *AGENT, "--only", "1.2").code == 0
    ignored.write("plan.md", PLAN)
    assert "One" not in cli("run", "plan.md", *AGENT).out.replace("Zero", "")
    assert _landed(ignored) == ["1.2", "1.3"]
    assert (ignored.path / "plan.md").read_text() == PLAN.replace("[ ]", "[x]")


def test_a_file_from_a_backup_is_brought_in_line_though_nothing_is_left_to_do(
    ignored: Repo, cli: Cli
) -> None:
    assert cli("run", "plan.md", *AGENT).code == 0
    ignored.write("plan.md", PLAN)
    assert "brought it in line" in cli("run", "plan.md", *AGENT).out
    assert (ignored.path / "plan.md").read_text() == PLAN.replace("[ ]", "[x]")
    assert "brought it in line" not in cli("run", "plan.md", *AGENT).out


def test_skip_and_reset_are_commits_that_outlive_the_file(ignored: Repo, cli: Cli) -> None:
    assert cli("skip", "1.2", "--plan", "plan.md").code == 0
    assert "- [-] One" in (ignored.path / "plan.md").read_text()
    assert cli("run", "plan.md", *AGENT).code == 0
    assert not (ignored.path / "One.txt").exists()
    assert cli("reset", "1.3", "--plan", "plan.md").code == 0
    assert "- [ ] Two" in (ignored.path / "plan.md").read_text()
    assert cli("run", "plan.md", *AGENT).code == 0
    assert (ignored.path / "Two.txt").read_text() == "Two\nTwo\n"


def test_agents_that_commit_themselves_need_a_plan_that_git_tracks(ignored: Repo, cli: Cli) -> None:
    result = cli("run", "plan.md", *AGENT, "--commits", "agent")
    assert result.code == 3
    assert "git add -f plan.md" in result.err
    assert not list(Path(ignored.path).glob("*.txt"))


def _landed(repo: Repo) -> list[str]:
    trailers = repo.git("log", "--reverse", "--format=%(trailers:key=Holdfast-Task,valueonly,separator=%x2C)")
    return trailers.split()
