"""Every setting, one row each: what loading, checking, `holdfast init` and docs/CONFIGURATION.md go by."""

from enum import StrEnum
from typing import Any, NamedTuple

from holdfast.model.policy import Policy

Value = str | int | float | bool | tuple[str, ...]


class Kind(StrEnum):
    TEXT = "text"
    PATH = "path"
    CHOICE = "choice"
    COUNT = "count"
    SECONDS = "seconds"
    SWITCH = "switch"
    COMMANDS = "commands"


class Setting(NamedTuple):
    key: str
    """Dotted path in the TOML file."""
    env: str
    flag: str
    """The option of `holdfast run` that sets it, "" for none."""
    kind: Kind
    default: Value
    help: str
    field: str = ""
    """The field of Policy it fills, "" for those of Config itself."""
    least: int = 0
    most: int = 0
    choices: tuple[str, ...] = ()
    example: Value = ""
    """What `holdfast init` shows where the default is empty."""


_DEFAULTS = Policy()
_DAY = 86_400


def _policy(key: str, env: str, flag: str, kind: Kind, field: str, help: str, **more: Any) -> Setting:
    return Setting(key, env, flag, kind, getattr(_DEFAULTS, field), help, field, **more)


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "agent",
        "HOLDFAST_AGENT",
        "--agent",
        Kind.CHOICE,
        "command",
        "Which agent does the work: any program (`agent_cmd`), or a script that plays one (`script`).",
        choices=("command", "scripted"),
    ),
    Setting(
        "agent_cmd",
        "HOLDFAST_AGENT_CMD",
        "--agent-cmd",
        Kind.TEXT,
        "",
        "The program to run as the agent: the prompt on its standard input, the workspace as its directory.",
        example="claude -p --permission-mode bypassPermissions",
    ),
    Setting(
        "script",
        "HOLDFAST_SCRIPT",
        "--script",
        Kind.PATH,
        "",
        "The file the scripted agent plays; for demonstrations and tests.",
        example="agent-script.toml",
    ),
    _policy(
        "max_attempts",
        "HOLDFAST_MAX_ATTEMPTS",
        "--max-attempts",
        Kind.COUNT,
        "max_attempts",
        "How often a task is tried before it counts as failed.",
        least=1,
        most=100,
    ),
    _policy(
        "commits",
        "HOLDFAST_COMMITS",
        "--commits",
        Kind.CHOICE,
        "commits",
        "Who makes a task's commit: Holdfast itself (executor), or the agent, held to exactly one.",
        choices=("executor", "agent"),
    ),
    _policy(
        "on_interrupt",
        "HOLDFAST_ON_INTERRUPT",
        "--on-interrupt",
        Kind.CHOICE,
        "on_interrupt",
        "What happens to the partial work of an interrupted task: resume with it, or rollback (it is kept).",
        choices=("resume", "rollback"),
    ),
    _policy(
        "on_failure",
        "HOLDFAST_ON_FAILURE",
        "--on-failure",
        Kind.CHOICE,
        "on_failure",
        "After a failed task: stop, or continue with what does not depend on it (its work is kept).",
        choices=("stop", "continue"),
    ),
    _policy(
        "task_timeout",
        "HOLDFAST_TASK_TIMEOUT",
        "--task-timeout",
        Kind.SECONDS,
        "task_timeout",
        "How long the agent may work on one attempt.",
        least=1,
        most=7 * _DAY,
    ),
    _policy(
        "idle_timeout",
        "HOLDFAST_IDLE_TIMEOUT",
        "--idle-timeout",
        Kind.SECONDS,
        "idle_timeout",
        "How long the agent may print nothing before it counts as stuck.",
        least=1,
        most=7 * _DAY,
    ),
    _policy(
        "extra_prompt",
        "HOLDFAST_EXTRA_PROMPT",
        "--extra-prompt",
        Kind.TEXT,
        "extra_prompt",
        "Text added to every prompt, such as the rules of the house.",
        example="Follow CONTRIBUTING.md.",
    ),
    _policy(
        "verify.commands",
        "HOLDFAST_VERIFY",
        "--verify",
        Kind.COMMANDS,
        "verify",
        "Commands that must succeed before a task is committed; otherwise their output is feedback.",
        example=("make test",),
    ),
    _policy(
        "verify.plan",
        "HOLDFAST_VERIFY_PLAN",
        "",
        Kind.SWITCH,
        "use_plan_verify",
        "Also run the `verify:` commands that the plan gives for a task.",
    ),
    _policy(
        "verify.evidence",
        "HOLDFAST_VERIFY_EVIDENCE",
        "",
        Kind.SWITCH,
        "use_evidence",
        "Also run the Entrypoint and Evidence commands that the plan gives for a task.",
    ),
    _policy(
        "verify.timeout",
        "HOLDFAST_VERIFY_TIMEOUT",
        "",
        Kind.SECONDS,
        "gate_timeout",
        "How long one of these commands may take.",
        least=1,
        most=_DAY,
    ),
    _policy(
        "verify.require_change",
        "HOLDFAST_VERIFY_REQUIRE_CHANGE",
        "",
        Kind.SWITCH,
        "require_change",
        "An attempt that changes no file has failed, unless the agent says why none was needed.",
    ),
    _policy(
        "hooks.timeout",
        "HOLDFAST_HOOKS_TIMEOUT",
        "",
        Kind.SECONDS,
        "hook_timeout",
        "How long the project's own commit hooks may take.",
        least=1,
        most=_DAY,
    ),
)


def accept(setting: Setting, value: object) -> Value | None:
    """The value as the setting wants it, None when it does not fit."""
    match setting.kind, value:
        case (Kind.SWITCH, bool()):
            return value
        case (_, bool()):
            return None
        case (Kind.COUNT, int()) if setting.least <= value <= setting.most:
            return value
        case (Kind.SECONDS, int() | float()) if setting.least <= value <= setting.most:
            return float(value)
        case (Kind.CHOICE, str()) if value in setting.choices:
            return value
        case (Kind.TEXT | Kind.PATH, str()) if "\0" not in value:
            return value
        case (Kind.COMMANDS, list() | tuple()) if all(map(_is_command, value)):
            return tuple(value)
    return None


def accept_text(setting: Setting, text: str) -> Value | None:
    """The same for a value that arrives as text: from the environment or the command line."""
    match setting.kind:
        case Kind.COUNT | Kind.SECONDS:
            return accept(setting, _number(text))
        case Kind.SWITCH:
            return _SWITCHES.get(text.strip().lower())
        case Kind.COMMANDS:
            return accept(setting, [line.strip() for line in text.splitlines() if line.strip()])
    return accept(setting, text)


def expected(setting: Setting) -> str:
    """What fits, in words."""
    match setting.kind:
        case Kind.COUNT:
            return f"a whole number from {setting.least} to {setting.most}"
        case Kind.SECONDS:
            return f"seconds, a number from {setting.least} to {setting.most}"
        case Kind.SWITCH:
            return "true or false"
        case Kind.CHOICE:
            return " or ".join(f'"{choice}"' for choice in setting.choices)
        case Kind.COMMANDS:
            return 'a list of commands, such as ["make test"]'
        case Kind.PATH:
            return "the path of a file, as text"
    return "text"


_SWITCHES = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}


def _is_command(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None
