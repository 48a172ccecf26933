"""Turns in the words of the Chat Completions API, as most agents behind ACP read them."""

import json
from collections.abc import Iterator
from typing import Any

from model_server.turns import Call, Refuse, Say

PATH = "/v1/chat/completions"
TOKENS_IN, TOKENS_OUT = 100, 10
"""What every answer says it used."""


def answers(path: str, body: dict[str, Any]) -> bool:
    return path == PATH and bool(body.get("tools"))


def stream(turn: Say | Call, number: int, model: str) -> Iterator[bytes]:
    yield _chunk(number, model, {"role": "assistant", "content": turn.text}, None)
    if isinstance(turn, Call):
        function = {"name": turn.tool, "arguments": json.dumps(turn.input)}
        call = {"index": 0, "id": f"call_{number:04}", "type": "function", "function": function}
        yield _chunk(number, model, {"tool_calls": [call]}, None)
    yield _chunk(number, model, {}, "tool_calls" if isinstance(turn, Call) else "stop")
    usage = {
        "prompt_tokens": TOKENS_IN,
        "completion_tokens": TOKENS_OUT,
        "total_tokens": TOKENS_IN + TOKENS_OUT,
    }
    yield _data({**_head(number, model), "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def error_body(turn: Refuse) -> dict[str, Any]:
    return {"error": {"type": turn.kind, "message": turn.message, "code": None, **dict(turn.fields)}}


def _chunk(number: int, model: str, delta: dict[str, Any], reason: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return _data({**_head(number, model), "choices": [choice]})


def _head(number: int, model: str) -> dict[str, Any]:
    return {"id": f"chat_{number:04}", "object": "chat.completion.chunk", "created": 0, "model": model}


def _data(value: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()
