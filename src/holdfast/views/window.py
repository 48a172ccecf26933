"""A long plan seen through a small window around the task that matters."""

from itertools import accumulate
from typing import NamedTuple

from holdfast.model.plan import Plan, Task


class Window(NamedTuple):
    above: str
    """A line for what is cut off at the top, "" when nothing is."""
    tasks: tuple[Task, ...]
    below: str


class Progress(NamedTuple):
    """A plan with its settled tasks counted once, so that drawing it again costs only the window."""

    plan: Plan
    settled_before: tuple[int, ...]
    """How many of the first n tasks are settled, for every n from 0 to all."""

    @classmethod
    def of(cls, plan: Plan) -> "Progress":
        return cls(plan, tuple(accumulate((task.status.settled for task in plan.tasks), initial=0)))

    @property
    def settled(self) -> int:
        return self.settled_before[-1]

    @property
    def total(self) -> int:
        return len(self.plan.tasks)

    def first_open(self) -> int:
        """The index of the first task still to do; the last task when none is."""
        return next((i for i, t in enumerate(self.plan.tasks) if not t.status.settled), self.total - 1)

    def around(self, index: int, rows: int) -> Window:
        """At most `rows` lines, those about what is cut off included."""
        if self.total <= rows:
            return Window("", self.plan.tasks, "")
        inside = max(rows - 2, 1)
        start = min(max(index - inside // 3, 0), self.total - inside)
        end = start + inside
        return Window(self._above(start), self.plan.tasks[start:end], self._below(end))

    def _above(self, start: int) -> str:
        done = self.settled_before[start]
        if not start:
            return ""
        return f"… {start} done above" if done == start else f"… {start} above, {done} done"

    def _below(self, end: int) -> str:
        hidden = self.total - end
        done = self.settled - self.settled_before[end]
        if not hidden:
            return ""
        return f"… {hidden} more below, {done} done" if done else f"… {hidden} more below"
