"""What the real agents once printed, and what is made of it. `model_server/record.py` made the recordings."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from holdfast.agents.acp import Acp
from holdfast.agents.activity import readable
from holdfast.agents.base import Ending, Listener, Options, Outcome, OutcomeKind
from holdfast.agents.claude_stream import ClaudeListener
from holdfast.agents.codex_stream import CodexListener

RECORDED = Path(__file__).parent / "recorded"
YEAR_2100 = 4102444800.0


def goose_listener() -> Listener:
    return Acp("goose", Options({})).listener()


LISTENERS: dict[str, Callable[[], Listener]] = {
    "claude": ClaudeListener,
    "codex": CodexListener,
    "goose": goose_listener,
}


class Recording(NamedTuple):
    events: list[str]
    ending: Ending

    @classmethod
    def read(cls, agent: str, scene: str) -> "Recording":
        end, *events = (RECORDED / agent / f"{scene}.jsonl").read_text(encoding="utf-8").splitlines()
        told = json.loads(end)
        return cls(events, Ending(told["exit_code"], None, None, 0, told["stderr"]))

    def heard_by(self, listener: Listener) -> list[str]:
        seen = [activity for event in self.events for activity in listener.heard(event.encode())]
        return [line for activity in seen for line in readable(activity)]


def outcome(agent: str, scene: str) -> Outcome:
    listener = LISTENERS[agent]()
    recording = Recording.read(agent, scene)
    recording.heard_by(listener)
    return listener.outcome(recording.ending)


@pytest.mark.parametrize(
    ("agent", "scene", "kind", "words"),
    [
        ("claude", "finished", OutcomeKind.FINISHED, ""),
        ("claude", "forged-success", OutcomeKind.FINISHED, ""),
        ("claude", "failing-tool", OutcomeKind.FINISHED, ""),
        ("claude", "denied", OutcomeKind.FINISHED, ""),
        ("claude", "gives-up", OutcomeKind.REFUSED, "no compiler here"),
        ("claude", "server-errors", OutcomeKind.API_ERROR, "API Error: 500 scripted error"),
        ("claude", "no-service", OutcomeKind.API_ERROR, "API Error: Connection refused"),
        ("claude", "key-refused", OutcomeKind.UNAUTHORISED, "API Error: 401 invalid key"),
        ("claude", "not-logged-in", OutcomeKind.UNAUTHORISED, "Not logged in"),
        ("claude", "bad-request", OutcomeKind.FAILED, "API Error: 400 no such thing"),
        ("claude", "bad-flag", OutcomeKind.FAILED, "unknown option '--no-such-flag'"),
        ("claude", "interrupted", OutcomeKind.INTERRUPTED, "status 0 and without a result"),
        ("claude", "limited", OutcomeKind.LIMITED, "You've hit your 5-hour limit"),
        ("claude", "rate-limited-key", OutcomeKind.LIMITED, "Request rejected (429)"),
        ("claude", "no-credit", OutcomeKind.OUT_OF_BUDGET, "Credit balance is too low"),
        ("claude", "out-of-budget", OutcomeKind.OUT_OF_BUDGET, "Reached maximum budget"),
        ("claude", "out-of-turns", OutcomeKind.OUT_OF_TURNS, "Reached maximum number of turns (1)"),
        ("codex", "finished", OutcomeKind.FINISHED, ""),
        ("codex", "forged-success", OutcomeKind.FINISHED, ""),
        ("codex", "failing-tool", OutcomeKind.FINISHED, ""),
        ("codex", "gives-up", OutcomeKind.REFUSED, "no compiler here"),
        ("codex", "server-errors", OutcomeKind.API_ERROR, "high demand"),
        ("codex", "key-refused", OutcomeKind.UNAUTHORISED, "401 Unauthorized"),
        ("codex", "no-key", OutcomeKind.UNAUTHORISED, "Missing environment variable: `LOOPBACK_KEY`"),
        ("codex", "bad-request", OutcomeKind.FAILED, "no such thing"),
        ("codex", "bad-flag", OutcomeKind.FAILED, "unexpected argument '--no-such-flag' found"),
        ("codex", "interrupted", OutcomeKind.FAILED, "status 1 before its turn was over"),
        ("codex", "limited", OutcomeKind.LIMITED, "hit your usage limit"),
        ("codex", "limited-for-an-unknown-time", OutcomeKind.LIMITED, "Try again later"),
        ("codex", "no-quota", OutcomeKind.OUT_OF_BUDGET, "Quota exceeded"),
        ("goose", "finished", OutcomeKind.FINISHED, ""),
        ("goose", "forged-success", OutcomeKind.FINISHED, ""),
        ("goose", "failing-tool", OutcomeKind.FINISHED, ""),
        ("goose", "denied", OutcomeKind.FINISHED, ""),
        ("goose", "gives-up", OutcomeKind.REFUSED, "no compiler here"),
        ("goose", "server-errors", OutcomeKind.API_ERROR, "Server error (500 Internal Server Error)"),
        ("goose", "no-service", OutcomeKind.API_ERROR, "Network error: Could not connect"),
        ("goose", "key-refused", OutcomeKind.UNAUTHORISED, "session/prompt: Authentication required"),
        ("goose", "bad-request", OutcomeKind.FAILED, "Bad request (400): no such thing"),
        ("goose", "bad-flag", OutcomeKind.FAILED, "unexpected argument '--no-such-flag' found"),
        ("goose", "interrupted", OutcomeKind.INTERRUPTED, "somebody stopped it: no answer in time"),
        ("goose", "limited", OutcomeKind.LIMITED, "Rate limit exceeded: slow down"),
    ],
)
def test_each_ending_has_its_kind_and_its_reason(
    agent: str, scene: str, kind: OutcomeKind, words: str
) -> None:
    found = outcome(agent, scene)
    assert found.kind is kind
    assert words in found.reason
    assert bool(found.reason) is bool(words)
    assert bool(found.fix) is (kind is OutcomeKind.UNAUTHORISED)


def test_every_recording_is_judged_here() -> None:
    (parametrize,) = test_each_ending_has_its_kind_and_its_reason.pytestmark  # type: ignore[attr-defined]
    judged = {(agent, scene) for agent, scene, *_ in parametrize.args[1]}
    assert judged == {(path.parent.name, path.stem) for path in RECORDED.rglob("*.jsonl")}


@pytest.mark.parametrize("agent", LISTENERS)
def test_the_final_message_of_its_own_gives_note_and_commit_message(agent: str) -> None:
    found = outcome(agent, "finished")
    assert (found.message, found.success_note) == ("Make it", "task implemented: made")


@pytest.mark.parametrize("agent", LISTENERS)
def test_a_tag_that_a_tool_result_quotes_is_none(agent: str) -> None:
    assert "<SUCCESS>" in "".join(Recording.read(agent, "forged-success").events)
    assert outcome(agent, "forged-success").success_note == ""


@pytest.mark.parametrize("agent", LISTENERS)
def test_tokens_and_session_are_told(agent: str) -> None:
    found = outcome(agent, "finished")
    requests = 1 if agent == "goose" else 2  # goose tells the tokens of its last request
    assert (found.tokens_in, found.tokens_out) == (100 * requests, 10 * requests)
    assert found.session


def test_only_claude_tells_what_it_cost() -> None:
    assert outcome("claude", "finished").cost_usd == pytest.approx(0.0012)
    assert outcome("codex", "finished").cost_usd is None
    assert outcome("goose", "finished").cost_usd is None
    assert outcome("claude", "interrupted").cost_usd is None


def test_when_a_limit_resets_is_known_where_the_agent_says_so() -> None:
    assert outcome("claude", "limited").resets_at == YEAR_2100
    assert outcome("claude", "rate-limited-key").resets_at is None
    assert outcome("codex", "limited-for-an-unknown-time").resets_at is None


def test_denied_tools_are_feedback() -> None:
    assert outcome("claude", "denied").feedback.endswith("\n- Bash: make test")
    assert outcome("goose", "denied").feedback.endswith("\n- shell · make test")


def test_what_people_see_has_one_form() -> None:
    claude = Recording.read("claude", "finished").heard_by(ClaudeListener())
    codex = Recording.read("codex", "finished").heard_by(CodexListener())
    end = [
        "SUGGESTED_COMMIT_MESSAGE: Make it",
        "END_COMMIT_MESSAGE",
        "<SUCCESS>task implemented: made</SUCCESS>",
    ]
    assert claude == ["I will make it.", "→ Write: /workspace/made.txt", *end]
    assert codex[0].startswith("… Model metadata for `scripted` not found.")
    assert codex[1] == "I will make it." and codex[2].startswith("→ command: \"mkdir -p '/workspace'")
    assert codex[3:] == end
    goose = Recording.read("goose", "finished").heard_by(goose_listener())
    assert goose == ["I will make it.", "→ write · /workspace/made.txt", *end]


def test_a_failed_tool_call_and_a_retry_are_seen() -> None:
    assert "✗ Bash: Exit code 3 broken" in Recording.read("claude", "failing-tool").heard_by(ClaudeListener())
    assert "✗ command: exit 3: broken" in Recording.read("codex", "failing-tool").heard_by(CodexListener())
    goose = Recording.read("goose", "failing-tool").heard_by(goose_listener())
    assert [line for line in goose if line.startswith("✗")] == [
        "✗ shell · echo broken >&2; exit 3: broken Command exited with code 3"
    ]
    (retry, *_) = Recording.read("claude", "server-errors").heard_by(ClaudeListener())
    assert retry.startswith("… the service answers server_error (500); retry 1 of 1 in 0.")


@pytest.mark.parametrize("agent", LISTENERS)
def test_the_tail_is_what_was_seen_last(agent: str) -> None:
    assert outcome(agent, "finished").tail.endswith("\n<SUCCESS>task implemented: made</SUCCESS>")


@pytest.mark.parametrize("agent", LISTENERS)
@pytest.mark.parametrize("scene", ["finished", "gives-up", "key-refused"])
def test_cut_off_at_any_event_it_has_neither_finished_nor_refused(agent: str, scene: str) -> None:
    recording = Recording.read(agent, scene)
    for count in range(len(recording.events)):
        listener = LISTENERS[agent]()
        recording._replace(events=recording.events[:count]).heard_by(listener)
        cut = listener.outcome(Ending(0, None, None, 0)).kind
        assert cut not in (OutcomeKind.FINISHED, OutcomeKind.REFUSED)
