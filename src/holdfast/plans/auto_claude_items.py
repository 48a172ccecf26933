"""One item of an Auto-Claude phase as a task: its words, files and verification."""

from collections.abc import Mapping

from holdfast.model.plan import Status, Task
from holdfast.plans.json_fields import Spot, fields_of, id_in, said, status_in, strings_in, title_in, told
from holdfast.plans.json_text import Node

IDS = ("id", "subtask_id", "chunk_id")
STAMPS = ("started_at", "completed_at", "updated_at")

# The first word of a status is the tool's own, the others were seen in plans that models wrote. Auto-Claude
# knows no `skipped`; "completed" would be a lie.
WORDS = {
    Status.PENDING: ("pending", "not_started", "todo"),
    Status.IN_PROGRESS: ("in_progress", "in-progress"),
    Status.COMPLETED: ("completed", "done", "complete"),
    Status.FAILED: ("failed",),
    Status.BLOCKED: ("blocked",),
    Status.SKIPPED: ("skipped",),
}
STATUSES = {word: status for status, words in WORDS.items() for word in words}

# What the tool keeps for itself. The rest of an item is there for whoever does the work.
_BOOKKEEPING = {
    *IDS,
    *STAMPS,
    *("status", "title", "description", "verification", "actual_output", "session_id", "critique_result"),
    *("input_tokens", "output_tokens", "total_cost_usd", "all_services"),
}


def read_item(node: Node, spot: Spot, section: str, parallel: bool) -> Task:
    fields = fields_of(spot, node.value)
    title = title_in(spot, fields, ("title", "description"))
    modified, created = (strings_in(spot, fields, key) for key in ("files_to_modify", "files_to_create"))
    verification = fields.get("verification")
    checks = verification if isinstance(verification, dict) else {}
    return Task(
        id=id_in(spot, fields, IDS),
        title=title,
        status=status_in(spot, fields, STATUSES),
        line=spot.line,
        at=node.at,
        body=_body(fields, title),
        section=section,
        evidence=_commands(checks),
        files=tuple(dict.fromkeys((*modified, *created))),
        parallel=parallel,
    )


def _commands(verification: Mapping[str, object]) -> tuple[str, ...]:
    """Of a check that is a command, and says so: `run` also holds prose where a person is to look."""
    command = verification.get("command") or verification.get("run")
    runnable = verification.get("type") == "command" and isinstance(command, str)
    return (said(str(command)).strip(),) if runnable and str(command).strip() else ()


def _body(fields: Mapping[str, object], title: str) -> str:
    description = told(fields.get("description"))
    parts = [description if description != title else ""]
    parts += [_labelled(key, fields[key]) for key in fields if key not in _BOOKKEEPING]
    parts.append(_verification(fields.get("verification")))
    return said("\n".join([part for part in parts if part]))


def _verification(value: object) -> str:
    if not isinstance(value, dict):
        return _labelled("verification", value)
    kind = told(value.get("type")) or "as described"
    lines = [_labelled(key, value[key]) for key in value if key != "type"]
    told_of = "\n".join(f"  {line}" for text in lines for line in text.splitlines())
    return f"Verification ({kind}):\n{told_of}" if told_of else ""


def _labelled(key: str, value: object) -> str:
    text = told(value)
    label = key.replace("_", " ").strip().capitalize()
    gap = "\n" if "\n" in text or text.startswith("- ") else " "
    return f"{label}:{gap}{text}" if text else ""
