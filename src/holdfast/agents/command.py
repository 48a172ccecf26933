"""Any command line as the agent: the prompt on standard input, exit 0 as a claim of success."""

import os

from holdfast.agents.base import Assignment, Invocation, Listener
from holdfast.agents.plain import PlainListener, task_environment
from holdfast.errors import AgentUnavailable, UsageError
from holdfast.model.spent import NOTHING, Spent

_SHELL_SYNTAX = frozenset("|&;<>()$`\\\"'*?[]#~=%{}!")
# Words `sh` answers itself; looking for them on PATH would reject commands that work.
_SHELL_WORDS = frozenset(
    {".", ":", "case", "cd", "command", "eval", "exec", "exit", "export", "false", "for", "if", "read", "set"}
    | {"shift", "test", "time", "trap", "true", "type", "ulimit", "umask", "unset", "until", "wait", "while"}
)


class Command:
    name = "command"
    report_tool = ""

    def __init__(
        self, command_line: str, directory: str = ".", path: str | None = None, interactive: bool = False
    ) -> None:
        """`directory` is where a relative program path will be looked up: the workspace, once known.
        `path` is the PATH it will be started with, None for ours."""
        self._command_line = command_line
        self._directory = directory
        self._path = path
        self._interactive = interactive

    def require(self) -> None:
        words = self._command_line.split()
        if not words:
            raise UsageError("The agent command is empty.", fix="holdfast run --agent-cmd 'my-agent --flag'")
        if words[0] not in _SHELL_WORDS and not _SHELL_SYNTAX.intersection(words[0]):
            self._require_program(words[0])

    def invocation(self, assignment: Assignment) -> Invocation:
        argv = ("/bin/sh", "-c", self._command_line)
        stdin = "" if self._interactive else assignment.prompt_file
        return Invocation(argv, task_environment(assignment), stdin, terminal=self._interactive)

    def listener(self, before: Spent = NOTHING) -> Listener:
        return PlainListener()

    def _require_program(self, word: str) -> None:
        from shutil import which  # slow to load, and only a run needs it

        path = os.path.join(self._directory, word) if "/" in word else word
        if which(path, path=self._path):
            return
        if os.path.isfile(path):
            raise AgentUnavailable(f"The agent command {word} is not executable.", fix=f"chmod +x {path}")
        place = "does not exist" if "/" in word else "is not on PATH"
        raise AgentUnavailable(
            f"The agent command {word} {place}.",
            fix="Install it, or name another program: holdfast run --agent-cmd '/path/to/agent --flag'",
        )
