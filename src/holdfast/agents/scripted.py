"""An agent that follows a script: same script, same task, same attempt, same result.

For demos and tests. `script.py` gives the format, `scripted_player.py` is the program that plays it.
"""

import os
import sys

from holdfast.agents.base import Assignment, Invocation, Listener
from holdfast.agents.plain import PlainListener, task_environment
from holdfast.model.spent import NOTHING, Spent


class Scripted:
    name = "scripted"
    report_tool = ""

    def __init__(self, script_path: str) -> None:
        # The player starts in the workspace, where a relative path would mean another file.
        self._script = os.path.abspath(script_path)

    def require(self) -> None:
        from holdfast.agents.script_file import load_script  # the TOML parser is only needed to look

        load_script(self._script)

    def invocation(self, assignment: Assignment) -> Invocation:
        # -P: a `tomllib.py` or `holdfast/` in the workspace must not be imported instead of the real one.
        argv = (sys.executable, "-P", "-m", "holdfast.agents.scripted_player", self._script)
        return Invocation(argv, task_environment(assignment), assignment.prompt_file)

    def listener(self, before: Spent = NOTHING) -> Listener:
        return PlainListener()
