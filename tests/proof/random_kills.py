"""Kills at random moments: no point is named, so every interleaving of several tasks at once may be met."""

import random
import signal
import subprocess
import time

from proof.scene import Scene
from proof.sweep import Struck

SCHEDULES = 300
LONGEST = 3
"""How many times one schedule kills at the most."""


def seconds_of(scene: Scene) -> float:
    """What a run takes that nobody kills."""
    began = time.monotonic()
    result = scene.run()
    assert result.code == 0, result.out + result.err
    return time.monotonic() - began


def strike_at_random(seconds: float, scene: Scene, seed: int) -> Struck:
    """The seed decides when, as parts of a whole run; what is met there the machine decides."""
    chance = random.Random(seed)
    moments = [chance.random() * seconds for _ in range(chance.randint(1, LONGEST))]
    said = "".join(killed_after(scene, moment) for moment in moments)
    return Struck(-signal.SIGKILL, said, "after " + ", ".join(f"{moment:.2f} s" for moment in moments))


def killed_after(scene: Scene, seconds: float) -> str:
    both = subprocess.PIPE, subprocess.STDOUT
    process = subprocess.Popen(
        scene.command,
        cwd=scene.repo.path,
        env=scene.repo.env,
        stdin=subprocess.DEVNULL,
        stdout=both[0],
        stderr=both[1],
    )
    try:
        said, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        said, _ = process.communicate(timeout=60)
    return said.decode("utf-8", "replace")
