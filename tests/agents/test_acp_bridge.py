"""The program between the runner and an agent that speaks ACP, with a real agent process behind it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acp_stand_in import STAND_IN, heard, stand_in

Object = dict[str, Any]
DONE = ["say", "<SUCCESS>done</SUCCESS>"]
OPTIONS = [
    {"optionId": "always", "kind": "allow_always", "name": "Always"},
    {"optionId": "yes", "kind": "allow_once", "name": "Yes"},
    {"optionId": "no", "kind": "reject_once", "name": "No"},
]
MODEL = {"id": "model", "category": "model", "type": "select", "currentValue": "a", "options": []}


class Bridge:
    """Starts the bridge with the stand-in behind it, and keeps what both said."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.workspace = directory / "workspace"
        (self.workspace / ".git").mkdir(parents=True)

    def start(
        self, *steps: list[Any], mode: str = "edits", model: str = "", resume: str = "", **script: Any
    ) -> "subprocess.Popen[bytes]":
        stand_in(self.directory, *steps, **script)
        words = (mode, "read", model, resume, *STAND_IN, str(self.directory / "acp-script.json"))
        return self.start_with(*words)

    def start_with(self, *words: str) -> "subprocess.Popen[bytes]":
        argv = (sys.executable, "-P", "-m", "holdfast.agents.acp_bridge", *words)
        pipe = subprocess.PIPE
        process = subprocess.Popen(argv, cwd=self.workspace, stdin=pipe, stdout=pipe, stderr=pipe)
        assert process.stdin
        process.stdin.write(b"Make it.\n")
        process.stdin.close()
        process.stdin = None
        return process

    def run(self, *steps: list[Any], **how: Any) -> list[Object]:
        return self.end(self.start(*steps, **how))

    def end(self, process: "subprocess.Popen[bytes]") -> list[Object]:
        out, err = process.communicate(timeout=60)
        self.stderr, self.exit_code = err.decode(), process.returncode
        return [json.loads(line) for line in out.splitlines()]

    def sent(self, method: str) -> Object:
        (message,) = (message for message in heard(self.directory) if message.get("method") == method)
        params: Object = message["params"]
        return params

    def answer(self, question: int = 1) -> Object:
        return next(message for message in heard(self.directory) if message.get("id") == f"ask-{question}")


@pytest.fixture
def bridge(tmp_path: Path) -> Bridge:
    return Bridge(tmp_path)


def names(events: list[Object]) -> list[str]:
    return [event["event"] for event in events]


def test_a_turn_from_the_prompt_to_its_end(bridge: Bridge) -> None:
    events = bridge.run(DONE, ["stop", "end_turn", {"usage": {"inputTokens": 7}}])
    assert names(events) == ["agent", "session", "update", "ended"]
    assert events[0] == {"event": "agent", "name": "stand-in", "version": "1", "protocol": 1}
    assert events[1] == {"event": "session", "session": "new-one", "resumed": False, "lost": ""}
    assert events[3] == {"event": "ended", "stopReason": "end_turn", "usage": {"inputTokens": 7}}
    assert bridge.exit_code == 0
    assert bridge.sent("session/new") == {"cwd": str(bridge.workspace), "mcpServers": []}
    assert bridge.sent("session/prompt")["prompt"] == [{"type": "text", "text": "Make it.\n"}]


def edit(path: str) -> Object:
    return {"toolCallId": "c", "kind": "edit", "title": "edit", "locations": [{"path": path}]}


@pytest.mark.parametrize(
    ("mode", "chosen"),
    [
        ("read-only", ["no", "no", "no"]),
        ("edits", ["yes", "no", "no"]),
        ("everything", ["yes", "yes", "yes"]),
    ],
)
def test_who_asks_is_answered_by_the_mode_and_never_for_good(
    bridge: Bridge, mode: str, chosen: list[str]
) -> None:
    command = {"toolCallId": "c", "kind": "execute", "rawInput": {"command": "make"}}
    calls = (edit("a.txt"), edit("../a.txt"), command)
    asking = [["ask", "session/request_permission", {"toolCall": c, "options": OPTIONS}] for c in calls]
    events = bridge.run(*asking, DONE, mode=mode)
    answers = [bridge.answer(number)["result"]["outcome"] for number in (1, 2, 3)]
    assert answers == [{"outcome": "selected", "optionId": option} for option in chosen]
    told = [event["allowed"] for event in events if event["event"] == "permission"]
    assert told == [option == "yes" for option in chosen]


def test_a_question_that_names_a_call_only_is_about_what_was_told_of_it(bridge: Bridge) -> None:
    update = {"sessionUpdate": "tool_call", **edit("a.txt")}
    question = {"toolCall": {"toolCallId": "c", "kind": None}, "options": OPTIONS}
    bridge.run(["update", update], ["ask", "session/request_permission", question])
    assert bridge.answer()["result"]["outcome"]["optionId"] == "yes"


def test_a_question_without_a_fitting_answer_is_cancelled(bridge: Bridge) -> None:
    question = {"toolCall": edit("../a.txt"), "options": OPTIONS[:2]}
    bridge.run(["ask", "session/request_permission", question])
    assert bridge.answer()["result"] == {"outcome": {"outcome": "cancelled"}}


def test_files_are_read_and_written_below_the_workspace(bridge: Bridge) -> None:
    path = str(bridge.workspace / "new" / "a.txt")
    write = ["ask", "fs/write_text_file", {"path": path, "content": "one\ntwo\r\nthree"}]
    events = bridge.run(write, ["ask", "fs/read_text_file", {"path": path, "line": 2, "limit": 1}])
    assert Path(path).read_bytes() == b"one\ntwo\r\nthree"
    assert bridge.answer(2)["result"] == {"content": "two\r\n"}
    assert {"event": "file", "path": path, "refused": ""} in events


@pytest.mark.parametrize("mode", ["read-only", "edits", "everything"])
def test_no_file_is_written_elsewhere_in_any_mode(bridge: Bridge, mode: str) -> None:
    (bridge.workspace / "link").symlink_to(bridge.directory)
    places = ("../outside", "link/outside", ".git/config", "a/.git/hooks/x")
    paths = [str(bridge.directory / "outside"), *(str(bridge.workspace / place) for place in places)]
    asking = [["ask", "fs/write_text_file", {"path": path, "content": "x"}] for path in paths]
    events = bridge.run(*asking, mode=mode)
    assert [event["path"] for event in events if event.get("refused")] == paths
    assert all("error" in bridge.answer(number) for number in range(1, len(paths) + 1))
    assert not any(map(os.path.exists, paths))


def test_nothing_is_written_where_only_reading_is_allowed(bridge: Bridge) -> None:
    path = bridge.workspace / "a.txt"
    bridge.run(["ask", "fs/write_text_file", {"path": str(path), "content": "x"}], mode="read-only")
    assert "read-only" in bridge.answer()["error"]["message"] and not path.exists()


@pytest.mark.parametrize(
    ("name", "content", "code"), [("none.txt", None, -32002), ("latin.txt", b"caf\xe9", -32603)]
)
def test_what_cannot_be_read_as_text_is_an_error_and_not_half_a_text(
    bridge: Bridge, name: str, content: bytes | None, code: int
) -> None:
    path = bridge.workspace / name
    if content is not None:
        path.write_bytes(content)
    bridge.run(["ask", "fs/read_text_file", {"path": str(path)}])
    assert bridge.answer()["error"]["code"] == code


def test_what_is_not_offered_is_refused(bridge: Bridge) -> None:
    events = bridge.run(["ask", "terminal/create", {"command": "sh"}])
    assert bridge.sent("initialize")["clientCapabilities"]["terminal"] is False
    assert bridge.answer()["error"]["code"] == -32601
    assert names(events)[-1] == "ended"


RESUME = {"sessionCapabilities": {"resume": {}}, "loadSession": True}
LOAD = {"loadSession": True}
PAST = [
    {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "<FAILURE>old</FAILURE>"}}
]


@pytest.mark.parametrize(
    ("able", "errors", "method"),
    [
        (RESUME, {}, "session/resume"),
        (LOAD, {}, "session/load"),
        (RESUME, {"session/resume": {"code": -32601, "message": "no such method"}}, "session/load"),
    ],
)
def test_a_conversation_is_gone_on_with_and_its_past_is_not_heard_again(
    bridge: Bridge, able: Object, errors: Object, method: str
) -> None:
    events = bridge.run(DONE, able=able, errors=errors, past=PAST, resume="old-one")
    assert bridge.sent(method)["sessionId"] == "old-one"
    assert bridge.sent("session/prompt")["sessionId"] == "old-one"
    assert events[1] == {"event": "session", "session": "old-one", "resumed": True}
    assert "old</FAILURE>" not in json.dumps(events)


@pytest.mark.parametrize(
    ("able", "errors"), [({}, {}), (LOAD, {"session/load": {"code": -32002, "message": "no such session"}})]
)
def test_one_that_cannot_be_gone_on_with_is_begun_anew(bridge: Bridge, able: Object, errors: Object) -> None:
    events = bridge.run(DONE, able=able, errors=errors, resume="old-one")
    assert events[1] == {"event": "session", "session": "new-one", "resumed": False, "lost": "old-one"}
    assert names(events)[-1] == "ended"


@pytest.mark.parametrize("during", ["session/load", "session/new", "session/prompt"])
def test_a_login_that_is_missing_is_an_error_wherever_it_is_told(bridge: Bridge, during: str) -> None:
    errors = {during: {"code": -32000, "message": "Authentication required"}}
    events = bridge.run(DONE, able=LOAD, errors=errors, resume="old-one" if "load" in during else "")
    told = {"during": during, "code": -32000, "message": "Authentication required", "data": None}
    assert events[-1] == {"event": "error", **told}
    assert bridge.exit_code == 1


@pytest.mark.parametrize(
    ("offered", "method", "named"),
    [
        ({"configOptions": [MODEL]}, "session/set_config_option", {"configId": "model", "value": "big"}),
        ({}, "session/set_model", {"modelId": "big"}),
    ],
)
def test_a_model_is_chosen_in_the_way_that_is_offered(
    bridge: Bridge, offered: Object, method: str, named: Object
) -> None:
    bridge.run(DONE, offered=offered, model="big")
    assert bridge.sent(method) == {"sessionId": "new-one", **named}


def test_a_model_that_is_not_to_be_had_ends_it_before_the_prompt(bridge: Bridge) -> None:
    errors = {"session/set_model": {"code": -32602, "message": "no such model"}}
    events = bridge.run(DONE, errors=errors, model="big")
    assert names(events) == ["agent", "session", "error"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_asked_to_stop_it_lets_the_agent_cancel(bridge: Bridge, number: signal.Signals) -> None:
    process = bridge.start(["sh", "touch begun"], ["until cancelled"])
    wait_for((bridge.workspace / "begun").exists)
    process.send_signal(number)
    assert bridge.end(process)[-1] == {"event": "ended", "stopReason": "cancelled"}
    assert bridge.sent("session/cancel") == {"sessionId": "new-one"}


def test_an_agent_that_does_not_cancel_is_ended(bridge: Bridge) -> None:
    process = bridge.start(["sh", "touch begun"], ["hang"])
    wait_for((bridge.workspace / "begun").exists)
    process.send_signal(signal.SIGTERM)
    assert "ended" not in names(bridge.end(process))
    assert bridge.exit_code == 1


def test_asked_to_stop_before_the_prompt_it_says_so_by_its_status(bridge: Bridge) -> None:
    process = bridge.start_with("edits", "", "", "", "sh", "-c", "touch begun; exec tail -f /dev/null")
    wait_for((bridge.workspace / "begun").exists)
    process.send_signal(signal.SIGTERM)
    assert bridge.end(process) == [] and bridge.exit_code == 128 + signal.SIGTERM


def test_a_program_that_cannot_be_started_is_an_error(bridge: Bridge) -> None:
    (event,) = bridge.end(bridge.start_with("edits", "", "", "", "no-such-agent"))
    assert (event["during"], event["message"]) == ("start", "no-such-agent: No such file or directory")


def test_an_agent_that_dies_is_told_with_how(bridge: Bridge) -> None:
    assert bridge.run(["exit", 3])[-1]["exit_code"] == 3
    assert bridge.run(["kill", int(signal.SIGKILL)])[-1]["signal"] == 9


def test_what_is_no_message_is_kept_for_whoever_looks_for_the_reason(bridge: Bridge) -> None:
    events = bridge.run(["print", "Warning: deprecated"], ["print", ""], DONE)
    assert "Warning: deprecated\n" in bridge.stderr
    assert names(events)[-1] == "ended"


def test_another_protocol_version_is_refused(bridge: Bridge) -> None:
    events = bridge.run(DONE, protocol=2)
    assert events[-1]["message"] == "it speaks version 2 of the protocol, not 1"


def test_a_program_that_speaks_something_else_is_an_error(bridge: Bridge) -> None:
    events = bridge.end(bridge.start_with("edits", "", "", "", "cat"))
    assert (events[-1]["event"], events[-1]["during"]) == ("error", "initialize")


def test_both_sides_may_send_much_at_once(bridge: Bridge) -> None:
    path = bridge.workspace / "big.txt"
    path.write_text("x" * 3_000_000)
    question = f'{{"jsonrpc":"2.0","id":"big","method":"fs/read_text_file","params":{{"path":"{path}"}}}}'
    flood = ["print", "\n".join([question, "noise" * 200_000])]
    assert names(bridge.run(flood, DONE))[-1] == "ended"


def test_what_is_told_is_bounded_and_keeps_its_end(bridge: Bridge) -> None:
    events = bridge.run(["say", "x" * 300_000 + "<SUCCESS>done</SUCCESS>"])
    text = events[2]["update"]["content"]["text"]
    assert len(text) == 1 << 16 and text.endswith("<SUCCESS>done</SUCCESS>")


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
