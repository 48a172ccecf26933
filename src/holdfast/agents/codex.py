"""Codex: `codex exec --json`, the prompt on standard input."""

from holdfast.agents.base import Assignment, Invocation, Listener, Options
from holdfast.agents.codex_stream import CodexListener
from holdfast.agents.plain import task_environment
from holdfast.agents.program import require_mode, require_program
from holdfast.model.spent import NOTHING, Spent

SAFE_MODE = "workspace-write"
"""Its own sandbox: it may run commands and write below the workspace, without network."""
MODES = ("read-only", SAFE_MODE, "danger-full-access")
INSTALL = "npm install -g @openai/codex, then log in: codex login"


class Codex:
    name = "codex"

    def __init__(self, options: Options) -> None:
        self._options = options
        self._mode = options.permission_mode or SAFE_MODE

    def require(self) -> None:
        require_mode(self.name, self._mode, MODES)
        require_program(self.name, self._options.environment, INSTALL)

    def invocation(self, assignment: Assignment) -> Invocation:
        # As settings and not as flags: `exec resume` has no --sandbox.
        argv = ["codex", "exec", *(("resume",) if assignment.resume else ()), "--json"]
        argv += ["-c", f'sandbox_mode="{self._mode}"', "-c", 'approval_policy="never"']
        if self._options.model:
            argv += ["--model", self._options.model]
        argv += [*self._options.arguments, *((assignment.resume,) if assignment.resume else ()), "-"]
        return Invocation(
            tuple(argv), task_environment(assignment), assignment.prompt_file, session=assignment.resume
        )

    def listener(self, before: Spent = NOTHING) -> Listener:
        return CodexListener(before)
