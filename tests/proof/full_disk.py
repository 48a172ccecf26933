"""The sweep over full disks: a tmpfs that is too small for the run, or that the agent itself fills.

Point N leaves N pages free. Then somebody makes room, and the same command is run again.
"""

from proof import disk
from proof.scene import FILLER, LEAVE_FREE, Scene
from proof.sweep import Struck

WAYS = ("too small", "filled by the agent")


def points(scene: Scene) -> list[int]:
    """Up to three times what a whole run leaves behind: what it removes again needs room too."""
    disk.insert_tmpfs(scene.place, disk.AMPLE // disk.PAGE)
    before = disk.used_pages(scene.place)
    result = scene.run()
    assert result.code == 0, result.out + result.err
    needed = disk.used_pages(scene.place) - before
    return list(range(3 * needed))


def strike_with(way: str, scene: Scene, point: int) -> Struck:
    if way == "too small":
        disk.insert_tmpfs(scene.place, point)
        result = scene.run()
    else:
        disk.insert_tmpfs(scene.place, 1 << 10)
        result = scene.run(**{LEAVE_FREE: str(point * disk.PAGE)})
    disk.resize_tmpfs(scene.place, disk.AMPLE // disk.PAGE)
    for filler in scene.place.rglob(FILLER):
        filler.unlink()
    return Struck(result.code, result.out + result.err, f"{way}: {point} pages free")
