"""A tool with which an agent reports how its task ended: an MCP server on standard input and output.

    python -I -S report_server.py [FILE]

Started by the agent and part of its process tree, stdlib only, because some agents start it with an empty
environment. It keeps nothing: what counts is the call as the agent's own events show it. Only where the agent
speaks to a person, and no events are to be had, the last report is left in FILE. An answer tells the model
that it was heard, or what is missing.
"""

import json
import os
import sys
from typing import Any

SERVER = "holdfast"
TOOL = "report"
PROTOCOL = "2025-06-18"
PROTOCOLS = ("2024-11-05", "2025-03-26", PROTOCOL)
PARSE_ERROR, UNKNOWN_METHOD = -32700, -32601

SCHEMA = {
    "type": "object",
    "properties": {
        "done": {"type": "boolean", "description": "true only when the whole task is done"},
        "summary": {
            "type": "string",
            "description": "what you did, or why no change was needed, or what stands in the way",
        },
        "commit_message": {"type": "string", "description": "states the reason for the change"},
        "criteria": {
            "type": "array",
            "description": "one for every acceptance criterion of the task",
            "items": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer", "description": "as the task numbers it, from 1"},
                    "met": {"type": "boolean"},
                    "note": {"type": "string", "description": "why not, when it is not met"},
                },
                "required": ["number", "met"],
            },
        },
    },
    "required": ["done", "summary"],
}
DESCRIPTION = "Report how the task ended. Call it once, as the last thing you do."
DECLARED = {
    "name": TOOL,
    "description": DESCRIPTION,
    "inputSchema": SCHEMA,
    # It changes nothing anywhere, so nobody has to be asked for permission.
    "annotations": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False},
    # Otherwise Claude Code leaves it out of what the model is shown, to be searched for.
    "_meta": {"anthropic/alwaysLoad": True},
}


def main() -> None:
    for line in sys.stdin:
        answer = answered(line)
        if answer is not None:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


def answered(line: str) -> dict[str, Any] | None:
    """The answer to one message; None where none is due."""
    try:
        message = json.loads(line)
    except ValueError:
        return _error(None, PARSE_ERROR, "not JSON")
    if not isinstance(message, dict) or "id" not in message or "method" not in message:
        return None
    parameters = message.get("params")
    result = _result(message["method"], parameters if isinstance(parameters, dict) else {})
    if result is None:
        return _error(message["id"], UNKNOWN_METHOD, f"no such method: {message['method']}")
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def _result(method: object, parameters: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            asked = parameters.get("protocolVersion")
            return {
                "protocolVersion": asked if asked in PROTOCOLS else PROTOCOL,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": SERVER, "version": "1"},
            }
        case "ping":
            return {}
        case "tools/list":
            return {"tools": [DECLARED]}
        case "tools/call":
            return _heard(parameters)
    return None


def _heard(parameters: dict[str, Any]) -> dict[str, Any]:
    given = parameters.get("arguments")
    wrong = missing(given if isinstance(given, dict) else {})
    if parameters.get("name") != TOOL:
        wrong = f"there is no tool {parameters.get('name')}"
    if not wrong and len(sys.argv) > 1:
        _leave(sys.argv[1], given)
    text = f"Not taken: {wrong}. Call it again." if wrong else "Taken. End now."
    return {"content": [{"type": "text", "text": text}], "isError": bool(wrong)}


def _leave(path: str, report: object) -> None:
    """Whole or not at all."""
    with open(f"{path}.new", "w", encoding="utf-8") as f:
        json.dump(report, f)
    os.replace(f"{path}.new", path)


def missing(given: dict[str, Any]) -> str:
    """What keeps it from being a report, "" when it is one."""
    if not isinstance(given.get("done"), bool):
        return "`done` must be true or false"
    if not isinstance(given.get("summary"), str) or not given["summary"].strip():
        return "`summary` must say something"
    return ""


def _error(identity: object, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}}


if __name__ == "__main__":
    main()
