"""Flags, environment and TOML files → one frozen Config that knows where each value came from.

The first that speaks wins: flag, environment, project file, user file, dialect preset, default.
"""

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from holdfast.errors import ConfigError
from holdfast.model.fitting import accept, accept_text, shown, unfit
from holdfast.model.policy import Commits, Mode, OnFailure, OnInterrupt, Order, Policy
from holdfast.model.settings import SETTINGS, Kind, Setting, Value
from holdfast.model.spelling import nearest

FILE = "holdfast.toml"
PYPROJECT = "pyproject.toml"
PREFIX = "HOLDFAST_"
NOT_SETTINGS = frozenset(
    PREFIX + name for name in ("TASK_ID", "TASK_TITLE", "ATTEMPT", "PLAN", "RUN", "PROMPT_FILE", "TOKEN")
)
"""What Holdfast tells the agent: a run started by an agent inherits it, and it configures nothing."""
FAULT_PREFIX = "HOLDFAST_FAULT"
NAMED_AGENTS = ("claude", "codex", "gemini", "opencode", "goose", "qwen", "copilot", "acp")
_TAKEN_BY = {
    "model": NAMED_AGENTS,
    "permission_mode": NAMED_AGENTS,
    "agent_args": NAMED_AGENTS,
    "max_turns": ("claude",),
}
"""Which agents have a use for a setting; the others are for all."""

_IMPLIED = (
    ("agent_cmd", "agent", "command"),
    ("script", "agent", "scripted"),
    ("review.command", "review.agent", "command"),
)

_BY_KEY = {setting.key: setting for setting in SETTINGS}
_BY_ENV = {setting.env: setting for setting in SETTINGS}
_TABLES = {key.partition(".")[0] for key in _BY_KEY if "." in key}


class Config(NamedTuple):
    agent: str
    agent_cmd: str
    script: str
    """Absolute path, or ""."""
    model: str
    permission_mode: str
    max_turns: int
    agent_args: tuple[str, ...]
    report_tool: bool
    existing_build: str
    """`continue`, or `ask` on a terminal."""
    review_agent: str
    review_command: str
    review_model: str
    policy: Policy
    origin: dict[str, str]
    """Setting → where its value came from: `flag --agent`, `HOLDFAST_AGENT`, `holdfast.toml:3`, `default`."""

    @property
    def agent_in_words(self) -> str:
        match self.agent:
            case "command":
                return self.agent_cmd
            case "scripted":
                return self.script
        mode = f"permission mode {self.permission_mode}" if self.permission_mode else ""
        model = f"model {self.model}" if self.model else ""
        return ", ".join(filter(None, (self.agent, model, mode, " ".join(self.agent_args))))


class _Given(NamedTuple):
    value: Value
    origin: str


_Layer = dict[str, _Given]


class _Source(NamedTuple):
    """A TOML file with settings for us in it."""

    label: str
    text: str
    table: str
    """Where our settings stand: "" for the whole file, "tool.holdfast" in pyproject.toml."""
    settings: dict[str, object]
    base: str
    """The directory its relative paths start from."""


def load_config(
    repo_root: str,
    environ: Mapping[str, str],
    flags: Mapping[str, object],
    preset: Mapping[str, Value] | None = None,
) -> Config:
    """`flags` are named as argparse names them; None means not given, and other names are ignored.

    `preset` holds the dialect's own choices by setting key. Raises ConfigError, never anything else.
    """
    layers = (
        {setting.key: _Given(setting.default, "default") for setting in SETTINGS},
        {key: _Given(value, "plan dialect") for key, value in (preset or {}).items()},
        _from_source(_user_source(environ)),
        _from_source(_project_source(repo_root)),
        _from_environment(environ),
        _from_flags(flags),
    )
    chosen: _Layer = {}
    for layer in layers:
        chosen |= _with_implied_agent(layer)
    return _config(chosen, flags)


def has_shared_settings(repo_root: str) -> bool:
    """pyproject.toml configures this project: a holdfast.toml beside it would be refused."""
    return _shared_source(repo_root) is not None


def _project_source(repo_root: str) -> _Source | None:
    """The one project file with settings; two of them would make it unclear which rules."""
    own = _read_source(os.path.join(repo_root, FILE), FILE, "")
    shared = _shared_source(repo_root)
    if own and shared:
        raise ConfigError(
            f"both {FILE} and [tool.holdfast] in {PYPROJECT} configure this project",
            fix=f"keep {FILE}: move the settings of [tool.holdfast] into it, then remove that table",
        )
    return own or shared


def _shared_source(repo_root: str) -> _Source | None:
    return _read_source(os.path.join(repo_root, PYPROJECT), PYPROJECT, "tool.holdfast")


def _user_source(environ: Mapping[str, str]) -> _Source | None:
    directory = environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(directory):  # the XDG rules say to ignore a relative one
        directory = os.path.join(environ.get("HOME", ""), ".config")
    path = os.path.join(directory, "holdfast", "config.toml")
    return _read_source(path, path, "") if os.path.isabs(path) else None


def _read_source(path: str, label: str, table: str) -> _Source | None:
    text = _read_text(path, label)
    if text is None or table.rpartition(".")[2] not in text:
        return None
    settings: object = _parse(text, label)
    for name in filter(None, table.split(".")):
        settings = settings.get(name) if isinstance(settings, dict) else None
    if settings is None:
        return None
    if not isinstance(settings, dict):
        raise ConfigError(f"{label}: {table} is {shown(settings)}", fix=f"make it a table: [{table}]")
    return _Source(label, text, table, settings, os.path.dirname(path))


def _read_text(path: str, label: str) -> str | None:
    try:
        with open(path, "rb") as file:
            data = file.read()
        return data.decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(
            f"{label}: cannot be read: {error.strerror}", fix=f"make {path} a readable file, or remove it"
        ) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{label}:{line}: not UTF-8 text", fix="save the file as UTF-8") from None


def _parse(text: str, label: str) -> dict[str, object]:
    import re
    import tomllib  # half a start of the interpreter; most runs have no file to read

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", str(error))
        where = f"{label}:{found[2]}" if found else label
        what = f"{found[1]} (column {found[3]})" if found else str(error)
        raise ConfigError(f"{where}: not valid TOML: {what}", fix="correct that line") from None


def _from_source(source: _Source | None) -> _Layer:
    if source is None:
        return {}
    return {key: _given(source, key, value) for key, value in _flat(source.settings, "")}


def _flat(table: dict[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    for name, value in table.items():
        key = prefix + name
        if isinstance(value, dict) and (value or key in _TABLES):
            yield from _flat(value, key + ".")
        else:
            yield key, value


def _given(source: _Source, key: str, found: object) -> _Given:
    line = _line_of(source.text, f"{source.table}.{key}".lstrip("."))
    where = f"{source.label}:{line}" if line else source.label
    setting = _BY_KEY.get(key)
    if setting is None:
        raise _unknown_key(where, key)
    value = accept(setting, found)
    if value is None:
        raise unfit(f"{where}: {key}", setting, found)
    return _Given(_resolved(setting, value, source.base), where)


def _line_of(text: str, key: str) -> int:
    """The line that sets a key; 0 when it cannot be told for sure (inline tables, look-alikes in strings)."""
    table, found = "", []
    for number, line in enumerate(text.split("\n"), start=1):
        name, equals, _ = line.partition("=")
        if line.lstrip().startswith("["):
            table = line.strip().lstrip("[").partition("]")[0].strip()
            found += [number] * (table == key)
        elif equals and ".".join(filter(None, (table, name.strip().strip("\"'")))) == key:
            found.append(number)
    return found[0] if len(found) == 1 else 0


def _unknown_key(where: str, key: str) -> ConfigError:
    if key in _TABLES:
        return ConfigError(f"{where}: {key} is a table", fix=f"write [{key}] and its settings below it")
    leaf = key.rpartition(".")[2]
    near = leaf if leaf in _BY_KEY else nearest(key, (*_TABLES, *_BY_KEY))
    fix = f"did you mean {_placed(near)}?" if near else f"the settings are: {', '.join(_BY_KEY)}"
    return ConfigError(f"{where}: there is no setting `{key}`", fix=fix)


def _placed(key: str) -> str:
    table, _, name = key.rpartition(".")
    if key in _TABLES:
        return f"[{key}]"
    return f"`{name}` in [{table}]" if table else f"`{name}`, above the first [table]"


def _resolved(setting: Setting, value: Value, base: str) -> Value:
    is_path = setting.kind is Kind.PATH and isinstance(value, str) and value
    return os.path.abspath(os.path.join(base, str(value))) if is_path else value


def _from_environment(environ: Mapping[str, str]) -> _Layer:
    layer: _Layer = {}
    for name in filter(_is_setting, environ):
        setting = _BY_ENV.get(name)
        if setting is None:
            near = nearest(name, _BY_ENV)
            fix = f"did you mean {near}?" if near else f"unset {name}; the names are: {', '.join(_BY_ENV)}"
            raise ConfigError(f"the environment variable {name} is no setting of Holdfast", fix=fix)
        if environ[name]:
            layer[setting.key] = _from_text(setting, environ[name], f"the environment variable {name}", name)
    return layer


def _is_setting(name: str) -> bool:
    return name.startswith(PREFIX) and name not in NOT_SETTINGS and not name.startswith(FAULT_PREFIX)


def _from_flags(flags: Mapping[str, object]) -> _Layer:
    layer: _Layer = {}
    for setting in filter(lambda setting: setting.flag, SETTINGS):
        found = flags.get(setting.flag.removeprefix("--").replace("-", "_"))
        if isinstance(found, str):
            layer[setting.key] = _from_text(setting, found, setting.flag, f"flag {setting.flag}")
        elif found is not None:
            value = accept(setting, found)
            if value is None:
                raise unfit(setting.flag, setting, found)
            layer[setting.key] = _Given(value, f"flag {setting.flag}")
    return layer


def _from_text(setting: Setting, text: str, name: str, origin: str) -> _Given:
    value = accept_text(setting, text)
    if value is None:
        raise unfit(name, setting, text)
    return _Given(_resolved(setting, value, os.getcwd()), origin)


def _with_implied_agent(layer: _Layer) -> _Layer:
    """`--agent-cmd X` means that command, even where a file further down names another agent."""
    implied = dict(layer)
    for key, setting, agent in _IMPLIED:
        if setting not in layer and key in layer:
            implied.setdefault(setting, _Given(agent, layer[key].origin))
    return implied


def _refuse_useless_flags(agent: str, origin: Mapping[str, str]) -> None:
    """In a file they wait for the agent they are meant for; typed, they are a mistake."""
    for key, takers in _TAKEN_BY.items():
        if agent.partition(":")[0] not in takers and origin[key].startswith("flag "):
            flag = origin[key].removeprefix("flag ")
            raise ConfigError(
                f"{flag} means nothing to the agent {agent}",
                fix=f"name one that takes it: --agent {' or '.join(takers)}",
            )


def _config(chosen: _Layer, flags: Mapping[str, object]) -> Config:
    fields: dict[str, Any] = {s.field: chosen[s.key].value for s in SETTINGS if s.field}
    for name in ("allow_dirty", "only", "until"):  # choices for one run, never for a file
        if flags.get(name) is not None:
            fields[name] = flags[name]
    fields["on_interrupt"] = OnInterrupt(fields["on_interrupt"])
    fields["on_failure"] = OnFailure(fields["on_failure"])
    fields["commits"] = Commits(fields["commits"])
    fields["mode"] = Mode(fields["mode"])
    fields["order"] = Order(fields["order"])
    own: dict[str, Any] = {s.key.replace(".", "_"): chosen[s.key].value for s in SETTINGS if not s.field}
    origin = {key: given.origin for key, given in chosen.items()}
    _refuse_useless_flags(own["agent"], origin)
    return Config(**own, policy=Policy()._replace(**fields), origin=origin)
