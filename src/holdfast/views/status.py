"""What `status` says, as lines for people and as values for `--json`. Pure: whoever calls asks git.

However long the plan, the text fits a screen: counts, a window around what matters, the newest of the rest.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from holdfast.journal import Reader
from holdfast.model.plan import Plan, Status, Task
from holdfast.model.state import SUMMARY_KINDS, State, fold
from holdfast.views.text import duration, plain, shorten
from holdfast.views.window import Progress
from holdfast.views.words import usage

_WINDOW_ROWS = 9
_NEWEST = 3
"""How many failures, recoveries and rescues are told one by one."""
_MARKS = {
    Status.PENDING: "○",
    Status.IN_PROGRESS: "○",
    Status.COMPLETED: "✓",
    Status.SKIPPED: "–",
    Status.FAILED: "✗",
    Status.BLOCKED: "■",
}
_BOLD, _DIM, _RED, _GREEN, _YELLOW, _CYAN = "1", "2", "31", "32", "33", "36"


class Rescue(NamedTuple):
    ref: str
    reason: str
    restore: str
    """The command that brings it back."""


class Chosen(NamedTuple):
    """A policy, and where its value comes from."""

    name: str
    value: str
    origin: str


class Facts(NamedTuple):
    """What git, the lock and the records say; the journal is not asked about any of it."""

    branch: str
    go_on: str
    """The command that starts or resumes this run."""
    tree: str = ""
    """Where the run works, if that is not where the user stands."""
    finish: tuple[str, ...] = ()
    """What to type when all is done, one command with its purpose each."""
    next_task: str = ""
    """What the scheduler would pick now, "" when nothing is ready."""
    asks_to_retry: bool = False
    """A failed task is not tried again by the next run alone."""
    in_flight: str = ""
    """The task named by the in-flight record."""
    beside: tuple[str, ...] = ()
    """Further tasks in flight, where several are worked on at once."""
    holder: str = ""
    """Who holds the lock, worded for people, "" when nobody does."""
    rescues: tuple[Rescue, ...] = ()
    problems: tuple[str, ...] = ()
    """Sentences to pass on, such as a journal that cannot be read."""
    policies: tuple[Chosen, ...] = ()
    """Those that are not the default."""


class Failure(NamedTuple):
    task: Task
    reason: str


def overview(reader: Reader, run: str, tasks: tuple[str, ...]) -> State:
    """As far as `status` tells it: all of the tasks in flight, and of the others what did not go smoothly."""
    entries = {entry.seq: entry for entry in reader.entries(run=run, kinds=SUMMARY_KINDS)}
    for task in tasks:
        entries |= {entry.seq: entry for entry in reader.entries(run=run, task=task)}
    return fold(entries[seq] for seq in sorted(entries))


def status_lines(
    plan: Plan,
    state: State,
    facts: Facts,
    *,
    clock: Callable[[float], str],
    colour: bool = False,
    width: int = 100,
) -> list[str]:
    """`clock` words a moment. Lines are cut at `width`, except for those that hold a command to type."""
    paint = _painter(colour)
    progress = Progress.of(plan)
    parts = (
        _heading(progress, state, facts, clock, paint),
        _window(progress, state, facts, width, paint),
        [paint(shorten(f"policy: {c.name} = {c.value} ({c.origin})", width), _DIM) for c in facts.policies],
        _failures(failed_tasks(plan, state), facts, width, paint),
        _criteria(plan, state, width, paint),
        _recoveries(state, width, clock, paint),
        _rescues(facts, width, paint),
        [paint(shorten(plain(problem), 300), _YELLOW) for problem in facts.problems[:_NEWEST]],
        _how_to_go_on(progress, facts, paint),
    )
    return [line for part in parts if part for line in ("", *part)][1:]


def status_json(plan: Plan, state: State, facts: Facts) -> dict[str, object]:
    return {
        "plan": plan.name,
        "path": plan.path,
        "dialect": plan.dialect,
        "branch": facts.branch,
        "tree": facts.tree or None,
        "done": plan.count(Status.COMPLETED),
        "skipped": plan.count(Status.SKIPPED),
        "total": len(plan.tasks),
        "next": facts.next_task or None,
        "in_flight": facts.in_flight or None,
        "in_flight_beside": list(facts.beside),
        "held_by": facts.holder or None,
        "waiting_until": _waiting_until(state, facts),
        "go_on": facts.go_on,
        "finish": list(facts.finish),
        "spent": state.spent._asdict(),
        "tasks": [_task_json(task, state) for task in plan.tasks],
        "failed": [{"task": f.task.id, "reason": f.reason} for f in failed_tasks(plan, state)],
        "recovered": [{"at": at, **event._asdict()} for at, event in state.recoveries],
        "rescues": [rescue._asdict() for rescue in facts.rescues],
        "last_run": {"at": state.ended.at, **state.ended.event._asdict()} if state.ended else None,
        "policies": [chosen._asdict() for chosen in facts.policies],
        "problems": list(facts.problems),
    }


def _waiting_until(state: State, facts: Facts) -> float | None:
    waiting = state.task(facts.in_flight).waiting
    return waiting.until if waiting else None


def _task_json(task: Task, state: State) -> dict[str, object]:
    return {
        "id": task.id,
        "title": task.title,
        "status": task.status.value,
        "failed_attempts": state.of(task).attempts,
        "spent": state.of(task).spent._asdict(),
        "criteria": [
            {"criterion": said.criterion, "verdict": said.verdict, "note": said.note}
            for said in state.of(task).criteria
        ],
    }


def failed_tasks(plan: Plan, state: State) -> list[Failure]:
    """Given up and not settled since; the plan has the last word."""
    reasons = ((task, state.of(task).failed) for task in plan.tasks if not task.status.settled)
    marked = "marked as failed in the plan"
    return [Failure(t, reason or marked) for t, reason in reasons if reason or t.status is Status.FAILED]


def _criteria(plan: Plan, state: State, width: int, paint: "_Paint") -> list[str]:
    """What agents said of acceptance criteria: how many they call met, and the newest that they do not."""
    said = [event for task in plan.tasks for event in state.of(task).criteria]
    if not said:
        return []
    others = [event for event in said if event.verdict != "met"]
    lines = [f"criteria: {len(said) - len(others)} of {len(said)} reported met"]
    lines += [f"  {event.task}: {event.verdict}: {event.criterion}" for event in others[-_NEWEST:]]
    return [paint(shorten(plain(line), width), _YELLOW if others else _DIM) for line in lines]


_Paint = Callable[[str, str], str]


def _painter(colour: bool) -> _Paint:
    return (lambda text, code: f"\x1b[{code}m{text}\x1b[0m") if colour else (lambda text, _: text)


def _heading(
    progress: Progress, state: State, facts: Facts, clock: Callable[[float], str], paint: _Paint
) -> list[str]:
    percent = 100 * progress.settled // max(progress.total, 1)
    counts = f"{progress.settled} of {progress.total} tasks done ({percent} %)"
    return [
        f"{paint(plain(progress.plan.name), _BOLD)}: {counts}",
        f"branch {plain(facts.branch)}" + (f" in {plain(facts.tree)}" if facts.tree else ""),
        *_activity(state, facts, clock),
        *([f"spent: {used}"] if (used := usage(*state.spent)) else []),
    ]


def _activity(state: State, facts: Facts, clock: Callable[[float], str]) -> list[str]:
    if facts.holder:
        return [f"running: {plain(facts.holder)}{_on_task(state, facts, clock)}"]
    if facts.beside:
        names = ", ".join(map(plain, (facts.in_flight, *facts.beside)))
        return [f"not running; tasks {names} were cut off and will be taken up again"]
    if facts.in_flight:
        return [f"not running; task {plain(facts.in_flight)} was cut off and will be taken up again"]
    if state.ended is None:
        return []
    at, ended = state.ended
    why = f": {plain(ended.reason)}" if ended.reason else ""
    return [f"last run ended {clock(at)} after {duration(ended.seconds)}, exit {ended.exit_code}{why}"]


def _on_task(state: State, facts: Facts, clock: Callable[[float], str]) -> str:
    if facts.beside:
        return f", tasks {', '.join(map(plain, (facts.in_flight, *facts.beside)))}"
    started = state.task(facts.in_flight).under_way
    waiting = state.task(facts.in_flight).waiting
    if waiting:
        return f", task {plain(facts.in_flight)}, waits until {clock(waiting.until)}: {plain(waiting.reason)}"
    if started is None:
        return f", task {plain(facts.in_flight)}" if facts.in_flight else ""
    attempt = f"attempt {started.event.attempt} of {started.event.of}"
    return f", task {plain(facts.in_flight)}, {attempt} since {clock(started.at)}"


def _window(progress: Progress, state: State, facts: Facts, width: int, paint: _Paint) -> list[str]:
    focus = facts.in_flight or facts.next_task
    found = (i for i, task in enumerate(progress.plan.tasks) if task.id == focus)
    window = progress.around(next(found, progress.first_open()), _WINDOW_ROWS)
    column = min(max((len(plain(task.id)) for task in window.tasks), default=0), 12)
    lines = [_task_line(task, column, state, facts, width, paint) for task in window.tasks]
    above = [paint(f"  {window.above}", _DIM)] if window.above else []
    below = [paint(f"  {window.below}", _DIM)] if window.below else []
    return above + lines + below


def _task_line(task: Task, column: int, state: State, facts: Facts, width: int, paint: _Paint) -> str:
    cost = state.of(task).spent.cost_usd
    text = f"{plain(task.id).ljust(column)}  {plain(task.title)}" + (f" (${cost:,.4f})" if cost else "")
    failed = state.of(task).failed and not task.status.settled
    if task.id == facts.in_flight or task.id in facts.beside:
        return paint(shorten(f"  ▶ {text}", width), _CYAN)
    if failed or task.status is Status.FAILED:
        return paint(shorten(f"  ✗ {text}", width), _RED)
    line = shorten(f"  {_MARKS[task.status]} {text}", width)
    return paint(line, _GREEN) if task.status is Status.COMPLETED else line


def _failures(failures: Sequence[Failure], facts: Facts, width: int, paint: _Paint) -> list[str]:
    if not failures:
        return []
    lines = [paint(f"failed: {len(failures)}", _RED)]
    for task, reason in failures[:_NEWEST]:
        lines.append(shorten(f"  ✗ {plain(task.id)}: {plain(reason)}", width))
    first = plain(failures[0].task.id)
    more = len(failures) - _NEWEST
    lines += [paint(f"  … {more} more", _DIM)] if more > 0 else []
    again = f"holdfast retry {first}, then " if facts.asks_to_retry else ""
    return [*lines, f"  see why: holdfast log {first}", f"  try again: {again}{facts.go_on}"]


def _recoveries(state: State, width: int, clock: Callable[[float], str], paint: _Paint) -> list[str]:
    if not state.recoveries:
        return []
    lines = [paint(f"recovered: {len(state.recoveries)}", _YELLOW)]
    for at, event in state.recoveries[-_NEWEST:]:
        about = f"task {event.task}: " if event.task else ""
        told = plain(f"{clock(at)} {about}found {event.found}; {event.did}")
        lines.append(shorten(f"  {told}", width))
    earlier = len(state.recoveries) - _NEWEST
    return lines + ([paint(f"  … {earlier} earlier", _DIM)] if earlier > 0 else [])


def _rescues(facts: Facts, width: int, paint: _Paint) -> list[str]:
    if not facts.rescues:
        return []
    lines = [paint(f"in rescue: {len(facts.rescues)}", _YELLOW)]
    for rescue in facts.rescues[-_NEWEST:]:
        lines += [shorten(f"  {plain(rescue.reason)}", width), f"    {plain(rescue.restore)}"]
    more = len(facts.rescues) - _NEWEST
    return lines + ([f"  … {more} more: holdfast rescue list"] if more > 0 else [])


def _how_to_go_on(progress: Progress, facts: Facts, paint: _Paint) -> list[str]:
    if progress.settled == progress.total:
        return [paint("all done", _GREEN), *facts.finish]
    if facts.holder:
        return []
    if not facts.next_task and facts.asks_to_retry:
        return ["no task is ready: what is left failed, or waits for what did"]
    following = f"next: task {plain(facts.next_task)}" if facts.next_task else "no task is ready"
    return [f"{following}; go on with: {paint(facts.go_on, _BOLD)}"]
