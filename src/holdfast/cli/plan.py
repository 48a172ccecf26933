"""`holdfast plan check|next|list|convert`: a plan read and explained. Changes nothing; works anywhere."""

import json
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence, Set

from holdfast.cli.order import running_order, why_nothing
from holdfast.cli.place import repository_root
from holdfast.engine.schedule import next_task, passed_over
from holdfast.engine.source import plan_in_tree
from holdfast.errors import Refused, UsageError
from holdfast.model.plan import Plan, Status, Task
from holdfast.model.policy import OnFailure
from holdfast.registry import find_plan_anywhere
from holdfast.views.text import plain

_CONVERT = "Write any plan as plain Markdown, with its statuses"
_NAMED = 12
"""How many ids or dependencies are named before they are only counted."""
_BOXES = {Status.COMPLETED: "[x]", Status.SKIPPED: "[-]"}


def configure(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, (text, _, _) in _ACTIONS.items():
        action = actions.add_parser(name, help=text, description=f"{text}.")
        action.add_argument("plan", metavar="PLAN", help="plan file or directory, in a repository or not")
        action.add_argument("--json", action="store_true", help="print one JSON object")
    convert = actions.add_parser("convert", help=_CONVERT, description=f"{_CONVERT}, on standard output.")
    convert.add_argument("plan", metavar="PLAN", help="plan file or directory, in a repository or not")
    convert.add_argument("--to", metavar="DIALECT", choices=("markdown",), required=True, help="markdown")


def execute(args: Namespace) -> int:
    plan, over = _read(args.plan)
    if args.action == "convert":
        from holdfast.plans.convert import to_markdown

        print(to_markdown(plan), end="")
        return 0
    _, lines, fields = _ACTIONS[args.action]
    if args.json:
        print(json.dumps({"plan": plan.path, "dialect": plan.dialect, **fields(plan, over)}))
    else:
        print("\n".join(map(plain, lines(plan, over))))
    return 0


def _read(wanted: str) -> tuple[Plan, Set[str]]:
    """As the file is now: this is for whoever writes it. `status` shows the plan of the branch.

    With it the tasks that a run, as the dialect prefers it, would not try unasked.
    """
    root = _root()
    place = find_plan_anywhere(root, wanted)
    plan = plan_in_tree(root, place).plan
    return plan, passed_over(OnFailure(str(place.dialect.preset.get("on_failure", OnFailure.STOP))), plan)


def _root() -> str:
    try:
        return repository_root()
    except (Refused, UsageError):  # no repository, or no git at all: a plan can be read without
        return os.getcwd()


def _check(plan: Plan, over: Set[str]) -> list[str]:
    order = running_order(plan, over)
    ids = [task.id for task in order]
    first = f"{order[0].id}: {order[0].title}" if order else f"nothing{why_nothing(plan)}"
    rows = {
        "plan": [f"{plan.path} ({plan.dialect})"],
        "tasks": [f"{len(plan.tasks)}: {_counts(plan)}"],
        "dependencies": _dependencies(plan) or ["none"],
        "order": [_few(ids)] if ids else [],
        "next": [first],
    }
    return [
        f"{name if number == 0 else '':<13} {text}"
        for name, texts in rows.items()
        for number, text in enumerate(texts)
    ]


def _counts(plan: Plan) -> str:
    done, skipped = plan.count(Status.COMPLETED), plan.count(Status.SKIPPED)
    left = len(plan.tasks) - done - skipped
    return f"{done} done, {left} open" + (f", {skipped} skipped" if skipped else "")


def _dependencies(plan: Plan) -> list[str]:
    waiting = [task for task in plan.tasks if task.depends_on]
    return _cut([f"{task.id} after {_few(task.depends_on)}" for task in waiting[:_NAMED]], len(waiting))


def _few(ids: Sequence[str]) -> str:
    """A task may wait for each of the thousands of another phase."""
    return ", ".join(_cut(ids[:_NAMED], len(ids)))


def _cut(first: Sequence[str], total: int) -> list[str]:
    more = total - len(first)
    return [*first, f"… {more} more"] if more > 0 else [*first]


def _check_fields(plan: Plan, over: Set[str]) -> dict[str, object]:
    order = running_order(plan, over)
    return {
        "total": len(plan.tasks),
        "done": plan.count(Status.COMPLETED),
        "skipped": plan.count(Status.SKIPPED),
        "open": sum(not task.status.settled for task in plan.tasks),
        "order": [task.id for task in order],
        "dependencies": {task.id: task.depends_on for task in plan.tasks if task.depends_on},
    }


def _next(plan: Plan, over: Set[str]) -> list[str]:
    task = next_task(plan, over)
    if task is None:
        return [f"nothing is next{why_nothing(plan)}"]
    body = task.body.strip("\n").splitlines()
    return [f"{task.id}: {task.title}", *([""] if body else []), *body]


def _next_fields(plan: Plan, over: Set[str]) -> dict[str, object]:
    task = next_task(plan, over)
    if task is None:
        return {"task": None}
    return {"task": _task_fields(task)}


def _list(plan: Plan, over: Set[str]) -> list[str]:
    column = min(max(len(task.id) for task in plan.tasks), 16)
    return [f"{_box(task)} {task.id:<{column}}  {task.title}{_after(task)}" for task in plan.tasks]


def _box(task: Task) -> str:
    return _BOXES.get(task.status, "[ ]")


def _after(task: Task) -> str:
    """What the box cannot say."""
    status = "" if task.status in (Status.PENDING, *_BOXES) else task.status.value.replace("_", " ")
    after = f"after {_few(task.depends_on)}" if task.depends_on else ""
    notes = ", ".join(filter(None, (status, after)))
    return f"  ({notes})" if notes else ""


def _list_fields(plan: Plan, over: Set[str]) -> dict[str, object]:
    return {"tasks": [_task_fields(task) for task in plan.tasks]}


def _task_fields(task: Task) -> dict[str, object]:
    return {
        "id": task.id,
        "key": task.key,
        "title": task.title,
        "status": task.status.value,
        "section": task.section,
        "depends_on": task.depends_on,
        "body": task.body,
        "steps": [{"text": step.text, "done": step.done} for step in task.steps],
        "acceptance": task.acceptance,
        "verify": task.verify,
        "evidence": task.evidence,
        "files": task.files,
        "critical": task.critical,
        "parallel": task.parallel,
        "line": task.line,
    }


_ACTIONS = {
    "check": ("Read a plan and say what a run would make of it", _check, _check_fields),
    "next": ("Show the task that comes next, as it is written", _next, _next_fields),
    "list": ("List the tasks: done or open, id, title, dependencies", _list, _list_fields),
}
