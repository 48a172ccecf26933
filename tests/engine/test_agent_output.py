"""Where the output of an agent goes."""

import json
from pathlib import Path

from holdfast.agents.base import Listener
from holdfast.agents.claude_stream import ClaudeListener
from holdfast.agents.plain import PlainListener
from holdfast.engine.output import LONGEST_EVENT, Output
from holdfast.system.redact import MARK, Secrets

KEY = "sk-ant-" + "a1B2" * 10


class Heard:
    def __init__(self, directory: Path, listener: Listener) -> None:
        self.path = directory / "logs" / "x.log"
        self.shown: list[str] = []
        self.sessions: list[str] = []
        secrets = Secrets.of({"MY_TOKEN": "open sesame"})
        self.output = Output(
            str(self.path), listener, secrets, show=self.shown.append, know=self.sessions.append
        )

    @property
    def log(self) -> str:
        return self.path.read_text()

    @property
    def raw(self) -> str:
        return Path(f"{self.path}.raw").read_text()


def said(text: str) -> bytes:
    message = {"model": "opus", "content": [{"type": "text", "text": text}]}
    return json.dumps({"type": "assistant", "session_id": "ab-cd", "message": message}).encode() + b"\n"


def test_plain_output_is_kept_as_it_is_in_one_log(tmp_path: Path) -> None:
    heard = Heard(tmp_path, PlainListener())
    with heard.output as output:
        output.heard(1, b"one\nt")
        output.heard(1, b"wo\n\n  three")
    assert heard.log == "one\ntwo\n\n  three"
    assert heard.shown == ["one", "two", "  three"]
    assert not Path(f"{heard.path}.raw").exists()


def test_events_are_kept_in_words_and_as_they_came_beside_it(tmp_path: Path) -> None:
    heard = Heard(tmp_path, ClaudeListener())
    events = said("one\n\ntwo") + b'{"type":"system"}\n'
    with heard.output as output:
        output.heard(1, events)
    assert heard.log == "one\ntwo\n"
    assert heard.shown == ["one", "two"]
    assert heard.raw == events.decode()
    assert heard.sessions == ["ab-cd"]


def test_no_secret_reaches_a_log(tmp_path: Path) -> None:
    heard = Heard(tmp_path, ClaudeListener())
    with heard.output as output:
        for byte in said(f"the key is {KEY}, say open sesame"):
            output.heard(1, bytes([byte]))
        output.heard(2, b"warning: open ")
        output.heard(2, b"sesame")
    assert heard.log == f"the key is {MARK}, say {MARK}\nwarning: {MARK}"
    assert KEY not in heard.raw and "open sesame" not in heard.raw


def test_what_it_complains_about_is_in_the_log_and_at_hand(tmp_path: Path) -> None:
    heard = Heard(tmp_path, ClaudeListener())
    with heard.output as output:
        output.heard(2, b"error: no such flag\n")
    assert heard.log == output.stderr == "error: no such flag\n"


def test_an_event_of_megabytes_is_still_read_and_a_longer_one_passed_over(tmp_path: Path) -> None:
    heard = Heard(tmp_path, ClaudeListener())
    with heard.output as output:
        output.heard(1, said("x" * (LONGEST_EVENT // 2)))
        output.heard(1, said("y" * (LONGEST_EVENT + 1)))
        output.heard(1, said("after it"))
    assert [text[:8] for text in heard.shown] == ["x" * 8, "after it"]
