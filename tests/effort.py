"""How much work something is, counted in calls: no busy machine changes that."""

import sys
from collections.abc import Callable


def calls(work: Callable[[], object]) -> int:
    counted = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return counted
