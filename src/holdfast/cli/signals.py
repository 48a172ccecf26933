"""SIGINT, SIGTERM and SIGHUP become a request to stop; a second one only shortens the grace."""

import contextlib
import signal
from collections.abc import Iterator

from holdfast.system.process import Stops

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def stop_requests() -> Iterator[Stops]:
    stops = Stops()
    before = {number: signal.signal(number, lambda n, frame: stops.request(n)) for number in STOPPING}
    try:
        yield stops
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
