"""Named places where the process can be made to die, so that tests can kill it exactly there.

`HOLDFAST_FAULT=name` (or `name@3` for the third time) ends the process with SIGKILL when that place is
reached; `HOLDFAST_FAULT_LOG=path` writes every place reached, which is how a sweep finds them all.
"""

import os
import signal

_WANTED, _, _NTH = os.environ.get("HOLDFAST_FAULT", "").partition("@")
_LOG = os.environ.get("HOLDFAST_FAULT_LOG", "")
_reached: dict[str, int] = {}


def point(name: str) -> None:
    if not (_WANTED or _LOG):
        return
    _reached[name] = count = _reached.get(name, 0) + 1
    if _LOG:
        with open(_LOG, "a", encoding="utf-8") as log:
            log.write(f"{name}@{count}\n")
    if name == _WANTED and count == int(_NTH or 1):
        os.kill(os.getpid(), signal.SIGKILL)
