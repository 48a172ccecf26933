"""The tool an agent reports its result with: the server it talks to, and what counts as its word."""

import json
import subprocess
from typing import Any

import pytest

from holdfast.agents.base import Ending, Listener, Outcome, OutcomeKind
from holdfast.agents.claude_stream import ClaudeListener
from holdfast.agents.codex_stream import CodexListener
from holdfast.agents.report import Report, own_word, read_report, server_command
from holdfast.agents.tags import Claim, Reported

WELL = Ending(exit_code=0, signal=None, cause=None, leftovers=0)
DONE = {"done": True, "summary": "did it", "commit_message": "Because"}


def talk(*messages: object) -> list[dict[str, Any]]:
    """With the real server in an empty environment; it must end when its input does."""
    lines = "".join(m if isinstance(m, str) else json.dumps(m) + "\n" for m in messages)
    done = subprocess.run(
        server_command(), input=lines, env={}, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


def request(number: int, method: str, **parameters: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}


def test_the_server_introduces_itself_and_its_one_tool() -> None:
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    begun, listed, alive = talk(
        request(1, "initialize", protocolVersion="2025-03-26", capabilities={}),
        initialized,
        request(2, "tools/list"),
        request(3, "ping"),
    )
    assert begun["result"]["protocolVersion"] == "2025-03-26" and "tools" in begun["result"]["capabilities"]
    (tool,) = listed["result"]["tools"]
    assert tool["name"] == "report" and tool["inputSchema"]["required"] == ["done", "summary"]
    assert alive == {"jsonrpc": "2.0", "id": 3, "result": {}}


def test_a_version_it_does_not_know_is_answered_with_its_own() -> None:
    (begun,) = talk(request(1, "initialize", protocolVersion="1999-01-01"))
    assert begun["result"]["protocolVersion"] == "2025-06-18"


def test_a_call_is_taken_or_told_what_is_missing() -> None:
    calls: list[dict[str, object]] = [DONE, {"summary": "x"}, {"done": 1, "summary": "x"}, {"done": True}]
    answers = talk(*(request(n, "tools/call", name="report", arguments=c) for n, c in enumerate(calls)))
    assert [answer["result"]["isError"] for answer in answers] == [False, True, True, True]
    assert "`summary` must say something" in answers[3]["result"]["content"][0]["text"]


def test_what_is_no_request_does_not_end_the_server() -> None:
    answers = talk(
        "not json\n", "[1]\n", "{}\n", request(1, "prompts/list"), request(2, "tools/call", name="x")
    )
    assert [answer.get("error", {}).get("code") for answer in answers] == [-32700, -32601, None]
    assert answers[2]["result"]["isError"] is True


def test_a_report_is_read_without_trust() -> None:
    given = {
        "done": True,
        "summary": " did\x1b[31m it ",
        "commit_message": "Add it\n\nHoldfast-Task: 9\n",
        "criteria": [{"number": 2, "met": False, "note": "slow"}, {"number": "x", "met": "yes"}, 7],
    }
    assert read_report(given) == Report(True, "did it", "Add it", (Reported(2, False, "slow"),))
    assert read_report({"done": "true", "summary": "x"}) is None


@pytest.mark.parametrize(
    ("final", "done", "claim"),
    [
        ("bye", True, Claim(True, "by tool")),
        ("bye", False, Claim(False, "by tool")),
        ("<SUCCESS>by tag</SUCCESS>", False, Claim(False, "by tool")),
        ("<FAILURE>by tag</FAILURE>", True, Claim(False, "by tag")),
    ],
)
def test_its_word_counts_against_itself_whichever_way_it_is_given(
    final: str, done: bool, claim: Claim
) -> None:
    assert own_word(final, Report(done, "by tool", "", ())).claim == claim


def test_tags_say_what_the_report_leaves_out() -> None:
    final = "SUGGESTED_COMMIT_MESSAGE: By tag\nEND_COMMIT_MESSAGE\nCRITERION 1: met\nCRITERION 2: met\n"
    word = own_word(final, Report(True, "s", "", (Reported(2, False, "no"),)))
    assert word.message == "By tag"
    assert word.criteria == (Reported(1, True, ""), Reported(2, False, "no"))


def heard(listener: Listener, *events: dict[str, Any]) -> Outcome:
    for event in events:
        listener.heard(json.dumps(event).encode())
    return listener.outcome(WELL)


def claude_call(name: str = "mcp__holdfast__report", parent: str | None = None) -> dict[str, Any]:
    block = {"type": "tool_use", "id": "t1", "name": name, "input": DONE}
    return {"type": "assistant", "message": {"content": [block]}, "parent_tool_use_id": parent}


def claude_answer(**more: object) -> dict[str, Any]:
    return {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", **more}]}}


CLAUDE_END = {"type": "result", "subtype": "success", "is_error": False, "result": "bye"}


@pytest.mark.parametrize(
    ("call", "answer", "message"),
    [
        (claude_call(), claude_answer(), "Because"),
        (claude_call(), claude_answer(is_error=True), ""),
        (claude_call(parent="toolu_task"), claude_answer(), ""),
        (claude_call(name="mcp__other__report"), claude_answer(), ""),
        (claude_call(), {}, ""),
    ],
    ids=["its own", "one the tool refused", "of an agent it started", "another tool", "without an answer"],
)
def test_only_a_call_of_claudes_own_that_was_taken_counts(
    call: dict[str, Any], answer: dict[str, Any], message: str
) -> None:
    outcome = heard(ClaudeListener(), call, answer, CLAUDE_END)
    assert (outcome.kind, outcome.message) == (OutcomeKind.FINISHED, message)


@pytest.mark.parametrize(
    ("server", "status", "message"),
    [("holdfast", "completed", "Because"), ("holdfast", "failed", ""), ("other", "completed", "")],
)
def test_only_a_call_of_codex_that_was_taken_counts(server: str, status: str, message: str) -> None:
    item = {"type": "mcp_tool_call", "server": server, "tool": "report", "arguments": DONE, "status": status}
    outcome = heard(CodexListener(), {"type": "item.completed", "item": item}, {"type": "turn.completed"})
    assert (outcome.kind, outcome.message) == (OutcomeKind.FINISHED, message)


def test_a_server_that_did_not_start_is_told() -> None:
    init = {"type": "system", "subtype": "init", "mcp_servers": [{"name": "holdfast", "status": "failed"}]}
    outcome = heard(ClaudeListener(), init, CLAUDE_END)
    assert outcome.tail == "✗ report: the server of this tool did not start"
