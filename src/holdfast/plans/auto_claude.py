"""Auto-Claude specs: `.auto-claude/specs/NNN-name/` with implementation_plan.json and memory/."""

from collections.abc import Mapping

from holdfast.errors import PlanError
from holdfast.model.plan import Document, Status
from holdfast.plans.base import NOTHING, Completion, Dialect, Found, Recognised

PLAN = "implementation_plan.json"
HOMES = ("/.auto-claude/specs/", "/auto-claude/specs/")
UNPLANNED = "planning is not done"
PLANNER = "let Auto-Claude plan this spec first (its planner writes the phases), then run again"


class AutoClaude(Dialect):
    @property
    def name(self) -> str:
        return "auto-claude"

    @property
    def preset(self) -> Mapping[str, str | int | float | bool]:
        return {
            "branch": "auto-claude/{name}",
            "order": "phases",
            "on_interrupt": "resume",
            "max_attempts": 3,
            "existing_build": "ask",
        }

    def recognise(self, found: Found) -> Recognised | None:
        """A directory with an implementation_plan.json, or that file itself."""
        folder, _, last = found.path.rstrip("/").rpartition("/")
        if found.names is None:
            return Recognised("", folder.rpartition("/")[2] or "plan") if last == PLAN else None
        if PLAN in found.names:
            return Recognised(PLAN, last)
        if f"{folder}/".endswith(HOMES):
            raise PlanError(found.path, 0, f"{UNPLANNED}: there is no {PLAN}", fix=PLANNER)
        return None

    def keeps(self, path: str) -> tuple[str, ...]:
        return memory_of(path)

    # What follows is imported when a spec is there: every other plan is read without a JSON parser.

    def read(self, data: bytes, path: str, name: str, beside: Mapping[str, bytes] = NOTHING) -> Document:
        from holdfast.plans.auto_claude_file import read

        return read(data, path, name, beside, memory_of(path))

    def mark(self, document: Document, task_id: str, status: Status) -> Document:
        from holdfast.plans.auto_claude_file import mark

        return mark(document, task_id, status)

    def complete(self, document: Document, done: Completion) -> Document:
        from holdfast.plans.auto_claude_file import complete

        return complete(document, done, memory_of(document.plan.path))

    def finish(self, document: Document, landed: Mapping[str, Completion]) -> Document:
        from holdfast.plans.auto_claude_file import finish

        return finish(document, landed, memory_of(document.plan.path))

    def recover(self, document: Document) -> Document:
        from holdfast.plans.auto_claude_file import recover

        return recover(document)


def memory_of(path: str) -> tuple[str, str]:
    """The history of attempts and the list of commits, beside the plan."""
    folder = f"{path.rpartition('/')[0]}/memory".removeprefix("/")
    return f"{folder}/attempt_history.json", f"{folder}/build_commits.json"
