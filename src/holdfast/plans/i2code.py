"""i2code idea directories: Markdown plans whose tasks are `- [ ] **Task 1.1: Title**` items in threads."""

from collections.abc import Mapping

from holdfast.errors import PlanError
from holdfast.model.plan import Document, Plan, Status
from holdfast.plans.base import NOTHING, Dialect, Found, Recognised
from holdfast.plans.lines import refuse_hidden_tasks
from holdfast.plans.marks import mark_box
from holdfast.plans.taskless import no_tasks
from holdfast.plans.validate import validate

EXAMPLE = "`- [ ] **Task 1.1: Title**`"


class I2code(Dialect):
    @property
    def name(self) -> str:
        return "i2code"

    @property
    def preset(self) -> Mapping[str, str | int | float | bool]:
        return {"branch": "idea/{name}", "verify.ci_workflow": True}

    def recognise(self, found: Found) -> Recognised | None:
        """An idea directory with all its parts, or a `-plan.md` file written in threads."""
        name = _last_part(found.path)
        if found.names is not None:
            return _recognise_directory(found.path, name, found.names)
        if found.data is None or not name.endswith("-plan.md"):
            return None
        from holdfast.plans.threads import looks_like_threads  # every other plan is read without its patterns

        return Recognised("", name.removesuffix("-plan.md")) if looks_like_threads(found.data) else None

    def read(self, data: bytes, path: str, name: str, beside: Mapping[str, bytes] = NOTHING) -> Document:
        from holdfast.plans.threads import read_threads, scan_unwrapped  # see recognise

        scan = scan_unwrapped(data, path)
        refuse_hidden_tasks(scan, path)
        title, tasks = read_threads(scan.lines, path)
        if not tasks:
            raise no_tasks(path, scan.lines, EXAMPLE)
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
