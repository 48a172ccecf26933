"""The runner's peak memory while an agent prints a gigabyte."""

import os
import re
import subprocess
import time
from collections.abc import Iterator

from bench.figures import Figure, skipped
from bench.runs import PLAN, set_plan
from bench.scratch import HOLDFAST, Bench, Repo, make_repo

LIMIT = 80.0
SAMPLE_SECONDS = 0.02
GIGABYTE = 1 << 30


def measure(bench: Bench) -> Iterator[Figure]:
    if not os.path.exists("/proc/self/status"):
        yield skipped("peak memory of the runner", "needs /proc")
        return
    repo = make_repo(bench, "memory")
    set_plan(repo, tasks=2)
    size = GIGABYTE // 8 if bench.quick else GIGABYTE
    quiet = _peak(repo, "T00000", "echo done > work/quiet.txt")
    loud = _peak(
        repo,
        "T00001",
        f"yes 'All is well, and this line is a usual one.' | head -c {size}; echo > work/loud.txt",
    )
    what = f"peak memory, agent prints {size >> 20:,} MB, floor: nothing"
    yield Figure(what, loud, quiet, f"< {LIMIT:g} MB", lambda value, floor: value < LIMIT, unit="MB")


def _peak(repo: Repo, task: str, agent: str) -> float:
    """VmHWM only grows, so the last sample before the end misses at most the growth since."""
    argv = (HOLDFAST, "run", PLAN, "--only", task, "--agent-cmd", agent)
    runner = subprocess.Popen(argv, cwd=repo.path, env=repo.env, stdout=subprocess.DEVNULL)
    peak = 0.0
    while runner.poll() is None:
        peak = max(peak, _high_water(runner.pid))
        time.sleep(SAMPLE_SECONDS)
    if runner.returncode:
        raise SystemExit(f"holdfast run exited with {runner.returncode}")
    return peak


def _high_water(pid: int) -> float:
    """In megabytes; 0 for a process that has just ended."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        found = re.search(r"^VmHWM:\s+(\d+) kB", f.read(), re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0
