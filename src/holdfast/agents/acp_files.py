"""Files for an agent that reads and writes through us: below the workspace and nowhere else, in any mode."""

import os

from holdfast.agents import wire
from holdfast.agents.acp_permission import Mode, inside
from holdfast.agents.acp_rpc import RpcError

NOT_FOUND = -32002
INVALID = -32602
FAILED = -32603
LARGEST = 32 << 20


def read_text(params: wire.Object, workspace: str) -> wire.Object:
    path = _checked(wire.text(params, "path"), workspace)
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise _failure(path, error) from None
    if len(data) > LARGEST:
        raise RpcError(FAILED, f"{path} is larger than {LARGEST >> 20} MiB")
    return {"content": _part(_text(path, data), params)}


def write_text(params: wire.Object, workspace: str, mode: Mode) -> wire.Object:
    if mode is Mode.READ_ONLY:
        raise RpcError(INVALID, "nothing may be written in permission mode read-only")
    path = _checked(wire.text(params, "path"), workspace)
    content = params.get("content")
    if not isinstance(content, str):
        raise RpcError(INVALID, "there is no text to write")
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(content)
    except (OSError, UnicodeEncodeError) as error:
        raise _failure(path, error) from None
    return {}


def _checked(path: str, workspace: str) -> str:
    if not path:
        raise RpcError(INVALID, "no path was given")
    if not inside(path, workspace):
        raise RpcError(INVALID, f"{path} is not below the workspace {workspace}, or belongs to git")
    return os.path.join(workspace, path)


def _text(path: str, data: bytes) -> str:
    """Not with replacement characters: what is read is often written back."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise RpcError(FAILED, f"{path} is not text in UTF-8") from None


def _part(text: str, params: wire.Object) -> str:
    first, limit = wire.number(params, "line"), wire.number(params, "limit")
    if first is None and limit is None:
        return text
    begin = max(int(first or 1) - 1, 0)
    lines = text.splitlines(keepends=True)[begin:]
    return "".join(lines if limit is None else lines[: int(limit)])


def _failure(path: str, error: OSError | UnicodeEncodeError) -> RpcError:
    if isinstance(error, FileNotFoundError):
        return RpcError(NOT_FOUND, f"Resource not found: {path} (ENOENT)")
    why = error.strerror if isinstance(error, OSError) else "it cannot be written as UTF-8"
    return RpcError(FAILED, f"{path}: {why}")
