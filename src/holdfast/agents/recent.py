"""The last of what an agent did, in words: what the next attempt is told about this one."""

from collections import deque

from holdfast.agents.activity import Activity, readable
from holdfast.agents.plain import TAIL_BYTES, TAIL_LINES
from holdfast.agents.printable import last_bytes


class Recent:
    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=TAIL_LINES)

    def add(self, activities: list[Activity]) -> list[Activity]:
        for activity in activities:
            self._lines.extend(readable(activity))
        return activities

    def tail(self) -> str:
        return last_bytes("\n".join(self._lines), TAIL_BYTES)
