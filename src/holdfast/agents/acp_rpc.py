"""JSON-RPC 2.0, a message a line, with a program we have started: the ground that ACP stands on.

One thread, no callbacks from elsewhere: while we wait for an answer, what the other side asks is answered and
what it tells is passed on. A line that is no message is not ours to judge and is handed back as it is.
"""

import json
import os
import select
import time
from collections.abc import Callable
from typing import NamedTuple

from holdfast.agents import wire
from holdfast.system.process import Peer

CHUNK = 1 << 16
LONGEST_LINE = 64 << 20
"""Beyond this it is no message, and memory is not endless."""
METHOD_NOT_FOUND = -32601


class RpcError(Exception):
    """An answer that is an error: theirs to us, or ours to them."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Gone(Exception):
    """The other side has closed the conversation."""


class Unanswered(Exception):
    """No answer in time."""


class Stopped(Exception):
    """Somebody asked us to stop."""


class Handlers(NamedTuple):
    asked: Callable[[str, wire.Object], wire.Object]
    """A request of theirs, by method; may raise RpcError."""
    told: Callable[[str, wire.Object], None]
    strange: Callable[[bytes], None]


class Connection:
    def __init__(self, peer: Peer, handlers: Handlers, stop: int) -> None:
        """`stop` is a descriptor that becomes readable when we are to stop."""
        self._peer, self._handlers, self._stop = peer, handlers, stop
        self._heard = bytearray()
        self._searched = 0
        self._last_id = 0

    def call(self, method: str, params: wire.Object, timeout: float | None = None) -> wire.Object:
        """The result; {} for one that is no object. Raises RpcError, Gone, Unanswered or Stopped."""
        return self.answer(self.ask(method, params), timeout)

    def ask(self, method: str, params: wire.Object) -> int:
        self._last_id += 1
        self._send({"id": self._last_id, "method": method, "params": params})
        return self._last_id

    def answer(self, wanted: int, timeout: float | None = None, *, stoppable: bool = True) -> wire.Object:
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            message = self._next(deadline, stoppable)
            if "method" in message:
                self._handle(message)
            elif message.get("id") == wanted:
                return _result(message)

    def tell(self, method: str, params: wire.Object) -> None:
        self._send({"method": method, "params": params})

    def listen(self, quiet: float) -> None:
        """Handle what comes until nothing has come for so long."""
        while True:
            try:
                message = self._next(time.monotonic() + quiet, stoppable=True)
            except Unanswered:
                return
            self._handle(message)

    def _handle(self, message: wire.Object) -> None:
        method, params = wire.text(message, "method"), wire.inner(message, "params")
        if "id" not in message:
            self._handlers.told(method, params)
            return
        try:
            self._send({"id": message["id"], "result": self._handlers.asked(method, params)})
        except RpcError as error:
            self._send({"id": message["id"], "error": {"code": error.code, "message": error.message}})

    def _next(self, deadline: float | None, stoppable: bool) -> wire.Object:
        while True:
            while (line := self._line()) is None:
                self._read(deadline, stoppable)
            if not line.strip():
                continue
            message = wire.parsed(line)
            if "method" in message or "id" in message:
                return message
            self._handlers.strange(line)

    def _line(self) -> bytes | None:
        end = self._heard.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._heard)
            if self._searched > LONGEST_LINE:
                raise Gone(f"it sent a line of more than {LONGEST_LINE >> 20} MiB")
            return None
        line = bytes(self._heard[:end])
        del self._heard[: end + 1]
        self._searched = 0
        return line

    def _read(self, deadline: float | None, stoppable: bool) -> None:
        wait = None if deadline is None else max(0.0, deadline - time.monotonic())
        watched = [self._peer.out, *([self._stop] if stoppable else [])]
        ready = select.select(watched, [], [], wait)[0]
        if self._stop in ready:
            raise Stopped
        if not ready:
            raise Unanswered
        self._take()

    def _take(self) -> None:
        chunk = os.read(self._peer.out, CHUNK)
        if not chunk:
            raise Gone("it ended the conversation")
        self._heard += chunk

    def _send(self, message: wire.Object) -> None:
        """Reading on meanwhile: two sides that both only write would wait for each other for good."""
        pending = memoryview(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        while pending:
            readable, writable, _ = select.select([self._peer.out], [self._peer.to], [])
            if readable:
                self._take()
            if writable:
                pending = pending[self._write(pending) :]

    def _write(self, data: memoryview) -> int:
        try:
            return os.write(self._peer.to, data[:CHUNK])
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            raise Gone("it no longer listens") from None


def _result(message: wire.Object) -> wire.Object:
    error = wire.inner(message, "error")
    if not error:
        return wire.inner(message, "result")
    raise RpcError(wire.count(error, "code"), wire.text(error, "message"), error.get("data"))
