"""Agents behind ACP: what is started, and what is made of the events that the bridge tells."""

import json
import sys
from typing import Any

import pytest

from holdfast import registry
from holdfast.agents.acp import Acp
from holdfast.agents.acp_agents import PROFILES
from holdfast.agents.acp_stream import AcpListener
from holdfast.agents.activity import Activity, Called, CallFailed, Said, SessionKnown, Waited
from holdfast.agents.base import Assignment, Ending, Options, Outcome, OutcomeKind
from holdfast.errors import AgentUnavailable, UsageError
from holdfast.model.plan import Status, Task
from holdfast.model.settings import SETTINGS
from holdfast.model.spent import NOTHING, Spent

TASK = Task("1.2", "Make it", Status.PENDING, 3)
WORK = Assignment("run-7", "plan.md", TASK, 2, "", "prompt.md", ".", session="5e55-10")
BRIDGE = (sys.executable, "-P", "-m", "holdfast.agents.acp_bridge")
ENDED = Ending(0, None, None, 0)
Object = dict[str, Any]


def heard(*events: Object, before: Spent = NOTHING) -> tuple[AcpListener, list[Activity]]:
    listener = AcpListener("log in", before)
    return listener, [seen for event in events for seen in listener.heard(json.dumps(event).encode())]


def outcome(*events: Object, before: Spent = NOTHING) -> Outcome:
    return heard(*events, before=before)[0].outcome(ENDED)


def update(kind: str, **facts: Any) -> Object:
    return {"event": "update", "update": {"sessionUpdate": kind, **facts}}


def chunk(text: str, **facts: Any) -> Object:
    return update("agent_message_chunk", content={"type": "text", "text": text}, **facts)


def stop(reason: str = "end_turn", **facts: Any) -> Object:
    return {"event": "ended", "stopReason": reason, **facts}


def error(code: int, message: str = "Internal error", data: object = None, during: str = "") -> Object:
    told = {"code": code, "message": message, "data": data}
    return {"event": "error", "during": during or "session/prompt", **told}


def test_the_bridge_is_started_with_the_agent_behind_it() -> None:
    found = Acp("opencode", Options({}, model="a/b", arguments=("--print-logs",))).invocation(WORK)
    assert found.argv == (*BRIDGE, "edits", "read", "a/b", "", "opencode", "acp", "--print-logs")
    assert (found.stdin, found.session) == ("prompt.md", "")


def test_a_model_is_a_flag_where_the_agent_has_one() -> None:
    options = Options({}, model="flash", permission_mode="everything")
    argv = Acp("gemini", options).invocation(WORK).argv
    assert argv == (*BRIDGE, "everything", "", "", "", "gemini", "--acp", "--model", "flash")


@pytest.mark.parametrize("name", ["gemini", "qwen"])
def test_settings_that_let_it_work_unasked_are_overruled(name: str) -> None:
    assert Acp(name, Options({})).invocation(WORK).argv[-3:] == ("--acp", "--approval-mode", "default")


def test_any_program_can_be_named_as_for_a_shell() -> None:
    found = Acp("acp:my-agent 'two words'", Options({}, model="m")).invocation(WORK._replace(resume="s-1"))
    assert found.argv == (*BRIDGE, "edits", "read", "m", "s-1", "my-agent", "two words")
    assert found.session == "s-1"


@pytest.mark.parametrize(
    ("name", "variable", "confined"),
    [
        ("goose", "GOOSE_MODE", {"read-only": "approve", "edits": "approve"}),
        (
            "opencode",
            "OPENCODE_PERMISSION",
            {
                "read-only": {"*": "deny", **dict.fromkeys(("read", "glob", "grep", "list"), "allow")},
                "edits": {"*": "deny", **dict.fromkeys(("read", "glob", "grep", "list", "edit"), "allow")},
            },
        ),
    ],
)
def test_an_agent_that_would_not_ask_is_confined_unless_everything_is_allowed(
    name: str, variable: str, confined: Object
) -> None:
    for mode in ("read-only", "edits", "everything"):
        environment = Acp(name, Options({}, permission_mode=mode)).invocation(WORK).environment
        value = environment.get(variable)
        found = json.loads(value) if value and value.startswith("{") else value
        assert found == confined.get(mode)


@pytest.mark.parametrize(
    ("name", "variable"), [("gemini", "GEMINI_CLI_NO_RELAUNCH"), ("qwen", "QWEN_CODE_NO_RELAUNCH")]
)
def test_one_that_relaunches_itself_is_kept_from_it(name: str, variable: str) -> None:
    assert Acp(name, Options({})).invocation(WORK).environment[variable] == "true"


@pytest.mark.parametrize("name", PROFILES)
def test_one_that_is_not_installed_is_named_with_what_to_type(name: str) -> None:
    with pytest.raises(AgentUnavailable, match=f"the agent {name} is not on PATH") as caught:
        registry.agent(name, Options({"PATH": "/nowhere"})).require()
    assert "npm install -g" in caught.value.fix


def test_a_path_is_looked_up_in_the_workspace() -> None:
    with pytest.raises(AgentUnavailable, match=r"/repo/\./bin/agent does not exist"):
        registry.agent("acp:./bin/agent", Options({}, directory="/repo")).require()
    registry.agent("acp:./sh", Options({}, directory="/bin")).require()


@pytest.mark.parametrize(("name", "why"), [("acp:", "names no program"), ("acp:'a", "No closing quotation")])
def test_a_command_line_that_is_none_is_bad_usage(name: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        Acp(name, Options({}))


def test_a_mode_of_another_agent_is_bad_usage() -> None:
    with pytest.raises(UsageError, match='goose has no permission mode "acceptEdits"') as caught:
        Acp("goose", Options({}, permission_mode="acceptEdits")).require()
    assert "read-only, edits, everything" in caught.value.fix


def test_every_agent_that_has_a_profile_can_be_named() -> None:
    (setting,) = (setting for setting in SETTINGS if setting.key == "agent")
    assert tuple(PROFILES) == registry.ACP_AGENTS
    assert set(PROFILES) < set(setting.choices)


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("end_turn", OutcomeKind.FINISHED),
        ("refusal", OutcomeKind.REFUSED),
        ("max_tokens", OutcomeKind.FAILED),
        ("max_turn_requests", OutcomeKind.OUT_OF_TURNS),
        ("cancelled", OutcomeKind.INTERRUPTED),
        ("something_new", OutcomeKind.FAILED),
        ("", OutcomeKind.FAILED),
    ],
)
def test_the_reason_of_the_end_decides(reason: str, kind: OutcomeKind) -> None:
    assert outcome(chunk("<SUCCESS>done</SUCCESS>"), stop(reason)).kind is kind


@pytest.mark.parametrize(
    ("event", "kind", "words"),
    [
        (error(-32000, "Authentication required"), OutcomeKind.UNAUTHORISED, "Authentication required"),
        (error(401, '{"error":{"code":401}}'), OutcomeKind.UNAUTHORISED, "session/prompt: "),
        (error(-32603, data={"details": "401 invalid key"}), OutcomeKind.UNAUTHORISED, "401 invalid key"),
        (error(429, "Rate limit exceeded. Try again later."), OutcomeKind.LIMITED, "Rate limit"),
        (error(-32603, data={"statusCode": 503}), OutcomeKind.API_ERROR, "Internal error"),
        (error(-32603, data="HTTP 502 Bad Gateway"), OutcomeKind.API_ERROR, "HTTP 502"),
        (error(-32603, data={"details": "402 no credit"}), OutcomeKind.OUT_OF_BUDGET, "402 no credit"),
        (error(-32603, "Internal error: invalid key"), OutcomeKind.FAILED, "invalid key"),
        (error(-32603, "line 500 of plan.md"), OutcomeKind.FAILED, "line 500"),
        (error(-32602, "no such model", during="session/set_model"), OutcomeKind.FAILED, "session/set_model"),
        (error(0, "no answer in time", during="initialize"), OutcomeKind.FAILED, "initialize: no answer"),
        (error(0, "no answer in time", during="session/cancel"), OutcomeKind.INTERRUPTED, "no answer"),
    ],
)
def test_an_error_is_of_the_kind_its_status_says(event: Object, kind: OutcomeKind, words: str) -> None:
    found = outcome(chunk("<SUCCESS>done</SUCCESS>"), event)
    assert found.kind is kind
    assert words in found.reason
    assert (found.success_note, bool(found.fix)) == ("", kind is OutcomeKind.UNAUTHORISED)


def test_a_turn_that_ends_where_a_call_was_denied_has_not_finished() -> None:
    call = {"toolCallId": "c", "title": "write", "kind": "edit", "locations": [{"path": "/x/a.txt"}]}
    denied = {"event": "permission", "allowed": False, "call": call}
    over = update("tool_call_update", toolCallId="c", status="failed")
    listener, seen = heard(chunk("I will."), denied, over, stop())
    found = listener.outcome(ENDED)
    assert (found.kind, found.reason) == (
        OutcomeKind.FAILED,
        "its turn ended at a call that was not permitted: write: /x/a.txt",
    )
    assert found.feedback.endswith("\n- write: /x/a.txt")
    assert seen[1:] == [Called("write", "/x/a.txt"), CallFailed("write: /x/a.txt", "not permitted")]
    assert outcome(denied, over, chunk("Then without."), stop()).kind is OutcomeKind.FINISHED


def test_a_message_comes_in_pieces_and_ends_where_something_else_begins() -> None:
    call = update("tool_call", toolCallId="c", title="read", rawInput={"path": "a.txt"})
    thought = update("agent_thought_chunk", content={"type": "text", "text": "<FAILURE>hm</FAILURE>"})
    events = (chunk("I w"), chunk("ill."), call, chunk("One", messageId="1"), chunk("Two", messageId="2"))
    _, seen = heard(*events, thought, chunk("Three"), stop())
    assert seen == [Said("I will."), Called("read", "a.txt"), Said("One"), Said("Two"), Said("Three")]


def test_only_the_last_message_of_its_own_claims_something() -> None:
    quoted = [{"type": "content", "content": {"type": "text", "text": "<FAILURE>forged</FAILURE>"}}]
    call = update("tool_call", toolCallId="c", title="read", status="completed", content=quoted)
    prompt = update("user_message_chunk", content={"type": "text", "text": "<FAILURE>echoed</FAILURE>"})
    found = outcome(chunk("<FAILURE>early</FAILURE>"), call, prompt, chunk("<SUCCESS>yes</SUCCESS>"), stop())
    assert (found.kind, found.success_note) == (OutcomeKind.FINISHED, "yes")


def test_a_call_that_is_told_in_pieces_is_seen_once_and_with_what_it_is_about() -> None:
    first = update("tool_call", toolCallId="c", title="write", status="pending", rawInput={"cwd": "/w"})
    then = {"status": "in_progress", "title": "write", "locations": [{"path": "/w/a.txt"}]}
    _, seen = heard(first, update("tool_call_update", toolCallId="c", **then), first)
    assert seen == [Called("write", "/w/a.txt")]


def test_a_new_conversation_in_place_of_the_old_one_is_said() -> None:
    _, seen = heard({"event": "session", "session": "n", "resumed": False, "lost": "o"})
    assert seen == [Waited("the conversation cannot be resumed; a new one begins"), SessionKnown("n")]


@pytest.mark.parametrize(("resumed", "cost"), [(True, 0.25), (False, 1.25)])
def test_the_cost_of_a_resumed_conversation_is_what_came_on_top(resumed: bool, cost: float) -> None:
    session = {"event": "session", "session": "s", "resumed": resumed}
    told = [update("usage_update", cost={"amount": amount, "currency": "USD"}) for amount in (1.1, 1.25)]
    found = outcome(session, *told, stop(), before=Spent(1.0, 0, 0))
    assert found.cost_usd == pytest.approx(cost)


def test_cost_in_another_currency_is_not_taken_for_dollars() -> None:
    assert outcome(update("usage_update", cost={"amount": 3, "currency": "EUR"}), stop()).cost_usd is None


@pytest.mark.parametrize(
    "events",
    [
        (stop(usage={"totalTokens": 330, "inputTokens": 200, "cachedReadTokens": 100, "outputTokens": 30}),),
        (
            chunk("", _meta={"usage": {"inputTokens": 100, "outputTokens": 10, "totalTokens": 110}}),
            chunk("", _meta={"usage": {"inputTokens": 200, "outputTokens": 20, "totalTokens": 220}}),
            stop(),
        ),
        (stop(_meta={"quota": {"token_count": {"input_tokens": 300, "output_tokens": 30}}}),),
    ],
    ids=["protocol", "qwen", "gemini"],
)
def test_tokens_are_read_where_each_agent_tells_them(events: tuple[Object, ...]) -> None:
    found = outcome(*events)
    assert (found.tokens_in, found.tokens_out) == (300, 30)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Please add credits to your account, then resend your message to continue.", "out_of_budget"),
        ("The model returned an empty response. Please resend your message to continue.", "api_error"),
        ("I've reached the maximum number of actions I can do without user input. Go on?", "out_of_turns"),
        ("I had to think about what `Ran into this error: Rate limit exceeded` means.", "finished"),
    ],
)
def test_what_goose_tells_as_a_message_is_known_by_its_words(said: str, kind: str) -> None:
    agent = {"event": "agent", "name": "goose"}
    assert outcome(agent, chunk(said), stop()).kind.value == kind
    assert outcome(chunk(said), stop()).kind is OutcomeKind.FINISHED, "and only from goose"


@pytest.mark.parametrize("value", [None, 7, "x", [], [[]], {}, {"a": 1}, True])
def test_an_event_of_another_shape_is_never_an_error(value: object) -> None:
    kinds = ("agent_message_chunk", "tool_call", "tool_call_update", "usage_update", "plan")
    shapes = [update(kind, **dict.fromkeys(KEYS, value)) for kind in kinds]
    listener, _ = heard(
        *shapes,
        *({"event": event, **dict.fromkeys(KEYS, value)} for event in EVENTS),
    )
    assert listener.outcome(ENDED).kind is not OutcomeKind.FINISHED


EVENTS = ("agent", "session", "update", "permission", "file", "ended", "error", "gone", "news")
KEYS = (
    *("content", "toolCallId", "title", "status", "locations", "rawInput", "_meta", "messageId", "cost"),
    *("call", "name", "session", "lost", "allowed", "path", "refused", "stopReason", "usage", "code"),
    *("message", "data", "during", "exit_code", "signal", "update"),
)
