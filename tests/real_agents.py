"""The real programs of Claude Code, Codex and goose, pointed at a model server on loopback.

They come from the dependency group `real-agents` and, for goose, from npm: `make .venv/.real-agents` installs
what can be had. Where one could not be installed, its tests are skipped.
A driver knows how to start its agent without a login, and what its tools are called.
"""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from model_server.turns import Call

WITHOUT = "not installed: make .venv/.real-agents"

_NO_ASIDES = (
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "DISABLE_AUTOUPDATER",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_TELEMETRY",
)
_CODEX_CONFIG = """\
model = "scripted"
model_provider = "loopback"

[model_providers.loopback]
name = "loopback"
base_url = "{url}/v1"
env_key = "LOOPBACK_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1

[features]
plugins = false
apps = false
"""


class Driver(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def free_mode(self) -> str:
        """The permission mode in which every tool may be used."""
        ...

    def program(self) -> Path | None: ...

    def environment(self, url: str, home: Path) -> Mapping[str, str]: ...

    def write(self, path: Path, text: str) -> Call: ...

    def read(self, path: Path) -> Call: ...

    def shell(self, command: str) -> Call: ...


class ReportingDriver(Driver, Protocol):
    def settle(self, home: Path, repository: Path) -> None:
        """Answers what its own interface asks whoever opens it for the first time."""
        ...

    def report(self, **arguments: Any) -> Call:
        """With the tool that Holdfast gives it."""
        ...

    def without_report_server(self) -> str:
        """Arguments with which the server of that tool cannot start."""
        ...


class ClaudeDriver(NamedTuple):
    name: str = "claude"
    free_mode: str = "bypassPermissions"

    def program(self) -> Path | None:
        return _bundled("claude_agent_sdk", "_bundled/claude")

    def environment(self, url: str, home: Path) -> dict[str, str]:
        quiet = dict.fromkeys(_NO_ASIDES, "1")
        return {
            **quiet,
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "IS_SANDBOX": "1",
        }

    def write(self, path: Path, text: str) -> Call:
        return Call("Write", {"file_path": str(path), "content": text})

    def read(self, path: Path) -> Call:
        return Call("Read", {"file_path": str(path)})

    def shell(self, command: str) -> Call:
        return Call("Bash", {"command": command})

    def settle(self, home: Path, repository: Path) -> None:
        answers = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
            "bypassPermissionsModeAccepted": True,
            "projects": {str(repository): {"hasTrustDialogAccepted": True}},
        }
        (home / ".claude.json").write_text(json.dumps(answers))

    def report(self, **arguments: Any) -> Call:
        return Call("mcp__holdfast__report", arguments)

    def without_report_server(self) -> str:
        return """--mcp-config '{"mcpServers": {"holdfast": {"command": "/bin/false"}}}'"""


class CodexDriver(NamedTuple):
    name: str = "codex"
    free_mode: str = "danger-full-access"

    def program(self) -> Path | None:
        return _bundled("codex_cli_bin", "bin/codex")

    def environment(self, url: str, home: Path) -> dict[str, str]:
        directory = home / "codex"
        directory.mkdir(exist_ok=True)
        (directory / "config.toml").write_text(_CODEX_CONFIG.format(url=url))
        return {"CODEX_HOME": str(directory), "LOOPBACK_KEY": "dummy"}

    def write(self, path: Path, text: str) -> Call:
        return self.shell(f"mkdir -p '{path.parent}' && printf '%s' '{text}' > '{path}'")

    def read(self, path: Path) -> Call:
        return self.shell(f"cat '{path}'")

    def shell(self, command: str) -> Call:
        return Call("exec_command", {"cmd": command})

    def settle(self, home: Path, repository: Path) -> None:
        with (home / "codex" / "config.toml").open("a") as config:
            config.write(f'\n[projects."{repository}"]\ntrust_level = "trusted"\n')

    def report(self, **arguments: Any) -> Call:
        return Call("report", arguments, namespace="mcp__holdfast")

    def without_report_server(self) -> str:
        return """-c 'mcp_servers.holdfast.command="/bin/false"'"""


class GooseDriver(NamedTuple):
    """goose stands for every agent that is spoken with by ACP."""

    name: str = "goose"
    free_mode: str = "everything"

    def program(self) -> Path | None:
        packages = Path(sys.prefix, "lib", "goose", "node_modules", "@aaif")
        return next(packages.glob("goose-binary-*/bin/goose"), None)

    def environment(self, url: str, home: Path) -> dict[str, str]:
        return {
            "GOOSE_PROVIDER": "openai",
            "GOOSE_MODEL": "scripted",
            "GOOSE_DISABLE_KEYRING": "1",
            "GOOSE_TELEMETRY_ENABLED": "false",
            "OPENAI_HOST": url,
            "OPENAI_API_KEY": "dummy",
        }

    def write(self, path: Path, text: str) -> Call:
        return Call("write", {"path": str(path), "content": text})

    def read(self, path: Path) -> Call:
        return self.shell(f"cat '{path}'")  # what its own tool reads it does not tell

    def shell(self, command: str) -> Call:
        return Call("shell", {"command": command})


@lru_cache
def version(program: Path) -> str:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=True)
    return f"{program.name}: {said.stdout.strip()}"


DRIVERS: tuple[ReportingDriver, ...] = (ClaudeDriver(), CodexDriver())
WITH_ACP: tuple[Driver, ...] = (*DRIVERS, GooseDriver())


def _bundled(package: str, path: str) -> Path | None:
    """Looked up without importing it: its own dependencies are not installed."""
    spec = importlib.util.find_spec(package)
    places = (spec.submodule_search_locations or []) if spec else []
    return next((found for place in places if (found := Path(place) / path).is_file()), None)
