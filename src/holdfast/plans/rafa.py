"""rafa plans: `.rafa/plans/<id>-<name>/` with plan.json and progress.log."""

from collections.abc import Mapping

from holdfast.errors import PlanError
from holdfast.model.plan import Document, Status, Task
from holdfast.plans.base import NOTHING, Completion, Dialect, Found, Recognised

PLAN = "plan.json"
LOG = "progress.log"
HOME = "/.rafa/plans/"


class Rafa(Dialect):
    @property
    def name(self) -> str:
        return "rafa"

    @property
    def preset(self) -> Mapping[str, str | int | float | bool]:
        return {"mode": "trunk", "max_attempts": 5}

    def recognise(self, found: Found) -> Recognised | None:
        """A directory with a plan.json, or that file itself."""
        folder, _, last = found.path.rstrip("/").rpartition("/")
        if found.names is None:
            return Recognised("", _plan_name(folder)) if last == PLAN else None
        if PLAN in found.names:
            return Recognised(PLAN, _plan_name(found.path.rstrip("/")))
        if f"{folder}/".endswith(HOME):
            fix = "make the plan with `rafa plan create`, then run again"
            raise PlanError(found.path, 0, f"planning is not done: there is no {PLAN}", fix=fix)
        return None

    def keeps(self, path: str) -> tuple[str, ...]:
        """output.log is rafa's own: what our agents print goes to our logs. run.lock says nothing to us."""
        return (log_of(path),)

    # What follows is imported when a rafa plan is there: every other plan is read without a JSON parser.

    def read(self, data: bytes, path: str, name: str, beside: Mapping[str, bytes] = NOTHING) -> Document:
        from holdfast.plans.rafa_file import read

        return read(data, path, name, beside)

    def mark(self, document: Document, task_id: str, status: Status) -> Document:
        from holdfast.plans.rafa_file import mark

        return mark(document, task_id, status)

    def complete(self, document: Document, done: Completion) -> Document:
        from holdfast.plans.rafa_file import complete

        return complete(document, done, log_of(document.plan.path))

    def finish(self, document: Document, landed: Mapping[str, Completion]) -> Document:
        from holdfast.plans.rafa_file import finish

        return finish(document, landed, log_of(document.plan.path))

    def message(self, task: Task) -> str:
        return f"[rafa] Complete task {task.id}: {task.title}"

    def finish_message(self, document: Document) -> str:
        plan = document.plan
        return f"[rafa] Complete plan: {plan.title or plan.name} ({len(plan.tasks)} tasks)"


def log_of(path: str) -> str:
    return f"{path.rpartition('/')[0]}/{LOG}".removeprefix("/")


def _plan_name(folder: str) -> str:
    """The directory's name without the six characters that make it unique."""
    last = folder.rpartition("/")[2]
    lead, _, name = last.partition("-")
    return name if name and len(lead) == 6 and lead.isalnum() else last or "plan"
