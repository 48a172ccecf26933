"""`holdfast init`: write a holdfast.toml in which every setting stands ready, commented out."""

import os
from argparse import ArgumentParser, Namespace

from holdfast.cli.place import repository_root
from holdfast.config import FILE, PYPROJECT, has_shared_settings
from holdfast.errors import Refused
from holdfast.model.fitting import expected
from holdfast.model.settings import SETTINGS, Setting, Value

_HEADER = """\
# Settings of Holdfast for this project. Each line shows a default (or an example):
# remove the "# " in front of it to change it. Flags and HOLDFAST_* variables win over this file.
"""


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help=f"replace a {FILE} that is there already")


def execute(args: Namespace) -> int:
    root = repository_root()
    path = os.path.join(root, FILE)
    if has_shared_settings(root):
        raise Refused(
            f"this project is configured in {PYPROJECT}",
            fix=f"edit [tool.holdfast] there, or remove it and run `holdfast init` for a {FILE}",
        )
    if args.force:
        _replace(path, template())
    else:
        _create(path, template())
    print(
        f"wrote {os.path.relpath(path)}: set agent or agent_cmd in it, then `holdfast doctor` checks the rest"
    )
    return 0


def template() -> str:
    lines, table = [_HEADER], ""
    for setting in SETTINGS:
        here = setting.key.rpartition(".")[0]
        if here != table:
            table = here
            lines.append(f"[{table}]\n")
        lines.append(_entry(setting))
    return "\n".join(lines)


def _entry(setting: Setting) -> str:
    name = setting.key.rpartition(".")[2]
    limits = f" Takes {expected(setting)}." if setting.most or setting.choices else ""
    shown = setting.default or setting.example or setting.default
    return f"# {setting.help}{limits}\n# {name} = {toml(shown)}\n"


def toml(value: Value) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case tuple():
            return f"[{', '.join(map(toml, value))}]"
    return f"{value:g}"


def _create(path: str, text: str) -> None:
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Refused(
            f"{os.path.relpath(path)} is there already",
            fix="edit it, or replace it (its settings are lost) with `holdfast init --force`",
        ) from None


def _replace(path: str, text: str) -> None:
    beside = f"{path}.{os.getpid()}.new"
    _create(beside, text)
    os.replace(beside, path)
