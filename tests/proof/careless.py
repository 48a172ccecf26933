"""A control for the sweeps: a runner as they are often written. It works, as long as nothing dies.

careless.py PLAN AGENT
"""

import json
import os
import subprocess
import sys

STATE = ".git/careless.json"


def main(plan: str, agent: str) -> None:
    done = json.load(open(STATE)) if os.path.exists(STATE) else []  # noqa: SIM115
    lines = open(plan).read().splitlines()  # noqa: SIM115
    tasks = [n for n, line in enumerate(lines) if line.startswith("- [")]
    for number, line in enumerate(tasks, 1):
        task = f"1.{number}"
        if task in done:
            continue
        lines[line] = lines[line].replace("[ ]", "[x]")
        open(plan, "w").write("\n".join(lines) + "\n")  # noqa: SIM115
        subprocess.run(["sh", "-c", agent], env={**os.environ, "HOLDFAST_TASK_ID": task}, check=True)
        subprocess.run(["git", "add", "-A"], check=True)
        subprocess.run(["git", "commit", "-qm", f"Task {task}\n\nHoldfast-Task: {task}"], check=True)
        done.append(task)
        json.dump(done, open(STATE, "w"))  # noqa: SIM115


main(*sys.argv[1:])
