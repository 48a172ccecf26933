"""Reads a script from its TOML file, checked completely before anything is played."""

from signal import Signals
from typing import Any

from holdfast.agents.script import VERBS, Action, Part, Script, Turn
from holdfast.errors import ConfigError, UsageError

_KIND_NAMES: dict[object, str] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
}


def load_script(path: str) -> Script:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
    except OSError as error:
        raise UsageError(
            f"The agent's script {path} cannot be read: {error.strerror}.",
            fix="Name a script that exists; docs/SCRIPTED_AGENT.md shows one.",
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start})") from error
    return parse_script(text, path)


def parse_script(text: str, path: str) -> Script:
    import tomllib  # only whoever plays or checks a script needs it

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    _known_keys(document, ("tasks", "default"), path)
    default = _attempts(document["default"], f"{path}: default") if "default" in document else ()
    tasks = _table(document.get("tasks", {}), f"{path}: tasks")
    parsed = {id_: _attempts(table, f'{path}: tasks."{id_}"') for id_, table in tasks.items()}
    return Script(path, parsed, default)


def _attempts(value: object, where: str) -> tuple[Part, ...]:
    table = _table(value, where)
    common = {key: item for key, item in table.items() if key != "attempts"}
    if "attempts" not in table:
        return (_part(common, where),)
    attempts = _list(table["attempts"], f"{where}.attempts")
    return tuple(
        _part(common | _table(item, place), place)
        for place, item in ((f"{where}.attempts[{n}]", item) for n, item in enumerate(attempts, 1))
    )


def _part(table: dict[str, object], where: str) -> Part:
    _known_keys(table, Part._fields, where)
    kinds = Part.__annotations__
    values = {
        key: _value(item, kinds[key], f"{where}.{key}") for key, item in table.items() if key != "actions"
    }
    actions = _list(table.get("actions", []), f"{where}.actions", may_be_empty=True)
    turns = tuple(_turn(item, f"{where}.actions[{n}]") for n, item in enumerate(actions, 1))
    return Part()._replace(actions=turns, **values)


def _turn(value: object, where: str) -> Turn:
    table = _table(value, where)
    verbs = [key for key in table if key in VERBS]
    if len(verbs) != 1:
        unknown = f'unknown action "{next(iter(table))}"' if table else "no action"
        found = f"two actions in one table ({', '.join(verbs)})" if verbs else unknown
        raise ConfigError(f"{where}: {found}", fix=f"Known actions: {', '.join(VERBS)}.")
    return Turn(_action(verbs[0], table, where), _repeat(table.get("repeat", 1), f"{where}.repeat"))


def _action(verb: str, table: dict[str, object], where: str) -> Action:
    shape = VERBS[verb]
    subject, *options = shape._fields
    _known_keys(table, (verb, *options, "repeat"), where)
    kinds = shape.__annotations__
    given = {subject if key == verb else key: key for key in table if key != "repeat"}
    values = {field: _value(table[key], kinds[field], f"{where}.{key}") for field, key in given.items()}
    return shape._make({**shape._field_defaults, **values}[field] for field in shape._fields)


def _repeat(value: object, where: str) -> int:
    if type(value) is int and value > 0:
        return value
    raise ConfigError(f"{where}: expected a whole number above 0, found {value!r}")


def _value(value: object, kind: object, where: str) -> Any:
    """Only exactly the right type: TOML has no need for `true` as a number or 1 as a text."""
    if kind is Signals:
        return _signal(value, where)
    if kind is float:
        return _seconds(value, where)
    if kind == tuple[str, ...]:
        return tuple(_value(item, str, where) for item in _list(value, where))
    if type(value) is kind:
        return value
    raise ConfigError(f"{where}: expected {_KIND_NAMES[kind]}, found {value!r}")


def _signal(value: object, where: str) -> Signals:
    name = f"SIG{value}"
    if name not in Signals.__members__:
        raise ConfigError(f'{where}: expected the name of a signal such as "KILL", found {value!r}')
    return Signals[name]


def _seconds(value: object, where: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9:
        return float(value)
    raise ConfigError(f"{where}: expected seconds, found {value!r}")


def _known_keys(table: dict[str, object], known: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in known:
            raise ConfigError(f'{where}: unknown key "{key}"', fix=f"Known keys: {', '.join(known)}.")


def _table(value: object, where: str) -> dict[str, object]:
    if isinstance(value, dict):
        return value
    raise ConfigError(f"{where}: expected a table, found {value!r}")


def _list(value: object, where: str, *, may_be_empty: bool = False) -> list[object]:
    if isinstance(value, list) and (value or may_be_empty):
        return value
    raise ConfigError(f"{where}: expected a list with something in it, found {value!r}")
