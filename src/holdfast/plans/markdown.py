"""Plain Markdown: every top-level list item with a box is a task. Holdfast's own default."""

from collections.abc import Mapping

from holdfast.errors import PlanError
from holdfast.model.plan import Document, Plan, Status, Task
from holdfast.plans.base import NOTHING, Dialect, Found, Recognised
from holdfast.plans.boxes import STATUS_OF, body_text, steps_in
from holdfast.plans.fields import read_fields
from holdfast.plans.lines import is_box_item, refuse_hidden_tasks, scan_lines
from holdfast.plans.marks import mark_box
from holdfast.plans.outline import Block, read_outline
from holdfast.plans.taskless import no_tasks
from holdfast.plans.titles import parse_title
from holdfast.plans.validate import validate

EXAMPLE = "`- [ ] Add the parser`"


class Markdown(Dialect):
    @property
    def name(self) -> str:
        return "markdown"

    def recognise(self, found: Found) -> Recognised | None:
        file = found.path.rpartition("/")[2]
        stem, _, ending = file.rpartition(".")
        if found.data is None or not stem:
            return None
        if ending.lower() in ("md", "markdown"):
            return Recognised("", stem)
        if ending.lower() == "txt" and _has_box(found.data):
            return Recognised("", stem)
        return None

    def read(self, data: bytes, path: str, name: str, beside: Mapping[str, bytes] = NOTHING) -> Document:
        scan = scan_lines(data, path)
        refuse_hidden_tasks(scan, path)
        outline = read_outline(scan.lines, path)
        if not outline.blocks:
            raise no_tasks(path, scan.lines, EXAMPLE)
        tasks = tuple([_task(block, path) for block in outline.blocks])
        return Document(data, validate(Plan(name, self.name, path, tasks, outline.title)))

    def mark(self, document: Document, task_id: str, status: Status) -> Document:
        return mark_box(document, task_id, status, with_steps=False)


def _has_box(data: bytes) -> bool:
    return any(is_box_item(line) for line in data.decode("utf-8", "replace").split("\n"))


def _task(block: Block, path: str) -> Task:
    line, item, body = block.line, block.item, block.body
    title = parse_title(item.text)
    if not title.text:
        raise PlanError(path, line.number, "a task without a title", fix=f"say what is to be done: {EXAMPLE}")
    fields = read_fields(body)
    return Task(
        id=title.id or block.position,
        title=title.text,
        status=STATUS_OF[item.box],
        line=line.number,
        at=item.at,
        body=body_text(body),
        section=block.section,
        depends_on=fields.depends_on,
        steps=steps_in(body),
        acceptance=fields.acceptance,
        verify=fields.verify,
        files=fields.files,
        critical=fields.critical,
        parallel=title.parallel,
    )
