"""The sweep over full disks: a tmpfs that is too small for the run, or that the agent itself fills.

Point N leaves N pages free. Then somebody makes room, and the same command is run again.
"""

from proof import disk
from proof.scene import FILLER, LEAVE_FREE, Scene
from proof.sweep import Struck

WAYS = ("too small", "filled by the agent")


def points(scene: Scene) -> list[int]:
    """Up to three times what a whole run leaves behind: what it removes again needs room too."""
    disk.insert_tmpfs(scene.repo.path, disk.AMPLE // disk.PAGE)
    before = disk.used_pages(scene.repo.path)
    result = scene.run()
    assert result.code == 0, result.out + result.err
    needed = disk.used_pages(scene.repo.path) - before
    return list(range(3 * needed))


def strike_with(way: str, scene: Scene, point: int) -> Struck:
    tree = scene.repo.path
    if way == "too small":
        disk.insert_tmpfs(tree, point)
        result = scene.run()
    else:
        disk.insert_tmpfs(tree, 1 << 10)
        result = scene.run(**{LEAVE_FREE: str(point * disk.PAGE)})
    disk.resize_tmpfs(tree, disk.AMPLE // disk.PAGE)
    (tree / FILLER).unlink(missing_ok=True)
    return Struck(result.code, result.out + result.err, f"{way}: {point} pages free")
