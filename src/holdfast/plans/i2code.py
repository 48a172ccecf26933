"""i2code idea directories: Markdown plans whose tasks are `- [ ] **Task 1.1: Title**` items in threads."""

import re

from holdfast.errors import PlanError
from holdfast.model.plan import Document, Plan, Status, Task
from holdfast.plans.base import Found, Recognised
from holdfast.plans.boxes import STATUS_OF, body_text, steps_in
from holdfast.plans.lines import TEXT, refuse_hidden_tasks
from holdfast.plans.marks import mark_box
from holdfast.plans.taskless import no_tasks
from holdfast.plans.threads import ThreadTask, looks_like_threads, read_threads, scan_unwrapped, without_tail
from holdfast.plans.validate import validate

EXAMPLE = "`- [ ] **Task 1.1: Title**`"
_COMMAND = re.compile(
    r"[ \t]*[-*+][ \t]+(?:\*\*)?(?:Entrypoint|Evidence)(?:\*\*)?:(?:\*\*)?[ \t]*`([^`]+)`[ \t]*$"
)


class I2code:
    @property
    def name(self) -> str:
        return "i2code"

    def recognise(self, found: Found) -> Recognised | None:
        """An idea directory with all its parts, or a `-plan.md` file written in threads."""
        name = _last_part(found.path)
        if found.names is not None:
            return _recognise_directory(found.path, name, found.names)
        if name.endswith("-plan.md") and found.data is not None and looks_like_threads(found.data):
            return Recognised("", name.removesuffix("-plan.md"))
        return None

    def read(self, data: bytes, path: str, name: str) -> Document:
        scan = scan_unwrapped(data, path)
        refuse_hidden_tasks(scan, path)
        title, found = read_threads(scan.lines, path)
        if not found:
            raise no_tasks(path, scan.lines, EXAMPLE)
        tasks = tuple([_task(task) for task in found])
        return Document(data, validate(Plan(name, self.name, path, tasks, title)))

    def mark(self, document: Document, task_id: str, status: Status) -> Document:
        return mark_box(document, task_id, status, with_steps=True)

    def companions(self, found: Found) -> tuple[str, ...]:
        name = _last_part(found.path)
        wanted = ("idea.md", "idea.txt", "discussion.md", "spec.md", "plan.md")
        return tuple(f"{name}-{part}" for part in wanted if f"{name}-{part}" in (found.names or ()))


def _last_part(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _recognise_directory(path: str, name: str, names: tuple[str, ...]) -> Recognised | None:
    idea = f"{name}-idea.md"
    parts = [idea, f"{name}-spec.md", f"{name}-plan.md"]
    missing = [part for part in parts if part not in names]
    if idea in missing and f"{name}-idea.txt" in names:
        missing.remove(idea)
    if len(missing) == len(parts):
        return None
    if missing:
        listed = ", ".join(f"{part} (or .txt)" if part == idea else part for part in missing)
        raise PlanError(
            path, 0, f"the idea directory is incomplete: missing {listed}", fix=f"create {listed}"
        )
    return Recognised(f"{name}-plan.md", name)


def _task(found: ThreadTask) -> Task:
    body = without_tail(found.body)
    commands = [_COMMAND.match(line.text) for line in body if line.kind is TEXT and "`" in line.text]
    return Task(
        id=found.id,
        title=found.title,
        status=STATUS_OF[found.item.box],
        line=found.line,
        at=found.item.at,
        body=body_text(body),
        section=found.thread,
        steps=steps_in(body),
        evidence=tuple(dict.fromkeys([command[1].strip() for command in commands if command])),
    )
