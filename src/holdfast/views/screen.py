"""The live view's picture of a scene, in rich's terms. Imported only when a terminal is there to see it."""

from rich.console import Group
from rich.text import Text

from holdfast.model.plan import Status, Task
from holdfast.views.scene import QUEUED, SPOKEN_LINES, Current, Scene
from holdfast.views.text import duration, plain

_MARKS = {
    Status.PENDING: ("○", ""),
    Status.IN_PROGRESS: ("○", ""),
    Status.COMPLETED: ("✓", "green"),
    Status.SKIPPED: ("–", "dim"),
    Status.FAILED: ("✗", "bold red"),
    Status.BLOCKED: ("■", "yellow"),
}
_FRAME_ROWS = 5
"""Blank lines, the attempt and the bar: what stands around the window whatever its size."""
_LEAST_ROWS = 3
_LONGEST_ID = 12
_LONGEST_BAR = 40


def drawn(scene: Scene, *, width: int, height: int, now: float) -> Group:
    """At most three quarters of the screen: the rest is for the lines that stay."""
    room = max(height * 3 // 4 - _FRAME_ROWS, _LEAST_ROWS)
    if len(scene.under_way) > 1:
        crew = _crew(scene, max(room - _LEAST_ROWS, _LEAST_ROWS), now)
        rows = max(room - len(crew) - 1, _LEAST_ROWS)
        return Group(Text(""), *_plan(scene, rows, 0, now), Text(""), *crew, _bar(scene, width, now))
    spoken = min(SPOKEN_LINES, max(room - _LEAST_ROWS, 0))
    rows = max(room - spoken, _LEAST_ROWS)
    return Group(Text(""), *_plan(scene, rows, spoken, now), Text(""), _bar(scene, width, now))


def _crew(scene: Scene, rows: int, now: float) -> list[Text]:
    """A row for each task under way, those that wait to land last; the rest only counted."""
    ordered = sorted(scene.under_way, key=lambda one: one.doing == QUEUED)
    shown = ordered if len(ordered) <= rows else ordered[: rows - 1]
    column = min(max(len(plain(one.attempt.task)) for one in shown), _LONGEST_ID)
    lines = [_at_work(one, column, now) for one in shown]
    hidden = len(ordered) - len(shown)
    return lines + ([_line((f"    … and {hidden} more at work", "dim"))] if hidden else [])


def _at_work(one: Current, column: int, now: float) -> Text:
    name = plain(one.attempt.task).ljust(column)
    style = "yellow" if one.doing == QUEUED else "cyan"
    said = f" │ {one.spoken[-1]}" if one.spoken and one.doing != QUEUED else ""
    return _line(("  ▶ ", "bold cyan"), (f"{name}  ", "bold"), (_about(one, now), style), (said, "dim"))


def _plan(scene: Scene, rows: int, spoken: int, now: float) -> list[Text]:
    window = scene.progress.around(scene.focus, rows)
    column = min(max((len(plain(task.id)) for task in window.tasks), default=0), _LONGEST_ID)
    lines = [_line(("  " + window.above, "dim"))] if window.above else []
    alone = len(scene.under_way) == 1
    for task in window.tasks:
        current = next((one for one in scene.under_way if one.attempt.task == task.id), None)
        lines.append(_task(task, column, at_hand=current is not None))
        if current and alone:
            lines += _attempt(current, spoken, now)
    return lines + ([_line(("  " + window.below, "dim"))] if window.below else [])


def _task(task: Task, column: int, *, at_hand: bool) -> Text:
    name = plain(task.id).ljust(column)
    if at_hand:
        return _line(("  ▶ ", "bold cyan"), (f"{name}  {plain(task.title)}", "bold"))
    mark, style = _MARKS[task.status]
    return _line((f"  {mark} ", style), (f"{name}  {plain(task.title)}", _title_style(task.status)))


def _attempt(current: Current, spoken: int, now: float) -> list[Text]:
    said = current.spoken[len(current.spoken) - min(spoken, len(current.spoken)) :]
    about = _line((f"    {_about(current, now)}", "cyan"))
    return [about, *(_line((f"    │ {text}", "dim")) for text in said)]


def _about(current: Current, now: float) -> str:
    number = f"attempt {current.attempt.attempt} of {current.attempt.of}"
    doing = current.doing
    if current.waits_until is not None:
        doing = f"waiting, {duration(max(current.waits_until - now, 0))} left"
    return f"{number} · {duration(max(now - current.since, 0))} · {doing}"


def _bar(scene: Scene, width: int, now: float) -> Text:
    settled, total = scene.progress.settled, scene.progress.total
    elapsed = duration(max((now if scene.until is None else scene.until) - scene.since, 0))
    label = f"  {settled} of {total} done · {elapsed}"
    length = max(min(width - len(label) - 3, _LONGEST_BAR), 0)
    full = length * settled // max(total, 1)
    return _line(("  ", ""), ("━" * full, "green"), ("─" * (length - full), "dim"), (label, ""))


def _title_style(status: Status) -> str:
    return "dim" if status.settled else "red" if status is Status.FAILED else ""


def _line(*parts: tuple[str, str]) -> Text:
    return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")
