"""Claude Code: `claude -p`, its events as JSON lines, the prompt on standard input."""

import json
import os

from holdfast.agents.base import Assignment, Invocation, Listener, Options
from holdfast.agents.claude_stream import REPORT_TOOL, ClaudeListener
from holdfast.agents.interactive import opening, report_file
from holdfast.agents.plain import task_environment
from holdfast.agents.program import require_mode, require_program
from holdfast.agents.report import SERVER, TOOL, server_command
from holdfast.errors import AgentUnavailable
from holdfast.model.spent import NOTHING, Spent

SAFE_MODE = "acceptEdits"
"""It may edit files below the workspace; commands only as far as the user's own settings allow them."""
FREE_MODE = "bypassPermissions"
MODES = (SAFE_MODE, FREE_MODE, "auto", "default", "dontAsk", "plan")
INSTALL = "npm install -g @anthropic-ai/claude-code, then log in: claude auth login"
# Set inside a session of its own; with it a nested `claude` behaves as part of that session.
NESTED = "CLAUDECODE"


class Claude:
    name = "claude"

    def __init__(self, options: Options) -> None:
        self._options = options
        self._mode = options.permission_mode or SAFE_MODE
        self.report_tool = TOOL if options.report_tool else ""

    def require(self) -> None:
        require_mode(self.name, self._mode, MODES)
        require_program(self.name, self._options.environment, INSTALL)
        trusted = self._options.environment.get("IS_SANDBOX") == "1"
        if self._mode == FREE_MODE and os.geteuid() == 0 and not trusted:
            raise AgentUnavailable(
                f"claude refuses permission mode {FREE_MODE} when it runs as root",
                fix="run as another user, or where the machine itself is a sandbox: export IS_SANDBOX=1",
            )

    def invocation(self, assignment: Assignment) -> Invocation:
        return self._in_terminal(assignment) if self._options.interactive else self._unattended(assignment)

    def _unattended(self, assignment: Assignment) -> Invocation:
        argv = ["claude", "-p", "--output-format", "stream-json", "--verbose"]
        if self._options.max_turns:
            argv += ["--max-turns", str(self._options.max_turns)]
        return Invocation(
            (*argv, *self._choices(assignment, "")),
            task_environment(assignment),
            assignment.prompt_file,
            without=(NESTED,),
            session=assignment.resume or assignment.session,
        )

    def _in_terminal(self, assignment: Assignment) -> Invocation:
        report = report_file(assignment) if self.report_tool else ""
        return Invocation(
            ("claude", *self._choices(assignment, report), "--", opening(assignment)),
            task_environment(assignment),
            "",
            without=(NESTED,),
            session=assignment.resume or assignment.session,
            terminal=True,
            report_file=report,
        )

    def _choices(self, assignment: Assignment, report: str) -> list[str]:
        chosen = [*self._report_tool(report), "--permission-mode", self._mode]
        if self._options.model:
            chosen += ["--model", self._options.model]
        if assignment.resume:
            chosen += ["--resume", assignment.resume]
        elif assignment.session:
            chosen += ["--session-id", assignment.session]
        return [*chosen, *self._options.arguments]

    def _report_tool(self, report: str) -> list[str]:
        """Beside the user's own servers and rules, which stay. Neither may come last: both take all the
        words that follow."""
        if not self.report_tool:
            return []
        program, *arguments = server_command(report)
        servers = {SERVER: {"type": "stdio", "command": program, "args": arguments}}
        return ["--mcp-config", json.dumps({"mcpServers": servers}), "--allowedTools", REPORT_TOOL]

    def listener(self, before: Spent = NOTHING) -> Listener:
        return ClaudeListener(before)
