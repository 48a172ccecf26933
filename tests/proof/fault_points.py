"""The sweep over named fault points: places in the source, before and after every durable step."""

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
