"""buildspec epics: a directory with one `*.epic.yaml`, its `tickets/`, and a state file that holds the marks.

Also a Markdown file with the epic as one block of TOML. The state file says what git says, in the shape
that buildspec's users know; the epic file itself is never changed.
"""

from collections.abc import Mapping

from holdfast.errors import PlanError
from holdfast.model.plan import Document, Status, Task
from holdfast.plans.base import NOTHING, Claims, Completion, Dialect, Found, Recognised

# What makes a document of an epic is loaded where it is needed: every other plan is read without it.

YAML_ENDINGS = (".epic.yaml", ".epic.yml")
MARKDOWN_ENDINGS = (".epic.md", ".epic.markdown")


class Buildspec(Dialect):
    @property
    def name(self) -> str:
        return "buildspec"

    @property
    def preset(self) -> Mapping[str, str | int | float | bool]:
        return {
            "branch": "epic/{name}",
            "task_branch": "ticket/{task}",
            "order": "dependencies",
            "on_interrupt": "rollback",
            "max_attempts": 1,
            "on_failure": "continue",
        }

    def recognise(self, found: Found) -> Recognised | None:
        """The epic is called what its directory is called."""
        above, _, file = found.path.rstrip("/").rpartition("/")
        if found.names is not None:
            epic = _epic_in(found.path, found.names)
            return Recognised(epic, file) if epic else None
        if found.data is None or not _is_epic(file, found.data):
            return None
        return Recognised("", above.rpartition("/")[2] or file.partition(".")[0])

    def needs(self, data: bytes, path: str) -> tuple[str, ...]:
        from holdfast.plans.epic_document import ticket_files

        return (*ticket_files(data, path), self.marks_in(path))

    def keeps(self, path: str) -> tuple[str, ...]:
        return (self.marks_in(path),)

    def marks_in(self, path: str) -> str:
        from holdfast.plans.epic import state_file

        return state_file(path)

    def read(self, data: bytes, path: str, name: str, beside: Mapping[str, bytes] = NOTHING) -> Document:
        from holdfast.plans.epic_document import read_document

        return read_document(data, path, name, beside)

    def mark(self, document: Document, task_id: str, status: Status) -> Document:
        from holdfast.plans import epic_changes

        return epic_changes.mark(document, task_id, status)

    def complete(self, document: Document, done: Completion) -> Document:
        from holdfast.plans import epic_changes

        return epic_changes.complete(document, done)

    def finish(self, document: Document, landed: Mapping[str, Completion]) -> Document:
        from holdfast.plans import epic_changes

        return epic_changes.finish(document, landed)

    def fail(self, document: Document, task_id: str, reason: str, blocked: tuple[str, ...]) -> Document:
        from holdfast.plans import epic_changes

        return epic_changes.fail(document, task_id, reason, blocked)

    def rolled_back(self, document: Document, reason: str) -> Document:
        from holdfast.plans import epic_changes

        return epic_changes.roll_back(document, reason)

    def recover(self, document: Document) -> Document:
        from holdfast.plans import epic_changes

        return epic_changes.recover(document)

    def git_claims(self, document: Document) -> Claims:
        from holdfast.plans.epic_document import claims

        return claims(document)

    def message(self, task: Task) -> str:
        return f"feat: {task.title}"

    def trailers(self, task: Task) -> Mapping[str, str]:
        return {"Ticket": task.id}

    def finish_message(self, document: Document) -> str:
        return f"chore: finalize epic {document.plan.name}"


def _epic_in(path: str, names: tuple[str, ...]) -> str:
    """The one epic in a directory, "" when there is none. Markdown counts where there is no YAML."""
    for endings in (YAML_ENDINGS, MARKDOWN_ENDINGS):
        epics = [name for name in names if name.endswith(endings)]
        if len(epics) > 1:
            raise PlanError(
                path, 0, f"several epics in one directory: {', '.join(epics)}", fix="give the file of one"
            )
        if epics:
            return epics[0]
    return ""


def _is_epic(file: str, data: bytes) -> bool:
    if file.endswith(YAML_ENDINGS):
        return True
    if not file.lower().endswith((".md", ".markdown")) or b"[[" not in data:
        return False
    from holdfast.plans.epic_toml import looks_like_toml_epic

    return looks_like_toml_epic(data, named_epic=file.endswith(MARKDOWN_ENDINGS))
