"""One figure of the table: what was measured, the floor it is held against, and the target."""

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from bench.scratch import Bench

COLUMNS = "{:<56} {:>10} {:>10} {:>7} {:>9}  {}"


class Figure(NamedTuple):
    """`None` for the two numbers: not measured, and `note` says why."""

    what: str
    value: float | None
    floor: float | None
    """What the same thing costs without Holdfast, or on the small plan."""
    target: str
    """As people read it; "" for a figure that is only shown as part of another."""
    limit: Callable[[float, float], bool]
    """Is (value, floor) within the target?"""
    unit: str = "ms"
    note: str = ""


Measure = Callable[[Bench], Iterator[Figure]]


def heading() -> str:
    return COLUMNS.format("", "holdfast", "floor", "ratio", "target", "")


def line(figure: Figure) -> str:
    if figure.value is None or figure.floor is None:
        return f"{figure.what:<56} skipped: {figure.note}"
    ratio = f"{figure.value / figure.floor:.2f} x"
    verdict = "ok" if figure.limit(figure.value, figure.floor) else "missed"
    value, floor = (f"{number:.1f} {figure.unit}" for number in (figure.value, figure.floor))
    return COLUMNS.format(figure.what, value, floor, ratio, figure.target, verdict if figure.target else "")


def at_most(factor: float) -> Callable[[float, float], bool]:
    return lambda value, floor: value <= factor * floor


def at_most_more(extra: float) -> Callable[[float, float], bool]:
    return lambda value, floor: value <= floor + extra


def skipped(what: str, why: str) -> Figure:
    return Figure(what, None, None, "", at_most(1.0), note=why)


def milliseconds(seconds: Sequence[float]) -> float:
    """The median: on a shared machine the mean tells more about the neighbours."""
    return statistics.median(seconds) * 1000


def interleaved(rounds: int, actions: Sequence[Callable[[], Iterable[float]]]) -> list[list[float]]:
    """Every action once per round, so that a busy minute slows all of them alike; samples by action."""
    samples: list[list[float]] = [[] for _ in actions]
    for _ in range(rounds):
        for taken, action in zip(samples, actions, strict=True):
            taken.extend(action())
    return samples
