"""A second agent reads the work: its findings are feedback, and nothing that it does gets into a commit."""

import json
from pathlib import Path
from typing import Any

import pytest

from invariants import processes_marked_with
from scratch import Cli, Repo, Result
from stand_ins import stand_in

PLAN = "# Work\n\n- [ ] One\n  Acceptance:\n  - it is whole\n"
WORK = 'echo "try $HOLDFAST_ATTEMPT" > one.txt'
APPROVES = 'echo "<SUCCESS>approved: it is whole</SUCCESS>"'
OBJECTS = 'printf "<FAILURE>one.txt: it is half\nadd the rest</FAILURE>\n"'
OBJECTS_ONCE = f'grep -q "^+try 1" "$HOLDFAST_PROMPT_FILE" && {{ {OBJECTS}; exit 0; }}; {APPROVES}'


class Night:
    def __init__(self, repo: Repo, cli: Cli) -> None:
        self.repo, self.cli = repo, cli
        repo.write("plan.md", PLAN)
        self.base = repo.commit("plan")

    def run(
        self, reviewer: str, *options: str, agent: str = WORK, env: dict[str, str] | None = None
    ) -> Result:
        words = ("run", "plan.md", "--agent-cmd", agent, "--review-cmd", reviewer, *options)
        return self.cli(*words, env=env)

    def events(self, kind: str) -> list[dict[str, Any]]:
        told = map(json.loads, self.cli("log", "--json").out.splitlines())
        return [event for event in told if event["event"] == kind]

    def landed(self) -> list[str]:
        """The files of the one commit."""
        assert self.repo.git("rev-list", "--count", f"{self.base}..") == "1"
        return self.repo.git("diff", "--name-only", self.base, "HEAD").splitlines()

    def prompt(self, glob: str) -> str:
        return sorted((self.repo.path / ".git/holdfast/logs").rglob(glob))[-1].read_text()

    def nothing_is_left(self) -> bool:
        copy = self.repo.path / ".git/holdfast/trees/main/review"
        return not copy.exists() and not processes_marked_with(f"HOME={self.repo.env['HOME']}")


@pytest.fixture
def night(repo: Repo, cli: Cli) -> Night:
    return Night(repo, cli)


@pytest.mark.parametrize("options", [(), ("--allow-dirty",)])
def test_findings_are_feedback_and_the_next_attempt_is_read_again(
    night: Night, options: tuple[str, ...]
) -> None:
    result = night.run(OBJECTS_ONCE, *options)
    assert result.code == 0, result.out + result.err
    assert [event["verdict"] for event in night.events("review_ended")] == ["findings", "approved"]
    (failure,) = night.events("attempt_failed")
    assert failure["reason"] == "the reviewer command objects: one.txt: it is half add the rest"
    told = night.prompt("*-2.1.log.prompt.md")
    assert "A reviewer read your changes and found:\none.txt: it is half\nadd the rest" in told
    assert (night.repo.path / "one.txt").read_text() == "try 2\n"
    assert options or night.landed() == ["one.txt", "plan.md"]
    assert "reviewer command approves: approved: it is whole" in night.cli("log", "1.1").out
    assert night.nothing_is_left()


def test_it_is_shown_the_task_the_criteria_and_the_diff(night: Night) -> None:
    assert night.run(f"git diff HEAD --stat; cat one.txt; {APPROVES}").code == 0
    asked = night.prompt("*-review.1.log.prompt.md")
    assert "# Task 1.1: One" in asked and "1. it is whole" in asked
    assert "+++ b/one.txt" in asked and "+try 1" in asked
    assert "  | try 1" in night.cli("log", "1.1").out, "the files of its copy are the work"


def test_a_template_of_the_repository_replaces_the_prompt(night: Night) -> None:
    night.repo.write(
        ".holdfast/prompts/review.md.j2",
        '{% extends "holdfast/review.md.j2" %}{% block rules %}# Be kind{% endblock %}',
    )
    night.base = night.repo.commit("template")
    assert night.run(APPROVES).code == 0
    asked = night.prompt("*-review.1.log.prompt.md")
    assert "# Be kind" in asked and "Object to what is wrong" not in asked


MEDDLES = {
    "in its copy": "echo mine > two.txt; rm one.txt; git add -A; git commit -qm mine",
    "in the tree": "cd ROOT; echo mine | tee two.txt > one.txt; rm README.md; mkdir d; echo mine > d/f",
    "with the branch": "git -C ROOT commit -q --allow-empty -m mine",
    "with the plan": "sed -i 's/\\[ \\]/[x]/' ROOT/plan.md",
}


@pytest.mark.parametrize("how", MEDDLES)
def test_nothing_that_it_does_gets_into_the_commit(night: Night, how: str) -> None:
    meddles = MEDDLES[how].replace("ROOT", f"'{night.repo.path}'")
    result = night.run(f"{meddles}; {APPROVES}")
    assert result.code == 0, result.out + result.err
    assert night.landed() == ["one.txt", "plan.md"]
    assert night.repo.git("show", "HEAD:one.txt") == "try 1"
    assert night.repo.git("status", "--porcelain") == ""
    kept = night.repo.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue")
    assert bool(kept) is (how != "in its copy")
    assert night.nothing_is_left()


@pytest.mark.parametrize(
    ("reviewer", "why"),
    [
        ("echo looks good to me", "it ended without saying whether it approves"),
        (f"{APPROVES}; exit 3", "exited with status 3"),
    ],
)
def test_without_a_verdict_there_is_no_approval(night: Night, reviewer: str, why: str) -> None:
    result = night.run(reviewer)
    assert result.code == 1
    assert f"the reviewer command gives no verdict on task 1.1: {why}" in result.err
    assert "--review-agent" in result.err and "holdfast log 1.1" in result.err
    assert [event["verdict"] for event in night.events("review_ended")] == ["none", "none"]
    assert night.repo.git("rev-parse", "HEAD") == night.base
    assert night.events("attempt_failed") == [], "it is not the agent's fault"
    again = night.cli("run", "plan.md", "--agent-cmd", WORK, "--review-agent", "none")
    assert again.code == 0 and night.landed() == ["one.txt", "plan.md"]


def test_a_review_has_its_own_timeout(night: Night) -> None:
    result = night.run("tail -f /dev/null", env={"HOLDFAST_REVIEW_TIMEOUT": "1"})
    assert result.code == 1 and "gives no verdict" in result.err
    assert night.nothing_is_left()


def test_a_reviewer_that_is_not_there_ends_with_69_before_anything_happens(night: Night) -> None:
    result = night.cli("run", "plan.md", "--agent-cmd", WORK, "--review-agent", "codex")
    assert result.code == 69 and "the agent codex is not on PATH" in result.err
    assert not (night.repo.path / "one.txt").exists()
    result = night.cli("run", "plan.md", "--agent-cmd", WORK, "--review-agent", "command")
    assert result.code == 2 and "--review-cmd CMD" in result.err


def test_it_is_off_unless_asked_for(night: Night) -> None:
    assert night.cli("run", "plan.md", "--agent-cmd", WORK).code == 0
    assert night.events("review_started") == []


@pytest.mark.parametrize("point", ["review.before", "review.after"])
def test_a_run_that_dies_at_a_review_goes_on_and_commits_once(night: Night, point: str) -> None:
    assert night.run(APPROVES, env={"HOLDFAST_FAULT": point}).code < 0
    assert night.repo.git("rev-parse", "HEAD") == night.base
    result = night.run(APPROVES)
    assert result.code == 0, result.out + result.err
    assert night.landed() == ["one.txt", "plan.md"]
    assert night.nothing_is_left()


def test_an_objection_takes_the_agents_own_commit_off_the_branch(night: Night) -> None:
    commits = f"{WORK}; sed -i 's/\\[ \\]/[x]/' plan.md; git add -A; git commit -qm mine; {APPROVES}"
    result = night.run(OBJECTS_ONCE, "--commits", "agent", agent=commits)
    assert result.code == 0, result.out + result.err
    assert night.landed() == ["one.txt", "plan.md"]
    assert night.repo.git("show", "HEAD:one.txt") == "try 2"


# -- what it costs, and a service that keeps it from working ---------------------------------------------

HALF_A_DOLLAR = 'sed \'s/"total_cost_usd": [0-9.e-]*/"total_cost_usd": 0.5/\' {finished}'


def claude_reviews(night: Night, body: str, directory: Path, *options: str) -> Result:
    path = stand_in("claude", body, directory, night.repo.env["PATH"])
    env = {"PATH": path, "CALLS": str(directory.parent / "calls"), "HOLDFAST_RETRY_ERROR_PAUSE": "0"}
    words = ("run", "plan.md", "--agent-cmd", WORK, "--review-agent", "claude", *options)
    return night.cli(*words, env=env)


def test_its_cost_is_part_of_the_runs_and_the_cap_holds_for_it(night: Night, tmp_path: Path) -> None:
    result = claude_reviews(night, HALF_A_DOLLAR, tmp_path / "bin")
    assert result.code == 0, result.out + result.err
    assert "$0.5000" in result.out.splitlines()[-1]
    told = json.loads(night.cli("status", "--json").out)
    assert told["spent"]["cost_usd"] == told["tasks"][0]["spent"]["cost_usd"] == 0.5
    night.repo.write("plan.md", "- [ ] Two\n- [ ] Three\n")
    night.base = night.repo.commit("more")
    capped = claude_reviews(night, HALF_A_DOLLAR, tmp_path / "bin", "--max-cost", "0.5")
    assert capped.code == 5 and night.repo.git("rev-parse", "HEAD") == night.base


def test_it_looks_with_the_right_to_change_nothing(night: Night, tmp_path: Path) -> None:
    assert claude_reviews(night, 'echo "$*" > "$CALLS"; ' + HALF_A_DOLLAR, tmp_path / "bin").code == 0
    assert " --permission-mode default " in (tmp_path / "calls").read_text()


@pytest.mark.parametrize(
    ("trouble", "waits"),
    [("sed s/4102444800/$(($(date +%s) + 3))/g {limited}", 1), ("cat {server-errors}", 0)],
)
def test_a_service_that_keeps_it_from_reading_is_waited_for(
    night: Night, tmp_path: Path, trouble: str, waits: int
) -> None:
    body = f'test -e "$CALLS" || {{ touch "$CALLS"; {trouble}; exit 1; }}; cat {{finished}}'
    result = claude_reviews(night, body, tmp_path / "bin")
    assert result.code == 0, result.out + result.err
    assert [event["verdict"] for event in night.events("review_ended")] == ["none", "approved"]
    assert len(night.events("agent_ended")) == 1, "the agent itself is not asked again"
    assert len(night.events("waiting")) == waits


def test_a_limit_of_the_reviewer_that_lasts_too_long_ends_with_5(night: Night, tmp_path: Path) -> None:
    result = claude_reviews(night, "cat {limited}; exit 1", tmp_path / "bin")
    assert result.code == 5 and "the agent claude has met a limit" in result.err
    assert (night.repo.path / "one.txt").exists() and night.repo.git("rev-parse", "HEAD") == night.base
    assert night.nothing_is_left()


def test_a_reviewer_that_nobody_has_logged_in_ends_with_69(night: Night, tmp_path: Path) -> None:
    result = claude_reviews(night, "cat {key-refused}; exit 1", tmp_path / "bin")
    assert result.code == 69 and "claude auth login" in result.err
    assert night.repo.git("rev-parse", "HEAD") == night.base
