"""Codex: `codex exec --json`, the prompt on standard input."""

import json

from holdfast.agents.base import Assignment, Invocation, Listener, Options
from holdfast.agents.codex_stream import CodexListener
from holdfast.agents.interactive import opening, report_file
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
        return self._in_terminal(assignment) if self._options.interactive else self._unattended(assignment)

    def _unattended(self, assignment: Assignment) -> Invocation:
        resumed = ("resume",) if assignment.resume else ()
        argv = ["codex", "exec", *resumed, "--json", *self._choices("never", "")]
        argv += [*((assignment.resume,) if assignment.resume else ()), "-"]
        return Invocation(
            tuple(argv), task_environment(assignment), assignment.prompt_file, session=assignment.resume
        )

    def _in_terminal(self, assignment: Assignment) -> Invocation:
        """There is somebody to be asked."""
        report = report_file(assignment) if self.report_tool else ""
        resumed = ("resume",) if assignment.resume else ()
        argv = ["codex", *resumed, *self._choices("on-request", report), "--"]
        argv += [*((assignment.resume,) if assignment.resume else ()), opening(assignment)]
        return Invocation(
            tuple(argv),
            task_environment(assignment),
            "",
            session=assignment.resume,
            terminal=True,
            report_file=report,
        )

    def _choices(self, approval: str, report: str) -> list[str]:
        # As settings and not as flags: `exec resume` has no --sandbox.
        chosen = ["-c", f'sandbox_mode="{self._mode}"', "-c", f'approval_policy="{approval}"']
        chosen += self._report_tool(report)
        if self._options.model:
            chosen += ["--model", self._options.model]
        return [*chosen, *self._options.arguments]

    def _report_tool(self, report: str) -> list[str]:
        """Beside the servers in the user's own configuration."""
        if not self.report_tool:
            return []
        program, *arguments = map(json.dumps, server_command(report))
        words = f"[{', '.join(arguments)}]"
        return ["-c", f"mcp_servers.{SERVER}.command={program}", "-c", f"mcp_servers.{SERVER}.args={words}"]

    def listener(self, before: Spent = NOTHING) -> Listener:
        return CodexListener(before)
