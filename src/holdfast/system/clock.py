"""Time and the machine's identity, passed as arguments to whoever needs them."""

import os
import time

now = time.time
monotonic = time.monotonic
sleep = time.sleep


def boot_id() -> str:
    """Changes when the machine restarts: files written before that may be torn."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
            return f.read().strip()
    except OSError:
        return f"boot-{int(time.time() - time.monotonic())}"


def process_start(pid: int) -> str:
    """Tells two processes with the same pid apart; "" when the process is gone or cannot be read."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            return f.read().rpartition(b")")[2].split()[19].decode("ascii")
    except (OSError, IndexError):
        return ""


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def timestamp(at: float) -> str:
    """RFC 3339, in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def local_time(at: float) -> str:
    """For people, to the minute; "" for a moment beyond any calendar."""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
    except (OverflowError, ValueError, OSError):
        return ""


def stamp() -> str:
    """A sortable name for this second, in UTC."""
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime())
