"""What an agent that asks may do: the answer to `session/request_permission`, by what the call is about.

Nobody is there to be asked, so each mode answers by a rule. What an agent does without asking is not decided
here: its own settings do that, and `acp_agents.py` has those of the agents known by name ask.
"""

import os
from enum import StrEnum

from holdfast.agents import wire


class Mode(StrEnum):
    READ_ONLY = "read-only"
    """Look at files below the workspace, and change nothing."""
    EDITS = "edits"
    """Change files below the workspace too; no commands, no network."""
    EVERYTHING = "everything"


_LOOKS = frozenset({"read", "search", "think"})
_CHANGES = frozenset({"edit", "delete", "move"})
_GOOSE = {
    "developer write": "edit",
    "developer edit": "edit",
    "developer read": "read",
    "developer tree": "read",
}
_PATHS = ("path", "file_path", "filePath", "filepath", "absolute_path", "filename")


def allowed(mode: Mode, call: wire.Object, workspace: str) -> bool:
    """A call of no known kind is taken for a command, one that names no file for one that is elsewhere."""
    if mode is Mode.EVERYTHING:
        return True
    kind = _kind(call)
    if kind == "think":
        return True
    free = _LOOKS if mode is Mode.READ_ONLY else _LOOKS | _CHANGES
    paths = touched(call)
    return kind in free and bool(paths) and all(inside(path, workspace) for path in paths)


def _kind(call: wire.Object) -> str:
    """goose asks about everything as "other", and tells the tool beside it."""
    tool = wire.inner(wire.inner(wire.inner(call, "_meta"), "goose"), "toolCall")
    name = f"{wire.text(tool, 'extensionName')} {wire.text(tool, 'toolName')}"
    return _GOOSE.get(name) or wire.text(call, "kind")


def touched(call: wire.Object) -> list[str]:
    """The files a call names, wherever it names them."""
    places = [*wire.items(call, "locations"), *wire.items(call, "content")]
    paths = [wire.text(place, "path") for place in places]
    given = wire.inner(call, "rawInput")
    return [path for path in (*paths, *(wire.text(given, key) for key in _PATHS)) if path]


def inside(path: str, workspace: str) -> bool:
    """Below the workspace once every link is followed, and no part of git's own files."""
    root = os.path.realpath(workspace)
    real = os.path.realpath(os.path.join(root, path))
    below = os.path.relpath(real, root).split(os.sep)
    return below[0] != os.pardir and ".git" not in below


def answer(options: list[wire.Object], allow: bool) -> wire.Object:
    """Once, never for good: an agent may keep "always" in the user's own settings."""
    wanted = "allow_once" if allow else "reject_once"
    fitting = (wire.text(option, "optionId") for option in options if option.get("kind") == wanted)
    chosen = next(fitting, "")
    return {"outcome": "selected", "optionId": chosen} if chosen else {"outcome": "cancelled"}
