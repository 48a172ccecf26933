from pathlib import Path

import pytest

from holdfast.agents.command import Command
from holdfast.errors import AgentUnavailable, UsageError


@pytest.mark.parametrize(
    "line",
    [
        "sh -c true",
        "/bin/sh",
        "cd sub && ./agent",
        "exec some-agent",
        "KEY=value no-such-agent-anywhere",
        '"/path with blanks/agent"',
        "$AGENT --flag",
        "(no-such-agent-anywhere)",
    ],
)
def test_a_command_that_may_work_is_accepted(line: str) -> None:
    Command(line).require()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("no-such-agent-anywhere --yes", "no-such-agent-anywhere is not on PATH"),
        ("/no/such/agent", "/no/such/agent does not exist"),
        ("./no-such-agent", "./no-such-agent does not exist"),
    ],
)
def test_a_program_that_is_missing_is_named_with_what_to_type(line: str, found: str) -> None:
    with pytest.raises(AgentUnavailable, match=found) as caught:
        Command(line).require()
    assert "--agent-cmd" in caught.value.fix


def test_a_program_without_the_executable_bit_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "agent.sh").write_text("#!/bin/sh\n")
    with pytest.raises(AgentUnavailable, match="not executable") as caught:
        Command("./agent.sh", str(tmp_path)).require()
    assert caught.value.fix.startswith("chmod +x")


def test_a_relative_program_is_looked_up_in_the_given_directory(tmp_path: Path) -> None:
    program = tmp_path / "agent.sh"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    Command("./agent.sh --flag", str(tmp_path)).require()


@pytest.mark.parametrize("line", ["", "  \n"])
def test_an_empty_command_is_bad_usage(line: str) -> None:
    with pytest.raises(UsageError, match="empty"):
        Command(line).require()
