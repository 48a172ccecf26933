"""One point of one sweep, by hand: what happened, and the scene left for a look.

PYTHONPATH=tests python -m proof.replay plain "system calls" everything resume 137
PYTHONPATH=tests python -m proof.replay "unruly agent" "git calls" "kill after" rollback 40
PYTHONPATH=tests python -m proof.replay "new plan" "fault points" "kill the runner" resume 12
PYTHONPATH=tests python -m proof.replay discard "system calls" everything - 170
"""

import sys
import tempfile
from pathlib import Path

from proof.finishing import COMMANDS, make_finishing
from proof.sweep import Verdict, judge
from proof.sweeps import SCENES, in_mode, prepare


def main(scene: str, kind: str, way: str, mode: str, point: str) -> int:
    arena = Path(tempfile.mkdtemp(prefix="sweep-"))
    played = _finishing(scene, kind, way, int(point), arena) if scene in COMMANDS else None
    verdict, points = played or _run(scene, kind, way, mode, int(point), arena)
    print(f"{verdict.where}\n{verdict.reruns} reruns; the last point is {points[-1]}")
    print("\n".join(verdict.problems) or "every invariant holds")
    print(f"the scene: {arena}/point-{point}")
    return 1 if verdict.problems else 0


def _run(scene: str, kind: str, way: str, mode: str, point: int, arena: Path) -> tuple[Verdict, list[int]]:
    template = in_mode(mode, SCENES[scene](arena / "template"))
    strike, points = prepare(kind, template)[way]
    return judge(template, strike, point, arena, keep=True), points


def _finishing(scene: str, kind: str, way: str, point: int, arena: Path) -> tuple[Verdict, list[int]]:
    finishing = make_finishing(scene, arena / "template")
    strike, points = prepare(kind, finishing.template)[way]
    struck = finishing.watched(strike)
    return judge(finishing.template, struck, point, arena, keep=True, look=finishing.look), points


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
