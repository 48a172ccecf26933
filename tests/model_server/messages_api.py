"""Turns in the words of the Anthropic Messages API, as Claude Code reads them."""

import json
from collections.abc import Iterator
from typing import Any

from model_server.turns import Call, Refuse, Say

PATH = "/v1/messages"
TOKENS_IN, TOKENS_OUT = 100, 10
"""What every answer says it used."""


def answers(path: str, body: dict[str, Any]) -> bool:
    return path == PATH and bool(body.get("tools"))


def side_request(path: str) -> dict[str, Any]:
    """Requests beside the conversation, which no turn of the script is meant for."""
    if path.endswith("/count_tokens"):
        return {"input_tokens": TOKENS_IN}
    return _message("aside", [{"type": "text", "text": "aside"}], "end_turn") if path == PATH else {}


def stream(turn: Say | Call, number: int, model: str) -> Iterator[bytes]:
    blocks = list(_blocks(turn, number))
    reason = "tool_use" if isinstance(turn, Call) else "end_turn"
    start = {**_message(f"msg_{number:04}", [], None), "model": model}
    yield _event("message_start", message=start)
    for index, (opened, delta) in enumerate(blocks):
        yield _event("content_block_start", index=index, content_block=opened)
        yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    yield _event(
        "message_delta",
        delta={"stop_reason": reason, "stop_sequence": None},
        usage={"output_tokens": TOKENS_OUT},
    )
    yield _event("message_stop")


def error_body(turn: Refuse) -> dict[str, Any]:
    return {"type": "error", "error": {"type": turn.kind, "message": turn.message, **dict(turn.fields)}}


def _blocks(turn: Say | Call, number: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    if turn.text:
        yield {"type": "text", "text": ""}, {"type": "text_delta", "text": turn.text}
    if isinstance(turn, Call):
        opened = {"type": "tool_use", "id": f"toolu_{number:04}", "name": turn.tool, "input": {}}
        yield opened, {"type": "input_json_delta", "partial_json": json.dumps(turn.input)}


def _message(name: str, content: list[dict[str, Any]], reason: str | None) -> dict[str, Any]:
    return {
        "id": name,
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": TOKENS_IN, "output_tokens": 1},
    }


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()
