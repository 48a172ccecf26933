"""How we speak to whoever reads our standard output."""

import os
import sys
import time

WIDTH_OF_A_PIPE = 100


def colour_wanted() -> bool:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    return not plain and sys.stdout.isatty()


def width() -> int:
    try:
        return os.get_terminal_size(1).columns or WIDTH_OF_A_PIPE
    except OSError:  # not a terminal
        return WIDTH_OF_A_PIPE


def moment(at: float) -> str:
    """The time of day, with the date unless it is today."""
    then, today = time.localtime(at), time.localtime()
    return time.strftime("%H:%M:%S" if then[:3] == today[:3] else "%Y-%m-%d %H:%M:%S", then)
