import json
import time
import tomllib
from typing import Any

import pytest

from holdfast.agents.activity import Activity, Called, Waited
from holdfast.agents.base import Assignment, Ending, Options, Outcome, OutcomeKind
from holdfast.agents.codex import Codex
from holdfast.agents.codex_stream import CodexListener
from holdfast.agents.report import server_command
from holdfast.errors import UsageError
from holdfast.model.plan import Status, Task

TASK = Task("1.2", "Make it", Status.PENDING, 3)
WORK = Assignment("run-7", "plan.md", TASK, 2, "", "prompt.md", ".", session="5e55-10")
SAFE = ("--json", "-c", 'sandbox_mode="workspace-write"', "-c", 'approval_policy="never"')
NOON = time.mktime((2026, 3, 4, 12, 0, 0, 0, 0, -1))


def heard(*events: dict[str, Any]) -> tuple[CodexListener, list[Activity]]:
    listener = CodexListener(now=lambda: NOON)
    return listener, [seen for event in events for seen in listener.heard(json.dumps(event).encode())]


def failed(message: str) -> Outcome:
    listener, _ = heard({"type": "turn.failed", "error": {"message": message}})
    return listener.outcome(Ending(1, None, None, 0))


def message(text: str) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"type": "agent_message", "text": text}}


def test_without_choices_it_works_in_its_own_sandbox_and_names_its_session_itself() -> None:
    found = Codex(Options({}, report_tool=False)).invocation(WORK)
    assert found.argv == ("codex", "exec", *SAFE, "-")
    assert (found.stdin, found.session) == ("prompt.md", "")


def test_model_and_further_arguments_stand_before_the_prompt() -> None:
    options = Options({}, model="o9", arguments=("--profile", "night"), report_tool=False)
    argv = Codex(options).invocation(WORK).argv
    assert argv == ("codex", "exec", *SAFE, "--model", "o9", "--profile", "night", "-")


def test_a_conversation_can_be_resumed_with_the_same_rights() -> None:
    found = Codex(Options({}, report_tool=False)).invocation(WORK._replace(resume="ab-cd"))
    assert found.argv == ("codex", "exec", "resume", *SAFE, "ab-cd", "-")
    assert found.session == "ab-cd"


def test_it_gets_the_report_tool_beside_the_users_own_servers() -> None:
    argv = Codex(Options({})).invocation(WORK).argv
    given = tomllib.loads("\n".join(argv[argv.index("-c") + 5 : -1 : 2]))
    server = given["mcp_servers"]["holdfast"]
    assert (server["command"], *server["args"]) == server_command()


def test_a_mode_it_does_not_have_is_bad_usage() -> None:
    with pytest.raises(UsageError, match='codex has no permission mode "acceptEdits"'):
        Codex(Options({}, permission_mode="acceptEdits")).require()


@pytest.mark.parametrize(
    ("said", "date"),
    [
        ("or try again at 11:55 PM.", (2026, 3, 4, 23, 55)),
        ("or try again at 12:05 AM.", (2026, 3, 5, 0, 5)),
        ("or try again at Mar 9th, 2026 4:01 AM.", (2026, 3, 9, 4, 1)),
        ("or try again at Jan 1st, 2100 12:00 AM.", (2100, 1, 1, 0, 0)),
    ],
)
def test_the_time_to_try_again_is_read_as_local_time(said: str, date: tuple[int, ...]) -> None:
    outcome = failed(f"You’ve hit your usage limit. Upgrade, {said}")
    assert outcome.kind is OutcomeKind.LIMITED
    assert outcome.resets_at == time.mktime((*date, 0, 0, 0, -1))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "said", ["later.", "at Foo 9th, 2026 4:01 AM.", "at 99:99 PM.", "at Feb 31st, 2026 1:00 AM"]
)
def test_a_time_that_cannot_be_read_is_unknown(said: str) -> None:
    assert failed(f"You've hit your usage limit, or try again {said}").resets_at is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("unexpected status 403 Forbidden: no", OutcomeKind.UNAUTHORISED),
        ("unexpected status 503 Service Unavailable: unexpected status 401", OutcomeKind.API_ERROR),
        ("exceeded retry limit, last status: 429 Too Many Requests", OutcomeKind.LIMITED),
        ("stream disconnected before completion: error sending request", OutcomeKind.API_ERROR),
        ("the model said: unexpected status 401", OutcomeKind.FAILED),
        ("something nobody has seen before", OutcomeKind.FAILED),
    ],
)
def test_a_failed_turn_is_judged_by_how_codex_begins_to_word_it(text: str, kind: OutcomeKind) -> None:
    assert failed(text).kind is kind


def test_a_limit_in_the_words_of_the_model_is_no_limit() -> None:
    text = "You've hit your usage limit. Quota exceeded. <SUCCESS>documented it</SUCCESS>"
    listener, _ = heard(message(text), {"type": "turn.completed", "usage": {}})
    outcome = listener.outcome(Ending(0, None, None, 0))
    assert (outcome.kind, outcome.success_note) == (OutcomeKind.FINISHED, "documented it")


def test_only_the_last_message_is_the_final_one() -> None:
    listener, _ = heard(message("<FAILURE>not yet</FAILURE>"), message("done"), {"type": "turn.completed"})
    assert listener.outcome(Ending(0, None, None, 0)).kind is OutcomeKind.FINISHED


def test_an_error_item_alone_fails_nothing() -> None:
    warning = {"type": "item.completed", "item": {"type": "error", "message": "careful"}}
    listener, seen = heard(warning, {"type": "turn.completed"})
    assert seen == [Waited("careful")]
    assert listener.outcome(Ending(0, None, None, 0)).kind is OutcomeKind.FINISHED


def test_a_turn_that_began_again_and_did_not_end_is_not_over() -> None:
    listener, _ = heard({"type": "turn.completed"}, {"type": "turn.started"})
    assert listener.outcome(Ending(0, None, None, 0)).kind is OutcomeKind.INTERRUPTED


def test_changed_files_are_seen() -> None:
    changes = [{"path": "a.py", "kind": "add"}, {"path": "b.py", "kind": "update"}]
    _, seen = heard({"type": "item.completed", "item": {"type": "file_change", "changes": changes}})
    assert seen == [Called("create", "a.py"), Called("edit", "b.py")]


@pytest.mark.parametrize("value", [None, 3, "x", [], {}, [None], True])
def test_no_event_with_fields_of_another_kind_upsets_it(value: object) -> None:
    kinds = ("thread.started", "turn.completed", "turn.failed", "item.started", "item.completed", "error")
    items = ("agent_message", "command_execution", "file_change", "mcp_tool_call", "web_search", "error")
    names = ("thread_id", "usage", "error", "message", "text", "command", "exit_code", "changes", "status")
    odd = dict.fromkeys(names, value)
    for kind in kinds:
        for item in items:
            listener, _ = heard(
                {**odd, "type": kind, "item": {**odd, "type": item}}, {"type": kind, "item": value}
            )
            listener.outcome(Ending(0, None, None, 0))
