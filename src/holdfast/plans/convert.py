"""Any plan as plain Markdown: ids, statuses, dependencies, checks and criteria kept, the words too."""

from collections.abc import Iterator

from holdfast.model.plan import Plan, Status, Task
from holdfast.plans.titles import parse_title

BOXES = {Status.COMPLETED: "x", Status.SKIPPED: "-"}
WRITTEN_AS_LISTS = ("markdown", "i2code")
"""Dialects whose task text is already what a Markdown task holds below its first line."""


def to_markdown(plan: Plan) -> str:
    ids = _ids(plan)
    lines = [f"# {_one_line(plan.title or plan.name)}", ""]
    lines += [*_quoted(plan.preamble, ""), ""] if plan.preamble.strip() else []
    section = ""
    for task in plan.tasks:
        if task.section != section and task.section != plan.title:
            section = task.section
            lines += ["", f"## {_one_line(section)}", ""] if section else [""]
        lines += _task(task, ids, plan.dialect in WRITTEN_AS_LISTS)
    return "\n".join(_without_double_gaps(lines)) + "\n"


def _ids(plan: Plan) -> dict[str, str]:
    """As they are where Markdown knows such ids; otherwise numbers, the old one noted below the title."""
    if all(parse_title(f"{task.id} x").id == task.id for task in plan.tasks):
        return {task.id: task.id for task in plan.tasks}
    width = max(3, len(str(len(plan.tasks))))
    return {task.id: f"T{number:0{width}}" for number, task in enumerate(plan.tasks, 1)}


def _task(task: Task, ids: dict[str, str], as_written: bool) -> Iterator[str]:
    parallel = "[P] " if task.parallel else ""
    yield f"- [{BOXES.get(task.status, ' ')}] {ids[task.id]} {parallel}{_one_line(task.title)}"
    if ids[task.id] != task.id:
        yield f"  Formerly {task.id}."
    if as_written:
        yield from (f"  {line}" if line.strip() else "" for line in _dedented(task.body))
    else:
        yield from _fields(task, ids)


def _fields(task: Task, ids: dict[str, str]) -> Iterator[str]:
    """What is quoted cannot be taken for a field or a box."""
    if task.depends_on:
        yield f"  depends: {', '.join(ids.get(wanted, wanted) for wanted in task.depends_on)}"
    yield from (f"  verify: {_one_line(command)}" for command in task.verify)
    if task.files:
        yield f"  files: {' '.join(task.files)}"
    if task.critical:
        yield "  critical: true"
    yield from _quoted(task.body, "  ") if task.body.strip() else ()
    yield from (f"  - [{'x' if step.done else ' '}] {_one_line(step.text)}" for step in task.steps)
    if task.acceptance:
        yield "  Acceptance:"
        yield from (f"  - {_one_line(criterion)}" for criterion in task.acceptance)


def _quoted(text: str, indent: str) -> Iterator[str]:
    yield from (f"{indent}> {line}".rstrip() for line in text.strip("\n").splitlines())


def _dedented(body: str) -> list[str]:
    lines = body.strip("\n").splitlines()
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    least = min(indents, default=0)
    return [line[least:] for line in lines]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _without_double_gaps(lines: list[str]) -> list[str]:
    return [line for number, line in enumerate(lines) if line or (number and lines[number - 1])]
