"""Acceptance criteria: asked for in the prompt, reported one by one, shown by status."""

import json

from scratch import Cli, Repo

PLAN = "- [ ] Build it\n  Acceptance:\n  - It works\n  - It is fast\n"


def test_the_prompt_asks_by_number_and_status_shows_the_answers(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", PLAN)
    agent = 'cat > prompt.txt; echo "CRITERION 1: met"; echo "<SUCCESS>done</SUCCESS>"'
    assert cli("run", "plan.md", "--agent-cmd", agent).code == 0
    prompt = (repo.path / "prompt.txt").read_text()
    assert "1. It works\n2. It is fast\n" in prompt
    assert "`CRITERION 2: not met: why`" in prompt
    told = cli("status", "plan.md").out
    assert "criteria: 1 of 2 reported met" in told
    assert "not said: It is fast" in told
    (task,) = json.loads(cli("status", "plan.md", "--json").out)["tasks"]
    assert [(c["criterion"], c["verdict"]) for c in task["criteria"]] == [
        ("It works", "met"),
        ("It is fast", "not said"),
    ]


def test_one_that_is_not_met_fails_the_attempt_and_is_feedback(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", PLAN)
    agent = (
        'cat > prompt-$HOLDFAST_ATTEMPT.txt; echo "CRITERION 1: met"; '
        'test $HOLDFAST_ATTEMPT = 1 && echo "CRITERION 2: not met: 3 s" || echo "CRITERION 2: met"'
    )
    result = cli("run", "plan.md", "--agent-cmd", agent)
    assert result.code == 0, result.err
    assert "attempt 1 failed: not every acceptance criterion is met: It is fast: 3 s" in result.out
    assert "- It is fast: 3 s" in (repo.path / "prompt-2.txt").read_text()
    assert "criteria: 2 of 2 reported met" in cli("status", "plan.md").out


def test_an_agent_that_echoes_its_prompt_has_reported_nothing(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", PLAN)
    assert cli("run", "plan.md", "--agent-cmd", "cat; echo work > work.txt").code == 0
    assert "criteria: 0 of 2 reported met" in cli("status", "plan.md").out
