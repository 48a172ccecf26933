"""One point of one sweep, by hand: what happened, and the scene left for a look.

PYTHONPATH=tests python -m proof.replay plain "system calls" everything resume 137
PYTHONPATH=tests python -m proof.replay "unruly agent" "git calls" "kill after" rollback 40
PYTHONPATH=tests python -m proof.replay "new plan" "fault points" "kill the runner" resume 12
"""

import sys
import tempfile
from pathlib import Path

from proof.sweep import judge
from proof.sweeps import SCENES, in_mode, prepare


def main(scene: str, kind: str, way: str, mode: str, point: str) -> int:
    arena = Path(tempfile.mkdtemp(prefix="sweep-"))
    template = in_mode(mode, SCENES[scene](arena / "template"))
    strike, points = prepare(kind, template)[way]
    verdict = judge(template, strike, int(point), arena, keep=True)
    print(f"{verdict.where}\n{verdict.reruns} reruns; the last point is {points[-1]}")
    print("\n".join(verdict.problems) or "every invariant holds")
    print(f"the scene: {arena}/point-{point}")
    return 1 if verdict.problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
