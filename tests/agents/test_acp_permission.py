from pathlib import Path
from typing import Any

import pytest

from holdfast.agents.acp_permission import Mode, allowed, answer

Object = dict[str, Any]
INSIDE, OUTSIDE = {"path": "src/a.py"}, {"path": "../a.py"}


def goose(tool: str, extension: str = "developer") -> Object:
    return {"goose": {"toolCall": {"toolName": tool, "extensionName": extension}}}


@pytest.mark.parametrize(
    ("call", "modes"),
    [
        ({"kind": "read", "locations": [INSIDE]}, "read-only edits"),
        ({"kind": "search", "rawInput": INSIDE}, "read-only edits"),
        ({"kind": "think"}, "read-only edits"),
        ({"kind": "read", "locations": [OUTSIDE]}, ""),
        ({"kind": "edit", "locations": [INSIDE]}, "edits"),
        ({"kind": "delete", "content": [{"type": "diff", **INSIDE}]}, "edits"),
        ({"kind": "move", "locations": [INSIDE, OUTSIDE]}, ""),
        ({"kind": "edit", "locations": [INSIDE], "rawInput": {"file_path": "/etc/passwd"}}, ""),
        ({"kind": "edit"}, ""),
        ({"kind": "edit", "locations": [{"path": ".git/hooks/pre-commit"}]}, ""),
        ({"kind": "execute", "locations": [INSIDE]}, ""),
        ({"kind": "fetch"}, ""),
        ({"kind": "switch_mode"}, ""),
        ({"kind": "other", "locations": [INSIDE]}, ""),
        ({"locations": [INSIDE]}, ""),
        ({"kind": "other", "rawInput": INSIDE, "_meta": goose("write")}, "edits"),
        ({"kind": "other", "rawInput": OUTSIDE, "_meta": goose("write")}, ""),
        ({"kind": "other", "rawInput": INSIDE, "_meta": goose("tree")}, "read-only edits"),
        ({"kind": "other", "rawInput": {"command": "x"}, "_meta": goose("shell")}, ""),
        ({"kind": "other", "rawInput": INSIDE, "_meta": goose("write", "somebody_elses")}, ""),
    ],
)
def test_each_mode_allows_what_it_says_and_everything_all(tmp_path: Path, call: Object, modes: str) -> None:
    found = {mode.value for mode in Mode if allowed(mode, call, str(tmp_path))}
    assert found == {*modes.split(), "everything"}


def test_a_link_out_of_the_workspace_leads_outside(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "link").symlink_to(tmp_path)
    call = {"kind": "edit", "locations": [{"path": str(workspace / "link" / "a.txt")}]}
    assert not allowed(Mode.EDITS, call, str(workspace))


def test_a_workspace_behind_a_link_is_still_the_workspace(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    call = {"kind": "edit", "locations": [{"path": str(real / "a.txt")}]}
    assert allowed(Mode.EDITS, call, str(tmp_path / "link"))


def test_nothing_is_allowed_or_refused_for_good() -> None:
    always = [{"optionId": "a", "kind": "allow_always"}, {"optionId": "n", "kind": "reject_always"}]
    once = [{"optionId": "o", "kind": "allow_once"}, {"optionId": "r", "kind": "reject_once"}]
    assert answer([*always, *once], True) == {"outcome": "selected", "optionId": "o"}
    assert answer([*always, *once], False) == {"outcome": "selected", "optionId": "r"}
    assert answer(always, True) == answer(always, False) == {"outcome": "cancelled"}
