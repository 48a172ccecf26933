"""An epic, whichever of its shapes it is written in: what it is called, its tickets, what holds for all."""

import posixpath
from typing import NamedTuple

from holdfast.errors import PlanError
from holdfast.plans.epic_values import Table, Value, outline

STATE = "artifacts/epic-state.json"
_EXAMPLE = "`tickets:` with a list of `- id: NAME` entries"
_PREAMBLE = (
    ("Context", "context"),
    ("Objectives", "objectives"),
    ("Constraints", "constraints"),
    ("Coordination requirements", "coordination_requirements"),
    ("Acceptance criteria of the whole epic", "acceptance_criteria"),
)


class Ticket(NamedTuple):
    id: str
    title: str
    line: int
    places: tuple[str, ...]
    """Where its text may be, the likeliest first."""
    description: str = ""
    role: str = ""
    depends_on: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    critical: bool = False


class Epic(NamedTuple):
    title: str
    preamble: str
    """What holds for every ticket."""
    rollback_on_failure: bool
    tickets: tuple[Ticket, ...]


def state_file(path: str) -> str:
    """The file with the marks of the epic at `path`."""
    return posixpath.join(posixpath.dirname(path), STATE)


def epic_from(value: Value, path: str) -> Epic:
    if value.members is None:
        raise PlanError(path, value.line, "an epic is a mapping of names to values", fix=f"write {_EXAMPLE}")
    whole = Table(path, value.line, value.members)
    tickets = whole.tables("tickets")
    if not tickets:
        raise PlanError(path, 0, "no tickets found", fix=f"write at least one: {_EXAMPLE}")
    head = _head(whole)
    return Epic(
        head.text("epic", "name", "title"),
        _preamble(head),
        head.flag("rollback_on_failure", default=True),
        tuple([_ticket(ticket) for ticket in tickets]),
    )


def _head(whole: Table) -> Table:
    """TOML keeps what belongs to the epic in a table of that name."""
    epic = whole.get("epic")
    return whole if epic.members is None else Table(whole.path, epic.line, epic.members)


def _preamble(head: Table) -> str:
    parts = [head.text("description")]
    for heading, name in _PREAMBLE:
        value = head.get(name)
        if not value.missing:
            parts.append(f"{heading}:\n" + "\n".join(outline(value)))
    return "\n\n".join(part for part in parts if part)


def _ticket(table: Table) -> Ticket:
    ticket_id = _id(table)
    description = table.text("description")
    first_line = description.partition("\n")[0]
    return Ticket(
        id=ticket_id,
        title=" ".join((table.text("title") or first_line or ticket_id).split()),
        line=table.line,
        places=_places(table, ticket_id),
        description=description,
        role=table.text("coordination_role"),
        depends_on=table.words("depends_on", "dependencies"),
        acceptance=table.sentences("acceptance_criteria"),
        files=table.words("files_to_modify"),
        critical=table.flag("critical", default=False),
    )


def _id(table: Table) -> str:
    """It becomes a trailer, a key and part of a file's name."""
    ticket_id = table.text("id", "name")
    if not ticket_id:
        raise PlanError(table.path, table.line, "a ticket without an id", fix="give it one: `id: NAME`")
    if not ticket_id.isprintable():
        raise PlanError(table.path, table.line, "a ticket's id must be one line", fix="give it a short id")
    return ticket_id


def _places(table: Table, ticket_id: str) -> tuple[str, ...]:
    """A written path may be meant from the epic or from the root of the repository."""
    written, here = table.text("path"), posixpath.dirname(table.path)
    if not written:
        return (_inside(table, posixpath.join(here, "tickets", f"{ticket_id}.md")),)
    from_root = posixpath.normpath(written)
    from_here = posixpath.normpath(posixpath.join(here, written))
    both = [place for place in (from_here, from_root) if not _leaves(place)]
    return tuple(dict.fromkeys(both)) or (_inside(table, written),)


def _inside(table: Table, place: str) -> str:
    normal = posixpath.normpath(place)
    if _leaves(normal):
        raise PlanError(
            table.path,
            table.line,
            f"the ticket's file {place} is outside the repository",
            fix="put it into the repository and write its path from the epic's directory",
        )
    return normal


def _leaves(place: str) -> bool:
    return place == ".." or place.startswith(("../", "/")) or "\0" in place
