"""The sweep over named fault points: places in the source, before and after every durable step."""

import shutil

from proof.scene import Scene
from proof.sweep import Strike, Struck


def points_reached(scene: Scene) -> list[str]:
    """Every point of a run to its end, in order, as `name@count`; none when nothing was left to do."""
    log = scene.root / "points"
    log.unlink(missing_ok=True)
    result = scene.run(HOLDFAST_FAULT_LOG=str(log))
    assert result.code == 0, result.out + result.err
    points = log.read_text().split() if log.exists() else []
    log.unlink(missing_ok=True)
    return points


def strike_at(points: list[str]) -> Strike:
    def strike(scene: Scene, number: int) -> Struck:
        result = scene.run(HOLDFAST_FAULT=points[number])
        reached = result.code == -9
        return Struck(result.code, result.out + result.err, points[number] if reached else "")

    return strike


LOSSES = {"the record is lost": "trees", "our state is lost": ""}
"""What is deleted between the kill and the next run, below our directory."""


def lose_at(points: list[str], way: str) -> Strike:
    kill = strike_at(points)

    def strike(scene: Scene, number: int) -> Struck:
        struck = kill(scene, number)
        shutil.rmtree(scene.repo.path / ".git/holdfast" / LOSSES[way], ignore_errors=True)
        return struck

    return strike
