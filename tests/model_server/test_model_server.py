"""The model server by itself, without an agent."""

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from model_server.server import ModelServer
from model_server.turns import Call, Refuse, Say

MESSAGES, RESPONSES = "/v1/messages", "/v1/responses"


def post(server: ModelServer, path: str, **body: Any) -> str:
    data = json.dumps({"model": "m", "tools": [{"name": "Write"}], **body}).encode()
    with urllib.request.urlopen(urllib.request.Request(server.url + path, data), timeout=30) as answer:
        text: str = answer.read().decode()
        return text


def events(stream: str) -> list[dict[str, Any]]:
    return [
        json.loads(line.removeprefix("data: ")) for line in stream.splitlines() if line.startswith("data")
    ]


def test_each_request_takes_the_next_turn_and_is_recorded() -> None:
    with ModelServer([Say("one"), Say("two")]) as server:
        answers = [post(server, MESSAGES, n=1), post(server, RESPONSES, n=2)]
    assert "one" in answers[0] and "two" in answers[1]
    assert [(r.path, r.body["n"]) for r in server.requests] == [(MESSAGES, 1), (RESPONSES, 2)]


def test_a_function_makes_its_turn_when_the_request_comes() -> None:
    made: list[str] = []
    with ModelServer([Say("one"), lambda: Say(made[-1])]) as server:
        post(server, MESSAGES)
        made.append("just now")
        assert "just now" in post(server, MESSAGES)


@pytest.mark.parametrize(("path", "last"), [(MESSAGES, "message_stop"), (RESPONSES, "response.completed")])
def test_a_tool_call_comes_as_a_whole_stream(path: str, last: str) -> None:
    with ModelServer([Call("Write", {"path": "a b"}, "now")]) as server:
        stream = events(post(server, path))
    assert stream[-1]["type"] == last
    assert "now" in json.dumps(stream) and r"{\"path\": \"a b\"}" in json.dumps(stream)


def test_a_refusal_has_its_status_headers_and_words() -> None:
    refusal = Refuse(429, "rate_limit_error", "slow down", (("retry-after", "7"),), (("resets_at", 5),))
    with ModelServer([refusal]) as server, pytest.raises(urllib.error.HTTPError) as caught:
        post(server, MESSAGES)
    with caught.value as error:
        assert (error.code, error.headers["retry-after"]) == (429, "7")
        assert json.loads(error.read())["error"] == {
            "type": "rate_limit_error",
            "message": "slow down",
            "resets_at": 5,
        }


def test_when_the_script_is_over_the_answer_is_400() -> None:
    with ModelServer() as server, pytest.raises(urllib.error.HTTPError, match="400") as caught:
        post(server, RESPONSES)
    caught.value.close()


def test_requests_beside_the_conversation_take_no_turn() -> None:
    with ModelServer([Say("one")]) as server:
        post(server, f"{MESSAGES}/count_tokens")
        post(server, MESSAGES, tools=[])
        assert "one" in post(server, MESSAGES)
    assert len(server.requests) == 1 and len(server.asides) == 2
