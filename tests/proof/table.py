"""The figures of all sweeps of a test run as text."""

from collections.abc import Iterable

HEADING = ("sweep", "way and mode", "points", "failed", "most reruns")


def table(rows: Iterable[tuple[str, str, int, int, int]]) -> list[str]:
    """Rows of the same sweep and mode are parts of one; no rows, no table."""
    sums: dict[tuple[str, str], tuple[int, int, int]] = {}
    for sweep, mode, points, failed, reruns in rows:
        before = sums.get((sweep, mode), (0, 0, 0))
        sums[sweep, mode] = (before[0] + points, before[1] + failed, max(before[2], reruns))
    if not sums:
        return []
    total = (sum(s[0] for s in sums.values()), sum(s[1] for s in sums.values()), "")
    lines = [HEADING, *((*name, *figures) for name, figures in sorted(sums.items())), ("all", "", *total)]
    return ["", *(_line(line) for line in lines)]


def _line(cells: tuple[object, ...]) -> str:
    sweep, mode, *figures = map(str, cells)
    return f"{sweep:<24}{mode:<28}" + "".join(f"{figure:>12}" for figure in figures)
