"""The figures of all sweeps of a test run as text."""

from collections.abc import Iterable

HEADING = ("sweep", "way and mode", "points", "failed", "most reruns")


def table(
    rows: Iterable[tuple[str, str, int, int, int]], controls: Iterable[tuple[str, int, int]]
) -> list[str]:
    """Rows of the same sweep and mode are parts of one; no figures, no lines."""
    sums: dict[tuple[str, str], tuple[int, int, int]] = {}
    for sweep, mode, points, failed, reruns in rows:
        before = sums.get((sweep, mode), (0, 0, 0))
        sums[sweep, mode] = (before[0] + points, before[1] + failed, max(before[2], reruns))
    lines = [_line((*name, *figures)) for name, figures in sorted(sums.items())]
    if lines:
        points, failed = (sum(figures[n] for figures in sums.values()) for n in (0, 1))
        lines = ["", _line(HEADING), *lines, _line(("all", "", points, failed, ""))]
    return lines + [f"control: {name} fails at {bad} of {of} points" for name, bad, of in controls]


def _line(cells: tuple[object, ...]) -> str:
    sweep, mode, *figures = map(str, cells)
    return f"{sweep:<40}{mode:<36}" + "".join(f"{figure:>12}" for figure in figures)
