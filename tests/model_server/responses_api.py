"""Turns in the words of the OpenAI Responses API, as Codex reads them."""

import json
from collections.abc import Iterator
from typing import Any

from model_server.turns import Call, Refuse, Say

PATH = "/v1/responses"
TOKENS_IN, TOKENS_OUT = 100, 10
"""What every answer says it used."""


def answers(path: str, body: dict[str, Any]) -> bool:
    return path == PATH


def stream(turn: Say | Call, number: int, model: str) -> Iterator[bytes]:
    name = f"resp_{number:04}"
    yield _event("response.created", response={"id": name})
    for item in _items(turn, number):
        yield _event("response.output_item.done", item=item)
    usage = {
        "input_tokens": TOKENS_IN,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": TOKENS_OUT,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": TOKENS_IN + TOKENS_OUT,
    }
    yield _event("response.completed", response={"id": name, "model": model, "usage": usage})


def error_body(turn: Refuse) -> dict[str, Any]:
    return {"error": {"type": turn.kind, "message": turn.message, **dict(turn.fields)}}


def _items(turn: Say | Call, number: int) -> Iterator[dict[str, Any]]:
    if turn.text:
        content = [{"type": "output_text", "text": turn.text, "annotations": []}]
        yield {"type": "message", "role": "assistant", "id": f"msg_{number:04}", "content": content}
    if isinstance(turn, Call):
        yield {
            "type": "function_call",
            "id": f"fc_{number:04}",
            "call_id": f"call_{number:04}",
            "name": turn.tool,
            "arguments": json.dumps(turn.input),
            **({"namespace": turn.namespace} if turn.namespace else {}),
        }


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()
