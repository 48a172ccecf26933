"""An agent that speaks ACP and does what a script says, for tests: `python acp_stand_in.py SCRIPT`.

The script is JSON: `able`, `offered` and `errors` are what it answers with, `past` what it repeats when a
conversation is loaded, `steps` what it does when it is prompted; `heard` names a file to which it writes all
it is sent. Steps are lists: a verb and its arguments, see `_perform`.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

Object = dict[str, Any]
STAND_IN = (sys.executable, __file__)


def stand_in(directory: Path, *steps: list[Any], **script: Any) -> str:
    """Writes the script; returns the command line of the agent that follows it."""
    path = directory / "acp-script.json"
    path.write_text(json.dumps({"steps": steps, "heard": str(directory / "heard.jsonl"), **script}))
    return f"acp:{STAND_IN[0]} {STAND_IN[1]} {path}"


def heard(directory: Path) -> list[Object]:
    """What the stand-in was sent."""
    return [json.loads(line) for line in (directory / "heard.jsonl").read_text().splitlines()]


class _Agent:
    def __init__(self, script: Object) -> None:
        self._script = script
        self._asked = 0

    def serve(self) -> None:
        while True:
            message = self._hear()
            if "id" in message and "method" in message:
                self._answer(message)

    def _hear(self) -> Object:
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        with open(self._script["heard"], "a") as file:
            file.write(line)
        message: Object = json.loads(line)
        return message

    def _answer(self, message: Object) -> None:
        method, error = message["method"], self._script.get("errors", {}).get(message["method"])
        if error:
            self._send(id=message["id"], error=error)
            return
        if method == "session/load":
            for update in self._script.get("past", []):
                self._update(update)
        result = self._prompted(message["params"]) if method == "session/prompt" else self._result(method)
        if result is not None:
            self._send(id=message["id"], **result)

    def _result(self, method: str) -> Object:
        match method:
            case "initialize":
                able = self._script.get("able", {})
                info = {"name": self._script.get("name", "stand-in"), "version": "1"}
                version = self._script.get("protocol", 1)
                return {"result": {"protocolVersion": version, "agentCapabilities": able, "agentInfo": info}}
            case "session/new":
                return {"result": {"sessionId": "new-one", **self._script.get("offered", {})}}
        return {"result": self._script.get("offered", {})}

    def _prompted(self, params: Object) -> Object | None:
        prompt = params["prompt"][0]["text"]
        for verb, *words in self._script["steps"]:
            answer = self._perform(verb, words, prompt)
            if answer:
                return answer
        return {"result": {"stopReason": "end_turn"}}

    def _perform(self, verb: str, words: list[Any], prompt: str) -> Object | None:
        match verb:
            case "say":
                content = {"type": "text", "text": words[0]}
                self._update({"sessionUpdate": "agent_message_chunk", "content": content})
            case "update":
                self._update(words[0])
            case "ask":
                self._ask(*words)
            case "sh":
                subprocess.run(["sh", "-c", words[0]], input=prompt.encode(), check=True)
            case "print":
                print(words[0], flush=True)
            case "stop":
                return {"result": {"stopReason": words[0], **(words[1] if len(words) > 1 else {})}}
            case "error":
                return {"error": words[0]}
            case "exit":
                sys.exit(words[0])
            case "kill":
                os.kill(os.getpid(), words[0])
            case "until cancelled":
                while self._hear().get("method") != "session/cancel":
                    continue
                return {"result": {"stopReason": "cancelled"}}
            case "hang":
                time.sleep(600)
        return None

    def _ask(self, method: str, params: Object) -> None:
        """And wait for the answer; what it was is in the file of what was heard."""
        self._asked += 1
        self._send(id=f"ask-{self._asked}", method=method, params={"sessionId": "new-one", **params})
        while self._hear().get("id") != f"ask-{self._asked}":
            continue

    def _update(self, update: Object) -> None:
        self._send(method="session/update", params={"sessionId": "new-one", "update": update})

    def _send(self, **message: Any) -> None:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


if __name__ == "__main__":
    _Agent(json.loads(Path(sys.argv[1]).read_text())).serve()
