"""The sweep over power cuts: the disk that all lies on loses its power at the Nth system call.

What a disk holds after a power cut lies between two extremes, and each point is tried with both: the file
system has just written its journal, so that every name is there but no contents that nobody flushed; or
nothing is there but what somebody flushed.
"""

from proof import disk
from proof.scene import Scene
from proof.sweep import LANDED, Struck
from proof.system_calls import struck_by, trace

WAYS = {"names ahead of contents": ("--names-first",), "nothing unasked": ()}


def strike_power(way: str, scene: Scene, point: int, *options: str) -> Struck:
    disk.insert_ext4(scene.place)
    before = _ledger(scene)
    outcome, said = trace(scene, point, "--cut", str(scene.place), *WAYS[way], *options)
    disk.start_again(scene.place)
    _forget_what_was_not_safe(scene, before, said)
    return struck_by(scene, way, outcome, said)


def strike_power_without_flushes(way: str, scene: Scene, point: int) -> Struck:
    """A control: everybody is told that their flush was carried out, and none is."""
    return strike_power(way, scene, point, "--no-flush")


def _ledger(scene: Scene) -> str:
    return scene.ledger.read_text() if scene.ledger.exists() else ""


def _forget_what_was_not_safe(scene: Scene, before: str, said: str) -> None:
    """What an agent had just written is no loss: nobody has said yet that it is kept.

    The ledger itself lies on another disk and knows of it all the same.
    """
    kept = {found["task"] for found in LANDED.finditer(said)}
    since = _ledger(scene).removeprefix(before).splitlines(keepends=True)
    safe = [line for line in since if line.split()[0] != "wrote" or line.split()[1] in kept]
    scene.ledger.write_text(before + "".join(safe))
