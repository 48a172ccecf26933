"""Which values fit a setting, whether they come from a TOML file or as text, and what to say of others."""

from holdfast.errors import ConfigError
from holdfast.model.settings import Kind, Setting, Value


def accept(setting: Setting, value: object) -> Value | None:
    """The value as the setting wants it, None when it does not fit."""
    match setting.kind, value:
        case (Kind.SWITCH, bool()):
            return value
        case (_, bool()):
            return None
        case (Kind.COUNT, int()) if setting.least <= value <= setting.most:
            return value
        case (Kind.SECONDS | Kind.DOLLARS, int() | float()) if setting.least <= value <= setting.most:
            return float(value)
        case (Kind.CHOICE, str()) if value in setting.choices or _goes_on(setting.prefix, value):
            return value
        case (Kind.TEXT | Kind.PATH, str()) if "\0" not in value:
            return value
        case (Kind.COMMANDS, list() | tuple()) if all(map(_is_command, value)):
            return tuple(value)
        case (Kind.WORDS, list() | tuple()) if all(map(_is_word, value)):
            return tuple(value)
        case (Kind.VARIABLES, list() | tuple()) if all(map(_is_variable, value)):
            return tuple(value)
    return None


def accept_text(setting: Setting, text: str) -> Value | None:
    """The same for a value that arrives as text: from the environment or the command line."""
    match setting.kind:
        case Kind.COUNT | Kind.SECONDS | Kind.DOLLARS:
            return accept(setting, _number(text))
        case Kind.SWITCH:
            return _SWITCHES.get(text.strip().lower())
        case Kind.COMMANDS | Kind.VARIABLES:
            return accept(setting, [line.strip() for line in text.splitlines() if line.strip()])
        case Kind.WORDS:
            return accept(setting, _words(text))
    return accept(setting, text)


def expected(setting: Setting) -> str:
    """What fits, in words."""
    match setting.kind:
        case Kind.COUNT:
            return f"a whole number from {setting.least} to {setting.most}"
        case Kind.SECONDS:
            return f"seconds, a number from {setting.least} to {setting.most}"
        case Kind.DOLLARS:
            return f"US dollars, a number from {setting.least} to {setting.most}"
        case Kind.SWITCH:
            return "true or false"
        case Kind.CHOICE:
            more = (f"{setting.prefix}…",) if setting.prefix else ()
            return " or ".join(f'"{choice}"' for choice in (*setting.choices, *more))
        case Kind.COMMANDS:
            return 'a list of commands, such as ["make test"]'
        case Kind.WORDS:
            return 'a list of words, such as ["--flag", "value"]'
        case Kind.VARIABLES:
            return 'a list of variables, such as ["NAME=value"]'
        case Kind.PATH:
            return "the path of a file, as text"
    return "text"


def unfit(where: str, setting: Setting, found: object) -> ConfigError:
    return ConfigError(f"{where} is {shown(found)}", fix=f"it takes {expected(setting)}")


def shown(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"' if len(value) < 60 else f'"{value[:57]}..."'
        case dict():
            return "a table"
        case list():
            return f"a list: {', '.join(map(shown, value))}" if value else "an empty list"
    return str(value)


_SWITCHES = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}


def _goes_on(prefix: str, value: str) -> bool:
    return bool(prefix) and value.startswith(prefix) and _is_command(value.removeprefix(prefix))


def _is_command(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value


def _is_word(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


def _is_variable(value: object) -> bool:
    return _is_word(value) and str(value).partition("=")[0].isidentifier() and "=" in str(value)


def _words(text: str) -> list[str] | None:
    """As a shell would cut them."""
    from shlex import split  # only needed where somebody gives words

    try:
        return split(text)
    except ValueError:
        return None


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None
