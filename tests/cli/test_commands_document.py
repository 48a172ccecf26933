"""docs/COMMANDS.md says exactly what programs may rely on."""

import re
from pathlib import Path

from holdfast.cli.main import COMMANDS
from holdfast.model.codec import kind_of
from holdfast.model.events import STORED, AgentSpoke

TEXT = (Path(__file__).parents[2] / "docs" / "COMMANDS.md").read_text(encoding="utf-8")


def test_every_command_is_listed() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| `")]
    listed = {word for row in rows for word in re.findall(r"`(\w+)", row.split(" | ")[0])}
    assert set(COMMANDS) <= listed


def test_every_event_is_listed_with_all_its_fields() -> None:
    events = TEXT.partition("| `event` |")[2].splitlines()
    kinds = {**STORED, kind_of(AgentSpoke("", "")): AgentSpoke}
    for kind, shape in kinds.items():
        [row] = [line for line in events if line.startswith(f"| `{kind}` |")]
        words = re.findall(r"`(\w+)`", row.split(" | ")[1])
        assert tuple(word for word in words if word in shape._fields) == shape._fields
