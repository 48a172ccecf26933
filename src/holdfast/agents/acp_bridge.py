"""The program between the runner and an agent that speaks ACP.

    python -m holdfast.agents.acp_bridge MODE FILES MODEL CONVERSATION PROGRAM [ARGUMENT…]

It starts the program, asks it to do what stands on standard input, in the current directory, and tells what
happens as one JSON object a line: `agent`, `session`, `update`, `permission`, `file`, `ended`, `error`,
`gone`. MODE is a `Mode`, FILES is "read" where the agent may read files through us; MODEL and CONVERSATION
may be empty. It is an agent and not a part of the runner, so it prints and exits by itself: 0 when the turn
came to an end, however that was, 1 when it did not.
"""

import json
import os
import signal
import sys
from typing import NamedTuple

import holdfast
from holdfast.agents import wire
from holdfast.agents.acp_files import read_text, write_text
from holdfast.agents.acp_permission import Mode, allowed, answer
from holdfast.agents.acp_rpc import (
    METHOD_NOT_FOUND,
    Connection,
    Gone,
    Handlers,
    RpcError,
    Stopped,
    Unanswered,
)
from holdfast.system.process import Peer

PROTOCOL = 1
AUTH_REQUIRED = -32000
START_SECONDS = 120.0
"""To get ready: some look for updates first, or start servers of their own."""
CANCEL_SECONDS = 2.0
QUIET_SECONDS = 0.25
LONGEST_TEXT = 1 << 16
MOST_ITEMS = 100


class Order(NamedTuple):
    mode: Mode
    files: str
    model: str
    conversation: str
    argv: tuple[str, ...]


def main(argv: list[str]) -> int:
    mode, files, model, conversation, *program = argv[1:]
    order = Order(Mode(mode), files, model, conversation, tuple(program))
    prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    stop = _stop_descriptor()
    try:
        with Peer(order.argv) as peer:
            return _converse(peer, order, stop, prompt)
    except OSError as error:
        _tell("error", during="start", code=0, message=f"{order.argv[0]}: {error.strerror}")
        return 1


def _converse(peer: Peer, order: Order, stop: int, prompt: str) -> int:
    try:
        return _Bridge(peer, order, stop).carry_out(prompt)
    except Gone as gone:
        return _gone(peer, str(gone))
    except Stopped:  # before there was anything to cancel
        return 128 + signal.SIGTERM


class _Bridge:
    def __init__(self, peer: Peer, order: Order, stop: int) -> None:
        self._order, self._workspace = order, os.getcwd()
        self._connection = Connection(peer, Handlers(self._asked, self._told, _strange), stop)
        self._listening = False
        """What comes before our prompt is what was said in an earlier conversation."""
        self._calls: dict[str, wire.Object] = {}
        """Tool calls as far as they were told: who asks for permission may tell no more than a name."""
        self._step = ""

    def carry_out(self, prompt: str) -> int:
        try:
            able = self._initialize()
            session, offered = self._session(able)
            self._choose_model(session, offered)
            return self._prompt(session, prompt)
        except RpcError as error:
            _tell("error", during=self._step, code=error.code, message=error.message, data=error.data)
        except Unanswered:
            _tell("error", during=self._step, code=0, message="no answer in time")
        return 1

    def _initialize(self) -> wire.Object:
        files = {"readTextFile": self._order.files == "read", "writeTextFile": True}
        able = self._call(
            "initialize",
            protocolVersion=PROTOCOL,
            clientCapabilities={"fs": files, "terminal": False},
            clientInfo={"name": "holdfast", "title": "Holdfast", "version": holdfast.__version__},
        )
        version, info = able.get("protocolVersion"), wire.inner(able, "agentInfo")
        _tell("agent", name=wire.text(info, "name"), version=wire.text(info, "version"), protocol=version)
        if version != PROTOCOL:
            raise RpcError(0, f"it speaks version {version} of the protocol, not {PROTOCOL}")
        return wire.inner(able, "agentCapabilities")

    def _session(self, able: wire.Object) -> tuple[str, wire.Object]:
        """The conversation's name and what can be chosen in it: the old one, or else a new one."""
        here, old = {"cwd": self._workspace, "mcpServers": []}, self._order.conversation
        for method in _ways_back(able) if old else ():
            try:
                offered = self._call(method, sessionId=old, **here)
            except RpcError as error:
                if error.code == AUTH_REQUIRED:
                    raise
                continue  # not even one that is offered need be there
            self._connection.listen(QUIET_SECONDS)  # some answer first and repeat the past afterwards
            _tell("session", session=old, resumed=True)
            return old, offered
        offered = self._call("session/new", **here)
        session = wire.text(offered, "sessionId")
        _tell("session", session=session, resumed=False, lost=old)
        return session, offered

    def _choose_model(self, session: str, offered: wire.Object) -> None:
        if not self._order.model:
            return
        options = wire.items(offered, "configOptions")
        choice = next((o for o in options if "model" in (o.get("category"), o.get("id"))), None)
        if choice:
            name, value = wire.text(choice, "id"), self._order.model
            self._call("session/set_config_option", sessionId=session, configId=name, value=value)
        else:
            self._call("session/set_model", sessionId=session, modelId=self._order.model)

    def _prompt(self, session: str, prompt: str) -> int:
        self._step, self._listening = "session/prompt", True
        question = {"sessionId": session, "prompt": [{"type": "text", "text": prompt}]}
        asked = self._connection.ask(self._step, question)
        try:
            ended = self._connection.answer(asked)
        except Stopped:
            self._step = "session/cancel"
            self._connection.tell(self._step, {"sessionId": session})
            ended = self._connection.answer(asked, CANCEL_SECONDS, stoppable=False)
        _tell("ended", **ended)
        return 0

    def _call(self, method: str, **params: object) -> wire.Object:
        self._step = method
        return self._connection.call(method, params, START_SECONDS)

    def _told(self, method: str, params: wire.Object) -> None:
        update = wire.inner(params, "update")
        if method != "session/update" or not self._listening:
            return
        if name := wire.text(update, "toolCallId"):
            self._calls[name] = self._known(update)
            if update.get("status") in ("completed", "failed"):
                del self._calls[name]
        _tell("update", update=update)

    def _asked(self, method: str, params: wire.Object) -> wire.Object:
        match method:
            case "session/request_permission":
                return self._permission(params)
            case "fs/read_text_file":
                return read_text(params, self._workspace)
            case "fs/write_text_file":
                return self._write(params)
        raise RpcError(METHOD_NOT_FOUND, f"Holdfast does not offer {method}")

    def _permission(self, params: wire.Object) -> wire.Object:
        call = self._known(wire.inner(params, "toolCall"))
        allow = allowed(self._order.mode, call, self._workspace)
        _tell("permission", allowed=allow, call=call)
        return {"outcome": answer(wire.items(params, "options"), allow)}

    def _known(self, call: wire.Object) -> wire.Object:
        before = self._calls.get(wire.text(call, "toolCallId"), {})
        return {**before, **{key: value for key, value in call.items() if value is not None}}

    def _write(self, params: wire.Object) -> wire.Object:
        path = wire.text(params, "path")
        try:
            written = write_text(params, self._workspace, self._order.mode)
        except RpcError as error:
            _tell("file", path=path, refused=error.message)
            raise
        _tell("file", path=path, refused="")
        return written


def _ways_back(able: wire.Object) -> list[str]:
    """Resuming repeats nothing, loading repeats the whole conversation first."""
    resumes = isinstance(wire.inner(able, "sessionCapabilities").get("resume"), dict)
    loads = able.get("loadSession") is True
    return ["session/resume"] * resumes + ["session/load"] * loads


def _gone(peer: Peer, why: str) -> int:
    status = peer.status()
    code = status if status is not None and status >= 0 else None
    number = -status if status is not None and status < 0 else None
    _tell("gone", why=why, exit_code=code, signal=number)
    return 1


def _stop_descriptor() -> int:
    """Readable once somebody asks for an end: the agent is told to cancel then, and may save its state."""
    reader, writer = os.pipe()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os.write(writer, b"."))
    return reader


def _strange(line: bytes) -> None:
    """Not a message: for whoever looks for the reason why it does not work."""
    sys.stderr.buffer.write(line[:1000] + b"\n")
    sys.stderr.buffer.flush()


def _tell(event: str, **facts: object) -> None:
    line = json.dumps({"event": event, **{name: _bounded(fact) for name, fact in facts.items()}})
    sys.stdout.buffer.write(line.encode() + b"\n")
    sys.stdout.buffer.flush()


def _bounded(value: object) -> object:
    """The end of what is too long: a claim stands at the end."""
    match value:
        case str():
            return value[-LONGEST_TEXT:]
        case list():
            return [_bounded(item) for item in value[:MOST_ITEMS]]
        case dict():
            return {key: _bounded(item) for key, item in value.items()}
    return value


if __name__ == "__main__":
    sys.exit(main(sys.argv))
