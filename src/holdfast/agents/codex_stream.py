"""Codex's events, a JSON object a line → what it does, and the facts by which it will be judged."""

import re
from collections.abc import Callable

from holdfast.agents import wire
from holdfast.agents.activity import Activity, Called, CallFailed, Said, SessionKnown, Waited
from holdfast.agents.base import Ending, Outcome
from holdfast.agents.codex_outcome import Facts, judged
from holdfast.agents.recent import Recent
from holdfast.agents.report import SERVER, TOOL, Report, read_report
from holdfast.model.spent import NOTHING, Spent
from holdfast.system import clock

# Around every command, and saying nothing about it.
_SHELL = re.compile(r"^\S*/(?:ba|da|z)?sh -l?c ")


class CodexListener:
    plain = False

    def __init__(self, before: Spent = NOTHING, now: Callable[[], float] = clock.now) -> None:
        self._before = before
        self._facts = Facts()
        self._recent = Recent()
        self._now = now

    def heard(self, line: bytes) -> list[Activity]:
        return self._recent.add(self._seen(wire.parsed(line)))

    def outcome(self, ending: Ending) -> Outcome:
        outcome = judged(self._facts, ending, self._now())
        # The tokens it tells are those of the whole conversation.
        read, written = self._before.tokens_since(outcome.tokens_in, outcome.tokens_out)
        return outcome._replace(tokens_in=read, tokens_out=written, tail=self._recent.tail())

    def _seen(self, event: wire.Object) -> list[Activity]:
        match event.get("type"):
            case "thread.started":
                session = wire.text(event, "thread_id")
                self._facts = self._facts._replace(session=session)
                return [SessionKnown(session)] if session else []
            case "turn.started":
                self._facts = self._facts._replace(completed=False, failure=None)
            case "turn.completed":
                self._facts = self._facts._replace(completed=True, usage=wire.inner(event, "usage"))
            case "turn.failed":
                message = wire.text(wire.inner(event, "error"), "message")
                self._facts = self._facts._replace(completed=False, failure=message)
            case "item.started":
                return _begun(wire.inner(event, "item"))
            case "item.completed":
                return self._ended(wire.inner(event, "item"))
            case "error":
                return [Waited(wire.text(event, "message"))]
        return []

    def _ended(self, item: wire.Object) -> list[Activity]:
        match item.get("type"):
            case "agent_message":
                self._facts = self._facts._replace(final=wire.text(item, "text"))
                return [Said(wire.text(item, "text"))]
            case "command_execution" if item.get("exit_code") not in (0, None):
                output = wire.text(item, "aggregated_output").strip().rpartition("\n")[2]
                return [CallFailed("command", f"exit {item['exit_code']}: {output}")]
            case "file_change":
                return [Called(_change(change), wire.text(change, "path")) for change in _changes(item)]
            case "mcp_tool_call" if wire.text(item, "status") == "failed":
                return [CallFailed(wire.text(item, "tool"), wire.text(wire.inner(item, "error"), "message"))]
            case "mcp_tool_call":
                self._facts = self._facts._replace(report=_report(item) or self._facts.report)
            case "error":  # mostly a warning: what ends a turn comes as `turn.failed`
                return [Waited(wire.text(item, "message"))]
        return []


def _begun(item: wire.Object) -> list[Activity]:
    match item.get("type"):
        case "command_execution":
            return [Called("command", _SHELL.sub("", wire.text(item, "command")))]
        case "mcp_tool_call":
            report = _report(item)
            return [Called(wire.text(item, "tool"), report.in_words if report else wire.text(item, "server"))]
        case "web_search":
            return [Called("web search", wire.text(item, "query"))]
    return []


def _report(item: wire.Object) -> Report | None:
    ours = (wire.text(item, "server"), wire.text(item, "tool")) == (SERVER, TOOL)
    return read_report(wire.inner(item, "arguments")) if ours else None


def _changes(item: wire.Object) -> list[wire.Object]:
    return wire.items(item, "changes")


def _change(change: wire.Object) -> str:
    return {"add": "create", "delete": "delete"}.get(wire.text(change, "kind"), "edit")
