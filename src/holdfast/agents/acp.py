"""Agents that speak the Agent Client Protocol: `acp_bridge.py` speaks it with them, the runner reads on.

The bridge is the program the supervisor starts. So an agent behind it is like any other: a program that
prints a line for each thing that happens, and whose whole tree ends when it has to.
"""

import os
import shlex
import sys

from holdfast.agents.acp_agents import PROFILES, other
from holdfast.agents.acp_permission import Mode
from holdfast.agents.acp_stream import AcpListener
from holdfast.agents.base import Assignment, Invocation, Listener, Options
from holdfast.agents.plain import task_environment
from holdfast.agents.program import require_mode, require_program
from holdfast.errors import UsageError
from holdfast.model.spent import NOTHING, Spent

PREFIX = "acp:"
MODES = tuple(mode.value for mode in Mode)


class Acp:
    report_tool = ""

    def __init__(self, name: str, options: Options) -> None:
        """`name` is one of the profiles', or acp: and a command line."""
        self.name = name
        self._options = options
        self._profile = PROFILES.get(name) or other(_words(name))
        self._mode = options.permission_mode or Mode.EDITS.value

    def require(self) -> None:
        require_mode(self.name, self._mode, MODES)
        program = self._profile.argv[0]
        place = os.path.join(self._options.directory, program) if "/" in program else program
        require_program(place, self._options.environment, self._profile.install)

    def invocation(self, assignment: Assignment) -> Invocation:
        # -P: a `holdfast/` or `json.py` in the workspace must not be imported instead of the real one.
        bridge = (sys.executable, "-P", "-m", "holdfast.agents.acp_bridge")
        profile, mode, model = self._profile, Mode(self._mode), self._options.model
        files, asked = "read" if profile.reads else "", "" if profile.model_flag else model
        order = (self._mode, files, asked, assignment.resume)
        argv = (*bridge, *order, *profile.program(mode, model), *self._options.arguments)
        environment = {**profile.surroundings(mode), **task_environment(assignment)}
        return Invocation(argv, environment, assignment.prompt_file, session=assignment.resume)

    def listener(self, before: Spent = NOTHING) -> Listener:
        return AcpListener(self._profile.log_in, before)


def _words(name: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(name.removeprefix(PREFIX)))
    except ValueError as error:
        raise UsageError(f"--agent {name}: {error}", fix="quote it as for a shell") from None
    if not words:
        raise UsageError("acp: names no program", fix="holdfast run PLAN --agent 'acp:my-agent --acp'")
    return words
