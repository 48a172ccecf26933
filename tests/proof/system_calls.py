"""The sweep over system calls: see `syscalls`, which this starts as a process of its own."""

import json
import os
import sys
from pathlib import Path

from proof.scene import Scene
from proof.seccomp import UNSUPPORTED
from proof.sweep import Struck
from proof.syscalls import Outcome
from scratch import run

TESTS = Path(__file__).resolve().parent.parent
TRACER = (
    *(sys.executable, "-I", "-S", "-c"),
    f"import sys; sys.path.insert(0, {str(TESTS)!r}); from proof.syscalls import main; main()",
)
VICTIMS = ("everything", "caller", "runner")


def why_not(anywhere: Path) -> str:
    """Why this kernel cannot do it; "" when it can."""
    probe = run((*TRACER, "true"), cwd=anywhere, env=os.environ)
    return probe.err.strip() if probe.code == UNSUPPORTED else ""


def count(scene: Scene, *options: str) -> Outcome:
    """The points of a run to its end."""
    outcome, said = trace(scene, 0, *options)
    assert outcome.code == 0, said
    return outcome


def strike_call(victims: str, scene: Scene, point: int) -> Struck:
    outcome, said = trace(scene, point, "--kill", victims)
    return struck_by(scene, victims, outcome, said)


def trace(scene: Scene, point: int, *options: str) -> tuple[Outcome, str]:
    report = scene.root / "report.json"
    tracer = (*TRACER, "--at", str(point), *options, "--report", str(report))
    # Compiled modules would be written by whichever run comes first: points that the next one lacks.
    result = scene.run(*tracer, PYTHONDONTWRITEBYTECODE="1")
    return Outcome(**json.loads(report.read_text())), result.out + result.err


def struck_by(scene: Scene, way: str, outcome: Outcome, said: str) -> Struck:
    left = tuple(f"I6: alive after the end: {name}" for name in outcome.alive_after)
    where = f"{way} at {outcome.hit}" if outcome.hit else ""
    return Struck(outcome.code, said, where.replace(str(scene.root), ""), left)
