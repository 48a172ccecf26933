"""A model server on loopback: a scripted conversation for real agent programs, without a key or a network.

    script = [Call("Write", {"file_path": "a.txt", "content": "hello"}), Say("<SUCCESS>done</SUCCESS>")]
    with ModelServer(script) as server:
        ...  # run claude with ANTHROPIC_BASE_URL=server.url, codex with base_url=server.url + "/v1"
        assert len(server.requests) == 2

Each request of the conversation takes the next turn: `Say` a text, `Call` a tool, `Refuse` with a status and
headers, `Hang` until the server closes; `delay` holds an answer back. A function makes its turn when the
request comes, for one that has to name a time. Several agents, one after the other or after a kill, go on in
the same script. Requests beside the conversation (token counts, titles, lists of models) are answered without
taking a turn. When the script is over the answer is 400, which no agent retries.
"""

import json
import threading
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from model_server import chat_api, messages_api, responses_api
from model_server.turns import Call, Hang, Refuse, Say, Turn

Scripted = Turn | Callable[[], Turn]
OVER = Refuse(400, "invalid_request_error", "the script is over")


class Request(NamedTuple):
    path: str
    headers: dict[str, str]
    """By lower-case name."""
    body: dict[str, Any]


class ModelServer:
    def __init__(self, script: Iterable[Scripted] = ()) -> None:
        self._script = list(script)
        self._changed = threading.Condition()
        self.closing = threading.Event()
        self.requests: list[Request] = []
        """Those of the conversation, in order."""
        self.asides: list[Request] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def then(self, *turns: Scripted) -> None:
        """More at the end of the script."""
        self._script += turns

    def next_turn(self, request: Request) -> tuple[int, Turn]:
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
            number = len(self.requests)
        turn = self._script[number - 1] if number <= len(self._script) else OVER
        return number, turn() if callable(turn) else turn

    def wait_for_requests(self, count: int, timeout: float = 30.0) -> None:
        """Until so many have come; a conversation that stalls is a test that fails."""
        with self._changed:
            came = self._changed.wait_for(lambda: len(self.requests) >= count, timeout)
        assert came, f"{len(self.requests)} of {count} requests came within {timeout:g} s"

    def __enter__(self) -> "ModelServer":
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()


def _handler_for(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        model_server = server

    return Handler


class _Handler(BaseHTTPRequestHandler):
    model_server: ModelServer

    def do_GET(self) -> None:
        self.model_server.asides.append(self._request({}))
        self._send_json(200, {"data": [], "models": []})

    def do_POST(self) -> None:
        request = self._request(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        for api in (messages_api, responses_api, chat_api):
            if api.answers(request.path, request.body):
                self._answer(api, request)
                return
        self.model_server.asides.append(request)
        if request.path == chat_api.PATH and request.body.get("stream"):
            self._send_stream(b"".join(chat_api.stream(Say("aside"), 0, "")))
        else:
            self._send_json(200, messages_api.side_request(request.path))

    def _request(self, body: dict[str, Any]) -> Request:
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Request(self.path.partition("?")[0], headers, body)

    def _answer(self, api: Any, request: Request) -> None:
        number, turn = self.model_server.next_turn(request)
        match turn:
            case Refuse():
                self._send_json(turn.status, api.error_body(turn), turn.headers)
            case Hang():
                self.model_server.closing.wait()
            case Say() | Call():
                self.model_server.closing.wait(turn.delay)
                self._send_stream(b"".join(api.stream(turn, number, request.body.get("model", ""))))

    def _send_json(self, status: int, body: dict[str, Any], headers: Iterable[tuple[str, str]] = ()) -> None:
        self._send(status, "application/json", json.dumps(body).encode(), headers)

    def _send_stream(self, data: bytes) -> None:
        self._send(200, "text/event-stream", data, ())

    def _send(self, status: int, kind: str, data: bytes, headers: Iterable[tuple[str, str]]) -> None:
        try:
            self.send_response(status)
            for name, value in (("content-type", kind), ("content-length", str(len(data))), *headers):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            return  # the agent was killed: what a test is often about

    def log_message(self, format: str, *args: object) -> None:
        """A test's output is for the test."""
