"""The state file of an epic, version 1, in JSON: bytes to values and back."""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from holdfast.errors import PlanError
from holdfast.plans.epic_record import NEW_RUN, EpicRecord, TicketRecord
from holdfast.plans.epic_states import EpicState, TicketState
from holdfast.plans.json_text import BOM
from holdfast.plans.lines import decode, refuse_conflict

VERSION = 1
EPIC_KEYS = ("schema_version", "epic_id", "epic_branch", "baseline_commit", "epic_state", "tickets")
TICKET_KEYS = tuple(key for key in TicketRecord._fields if key != "more")
_TEXTS = (
    "path",
    "title",
    "test_suite_status",
    "failure_reason",
    "blocking_dependency",
    "started_at",
    "completed_at",
)
_S = TypeVar("_S", TicketState, EpicState)


def parse_record(data: bytes, path: str) -> EpicRecord:
    """Or PlanError, with the place inside the file and what to do."""
    fields = _fields(_json(data, path), path, "the file")
    _refuse_other_version(fields, path)
    tickets = _fields(fields.get("tickets"), path, "tickets")
    record = EpicRecord(
        path,
        _text(fields, "epic_id", path, "") or "",
        _text(fields, "epic_branch", path, ""),
        _text(fields, "baseline_commit", path, ""),
        _state(EpicState, fields.get("epic_state"), path, "epic_state"),
        {name: _ticket(name, found, path) for name, found in tickets.items()},
        _unknown(fields, EPIC_KEYS),
    )
    _refuse_two_at_work(record)
    return record


def dump_record(record: EpicRecord, like: bytes | None) -> bytes:
    """As JSON with an indent of two, always in the same order; line ends and byte order mark as in `like`."""
    tickets = {name: {**_written(ticket), **ticket.more} for name, ticket in record.tickets.items()}
    fields = {
        "schema_version": VERSION,
        "epic_id": record.epic_id,
        "epic_branch": record.epic_branch,
        "baseline_commit": record.baseline_commit,
        "epic_state": record.epic_state.value,
        "tickets": tickets,
        **record.more,
    }
    before = b"\n" if like is None else like
    bom = BOM if before.startswith(BOM) else b""
    text = json.dumps(fields, indent=2).encode("ascii") + (b"\n" if before.endswith(b"\n") else b"")
    return bom + text.replace(b"\n", b"\r\n" if b"\r\n" in before else b"\n")


def _json(data: bytes, path: str) -> object:
    text = decode(data, path)
    refuse_conflict(path, enumerate(text.split("\n"), 1))
    try:
        return json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        found = error.msg.removesuffix(" at").removesuffix(" starting")
        message = f"the state file is damaged: column {error.colno}: {found}"
        raise PlanError(path, error.lineno, message, fix=NEW_RUN) from error
    except (ValueError, RecursionError) as error:
        raise PlanError(path, 0, f"the state file is damaged: {error}", fix=NEW_RUN) from error


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'the key "{twice}" is there twice')
    return found


def _no_number(word: str) -> object:
    raise ValueError(f"{word} is not JSON")


def _refuse_other_version(fields: Mapping[str, Any], path: str) -> None:
    found = fields.get("schema_version", "none (an older shape)")
    if type(found) is not int or found != VERSION:
        message = f"schema_version: found {found}, expected {VERSION}"
        raise PlanError(path, 0, message, fix=NEW_RUN)


def _ticket(name: str, found: object, path: str) -> TicketRecord:
    where = f"tickets.{name}"
    fields = _fields(found, path, where)
    if fields.get("id", name) != name:
        raise _damaged(path, f"{where}.id", f"must be {name}")
    git_info = fields.get("git_info")
    if git_info is not None:
        _text(_fields(git_info, path, f"{where}.git_info"), "final_commit", path, f"{where}.git_info.")
    texts = {key: _text(fields, key, path, f"{where}.") for key in _TEXTS}
    return TicketRecord(
        id=name,
        depends_on=_list(fields, "depends_on", path, where),
        critical=fields.get("critical") is True,
        state=_state(TicketState, fields.get("state"), path, f"{where}.state"),
        git_info=git_info,
        acceptance_criteria=_list(fields, "acceptance_criteria", path, where),
        more=_unknown(fields, TICKET_KEYS),
        **texts,
    )


def _written(ticket: TicketRecord) -> dict[str, Any]:
    return {key: getattr(ticket, key) for key in TICKET_KEYS} | {"state": ticket.state.value}


def _fields(found: object, path: str, where: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise _damaged(path, where, "must be an object")
    return found


def _text(fields: Mapping[str, Any], key: str, path: str, where: str) -> str | None:
    found = fields.get(key)
    if found is not None and not isinstance(found, str):
        raise _damaged(path, f"{where}{key}", "must be a text or null")
    return found


def _list(fields: Mapping[str, Any], key: str, path: str, where: str) -> tuple[Any, ...]:
    found = fields.get(key)
    if found is not None and not isinstance(found, list):
        raise _damaged(path, f"{where}.{key}", "must be a list")
    return tuple(found or ())


def _state(kind: type[_S], found: object, path: str, where: str) -> _S:
    known = [state.value for state in kind]
    if not isinstance(found, str) or found not in known:
        raise _damaged(path, where, f"must be one of {', '.join(known)}, not {json.dumps(found)[:40]}")
    return kind(found)


def _unknown(fields: Mapping[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in known}


def _refuse_two_at_work(record: EpicRecord) -> None:
    at_work = [name for name, ticket in record.tickets.items() if ticket.state is TicketState.IN_PROGRESS]
    if len(at_work) > 1:
        message = f"several tickets are IN_PROGRESS at once: {', '.join(at_work)}; this cannot be true"
        raise PlanError(record.path, 0, message, fix=NEW_RUN)


def _damaged(path: str, where: str, message: str) -> PlanError:
    return PlanError(path, 0, f"the state file is damaged: {where} {message}", fix=NEW_RUN)
