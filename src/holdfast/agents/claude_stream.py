"""Claude Code's events, a JSON object a line → what it does, and the facts by which it will be judged."""

from holdfast.agents import wire
from holdfast.agents.activity import Activity, Called, CallFailed, Said, SessionKnown, Waited
from holdfast.agents.base import Ending, Outcome
from holdfast.agents.claude_outcome import Facts, judged, subject
from holdfast.agents.recent import Recent
from holdfast.agents.report import SERVER, TOOL, Report, read_report
from holdfast.model.spent import NOTHING, Spent

REPORT_TOOL = f"mcp__{SERVER}__{TOOL}"
SYNTHETIC = "<synthetic>"
"""The model of a message that Claude Code itself wrote, about an error of the service."""


class ClaudeListener:
    plain = False

    def __init__(self, before: Spent = NOTHING) -> None:
        self._before = before
        self._facts = Facts()
        self._open_calls: dict[str, str] = {}
        self._reports: dict[str, Report] = {}
        self._recent = Recent()

    def heard(self, line: bytes) -> list[Activity]:
        event = wire.parsed(line)
        return self._recent.add([*self._session_of(event), *self._seen(event)])

    def outcome(self, ending: Ending) -> Outcome:
        outcome = judged(self._facts, ending)
        # The cost it tells is that of the whole conversation, the tokens are not.
        cost = self._before.cost_since(outcome.cost_usd)
        return outcome._replace(cost_usd=cost, tail=self._recent.tail())

    def _session_of(self, event: wire.Object) -> list[Activity]:
        # A result alone may name a conversation that was asked for and is not there.
        session = "" if event.get("type") == "result" else wire.text(event, "session_id")
        if not session or session == self._facts.session:
            return []
        self._facts = self._facts._replace(session=session)
        return [SessionKnown(session)]

    def _seen(self, event: wire.Object) -> list[Activity]:
        match event.get("type"), event.get("subtype"):
            case "assistant", _:
                return self._spoke(event)
            case "user", _:
                return self._got_results(wire.inner(event, "message"))
            case "system", "init":
                return _without_report(event)
            case "system", "api_retry":
                return [_retry(event)]
            case "rate_limit_event", _:
                self._limited(wire.inner(event, "rate_limit_info"))
            case "result", _:
                self._facts = self._facts._replace(result=event)
        return []

    def _spoke(self, event: wire.Object) -> list[Activity]:
        message = wire.inner(event, "message")
        if wire.text(message, "model") == SYNTHETIC:
            self._facts = self._facts._replace(error=wire.text(event, "error"))
        seen: list[Activity] = []
        for block in wire.items(message, "content"):
            if block.get("type") == "text":
                seen.append(Said(wire.text(block, "text")))
            elif block.get("type") == "tool_use":
                self._open_calls[wire.text(block, "id")] = wire.text(block, "name")
                seen.append(self._called(block, by_itself=event.get("parent_tool_use_id") is None))
        return seen

    def _called(self, block: wire.Object, *, by_itself: bool) -> Called:
        name, arguments = wire.text(block, "name"), wire.inner(block, "input")
        report = read_report(arguments) if name == REPORT_TOOL else None
        if report is None:
            return Called(name, subject(arguments))
        if by_itself:  # and not by an agent that it has started, whose task is another
            self._reports[wire.text(block, "id")] = report
        return Called(TOOL, report.in_words)

    def _got_results(self, message: wire.Object) -> list[Activity]:
        seen: list[Activity] = []
        for block in wire.items(message, "content"):
            call = wire.text(block, "tool_use_id")
            tool = self._open_calls.pop(call, "tool")
            report = self._reports.pop(call, None)
            if block.get("is_error") is True:
                seen.append(CallFailed(tool, _said(block)))
            elif report:
                self._facts = self._facts._replace(report=report)
        return seen

    def _limited(self, info: wire.Object) -> None:
        if wire.text(info, "status") == "rejected":
            self._facts = self._facts._replace(resets_at=wire.number(info, "resetsAt"))


def _without_report(event: wire.Object) -> list[Activity]:
    """It goes on without a server that does not start, and so do we: tags will do."""
    ours = [server for server in wire.items(event, "mcp_servers") if wire.text(server, "name") == SERVER]
    broken = any(wire.text(server, "status") == "failed" for server in ours)
    return [CallFailed(TOOL, "the server of this tool did not start")] if broken else []


def _said(result: wire.Object) -> str:
    """A tool's answer is a text, or a list of blocks of which some are text."""
    blocks = wire.items(result, "content")
    return wire.text(result, "content") or " ".join(wire.text(block, "text") for block in blocks)


def _retry(event: wire.Object) -> Waited:
    status, delay = wire.number(event, "error_status"), wire.number(event, "retry_delay_ms") or 0
    what = f"{wire.text(event, 'error') or 'error'}" + (f" ({status:g})" if status else "")
    of = f"{wire.count(event, 'attempt')} of {wire.count(event, 'max_retries')}"
    return Waited(f"the service answers {what}; retry {of} in {delay / 1000:.1f} s")
