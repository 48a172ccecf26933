"""The sweep over system calls: see `syscalls`, which this starts as a process of its own."""

import json
import os
import sys
from pathlib import Path

from proof.scene import Scene
from proof.sweep import Struck
from proof.syscalls import UNSUPPORTED, Outcome
from scratch import run

TRACER = (sys.executable, "-I", "-S", str(Path(__file__).parent / "syscalls.py"))
VICTIMS = ("everything", "caller", "runner")


def why_not(anywhere: Path) -> str:
    """Why this kernel cannot do it; "" when it can."""
    probe = run((*TRACER, "true"), cwd=anywhere, env=os.environ)
    return probe.err.strip() if probe.code == UNSUPPORTED else ""


def count(scene: Scene) -> Outcome:
    outcome, said = _trace(scene, 0, "everything")
    assert outcome.code == 0, said
    return outcome


def strike_call(victims: str, scene: Scene, point: int) -> Struck:
    outcome, said = _trace(scene, point, victims)
    left = tuple(f"I6: alive after the end: {name}" for name in outcome.alive_after)
    where = f"{victims} at {outcome.hit}" if outcome.hit else ""
    return Struck(outcome.code, said, where.replace(str(scene.root), ""), left)


def _trace(scene: Scene, point: int, victims: str) -> tuple[Outcome, str]:
    report = scene.root / "report.json"
    tracer = (*TRACER, "--at", str(point), "--kill", victims, "--report", str(report))
    # Compiled modules would be written by whichever run comes first: points that the next one lacks.
    result = scene.run(*tracer, PYTHONDONTWRITEBYTECODE="1")
    return Outcome(**json.loads(report.read_text())), result.out + result.err
