"""Codex: `codex exec --json`, the prompt on standard input."""

import json

from holdfast.agents.base import Assignment, Invocation, Listener, Options
from holdfast.agents.codex_stream import CodexListener
from holdfast.agents.plain import task_environment
from holdfast.agents.program import require_mode, require_program
from holdfast.agents.report import SERVER, TOOL, server_command
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
        self.report_tool = TOOL if options.report_tool else ""

    def require(self) -> None:
        require_mode(self.name, self._mode, MODES)
        require_program(self.name, self._options.environment, INSTALL)

    def invocation(self, assignment: Assignment) -> Invocation:
        # As settings and not as flags: `exec resume` has no --sandbox.
        argv = ["codex", "exec", *(("resume",) if assignment.resume else ()), "--json"]
        argv += ["-c", f'sandbox_mode="{self._mode}"', "-c", 'approval_policy="never"']
        argv += self._report_tool()
        if self._options.model:
            argv += ["--model", self._options.model]
        argv += [*self._options.arguments, *((assignment.resume,) if assignment.resume else ()), "-"]
        return Invocation(
            tuple(argv), task_environment(assignment), assignment.prompt_file, session=assignment.resume
        )

    def _report_tool(self) -> list[str]:
        """Beside the servers in the user's own configuration."""
        if not self.report_tool:
            return []
        program, *arguments = map(json.dumps, server_command())
        words = f"[{', '.join(arguments)}]"
        return ["-c", f"mcp_servers.{SERVER}.command={program}", "-c", f"mcp_servers.{SERVER}.args={words}"]

    def listener(self, before: Spent = NOTHING) -> Listener:
        return CodexListener(before)
