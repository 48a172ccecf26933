"""A disk of its own for one directory: an ext4 image whose power can fail, or a small tmpfs that gets full.

Mounts are private to this process, and loop devices go with their mount: whatever becomes of a test, nothing
of it stays on the machine. Needs root.
"""

import ctypes
import functools
import os
import shutil
import subprocess
import tempfile
import uuid
from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
MOUNTS = Path("/proc/self/mounts")
NEW_MOUNT_NAMESPACE = 0x00020000
PAGE = 4096
AMPLE = 64 << 20

# The defaults of ext4 as people have it: ordered data, delayed allocation, 4 KiB blocks. So names and sizes
# get to the disk seconds before the contents do. Only the timer that writes the journal is slowed down: what
# is on the disk is for the test to say and not for the clock.
_EXT4 = ("-q", "-F", "-b", str(PAGE), "-J", "size=4")
_OPTIONS = "loop,commit=300"


@functools.cache
def why_not() -> str:
    """Why there can be no such disk here; "" when there can."""
    if not MOUNTS.exists() or os.geteuid() != 0:
        return "a disk of one's own needs root on Linux"
    if not shutil.which("mkfs.ext4"):
        return "there is no mkfs.ext4"
    with tempfile.TemporaryDirectory(prefix="disk-") as directory:
        place = Path(directory, "place")
        place.mkdir()
        try:
            insert_ext4(place)
        except (OSError, subprocess.CalledProcessError) as error:
            return f"an image cannot be mounted here: {getattr(error, 'stderr', error)}".strip()
        finally:
            eject(place.parent)
    return ""


def insert_ext4(directory: Path) -> None:
    """What the directory holds now lies on an ext4 file system, every byte of it on the disk."""
    _own_mounts()
    image = _image(directory)
    with open(image, "wb") as f:
        f.truncate(AMPLE)
    _run("mkfs.ext4", *_EXT4, "-d", str(directory), str(image))
    _run("mount", "-t", "ext4", "-o", _OPTIONS, str(image), str(directory))
    (directory / "lost+found").rmdir()
    os.sync()


def start_again(directory: Path) -> None:
    """After a power cut: the disk as the file system's own recovery makes it, on a machine just started."""
    _run("umount", str(directory))
    _run("mount", "-t", "ext4", "-o", _OPTIONS, str(_image(directory)), str(directory))
    other = directory.parent / "boot-id"
    other.write_text(f"{uuid.uuid4()}\n")
    _run("mount", "--bind", str(other), str(BOOT_ID))


def insert_tmpfs(directory: Path, free_pages: int) -> None:
    """What the directory holds now lies on a tmpfs with only so much room left."""
    _own_mounts()
    aside = directory.with_name(f"{directory.name}.aside")
    directory.rename(aside)
    directory.mkdir()
    _run("mount", "-t", "tmpfs", "-o", f"size={AMPLE}", "tmpfs", str(directory))
    _run("cp", "-a", f"{aside}/.", str(directory))
    shutil.rmtree(aside)
    resize_tmpfs(directory, used_pages(directory) + free_pages)


def resize_tmpfs(directory: Path, pages: int) -> None:
    _run("mount", "-o", f"remount,size={pages * PAGE}", str(directory))


def used_pages(directory: Path) -> int:
    found = os.statvfs(directory)
    return (found.f_blocks - found.f_bfree) * found.f_frsize // PAGE


def take_out(directory: Path) -> None:
    """What its disk holds, in an ordinary directory."""
    if not directory.is_mount():
        return
    aside = directory.with_name(f"{directory.name}.aside")
    _run("cp", "-a", str(directory), str(aside))
    eject(directory.parent)
    shutil.rmtree(directory)
    aside.rename(directory)


def eject(root: Path) -> None:
    """No disk is mounted below `root` any more, and this machine is itself again."""
    if not MOUNTS.exists():
        return
    mounted = [Path(line.split()[1]) for line in MOUNTS.read_text().splitlines()]
    for place in reversed(mounted):
        if place.is_relative_to(root) or place == BOOT_ID:
            _run("umount", str(place))


@functools.cache
def _own_mounts() -> None:
    if ctypes.CDLL(None, use_errno=True).unshare(NEW_MOUNT_NAMESPACE):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    _run("mount", "--make-rprivate", "/")


def _image(directory: Path) -> Path:
    return directory.with_name(f"{directory.name}.img")


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True, text=True)
