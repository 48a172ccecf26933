"""`holdfast completion`: a completion script for a shell, generated from the parsers themselves."""

from argparse import SUPPRESS, Action, ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Mapping
from importlib import import_module

from holdfast.cli.main import COMMANDS
from holdfast.cli.parser import Parser
from holdfast.cli.shells import SHELLS, Argument, Option, Outline

_FILE_NAMES = ("plan", "file", "path", "script")


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=tuple(SHELLS), help="the shell to print the script for")
    parser.epilog = (
        "bash: put `source <(holdfast completion bash)` into ~/.bashrc. "
        "zsh: save it as _holdfast in a directory of $fpath. "
        "fish: save it as ~/.config/fish/completions/holdfast.fish."
    )


def execute(args: Namespace) -> int:
    print(completion_script(args.shell, COMMANDS), end="")
    return 0


def completion_script(shell: str, commands: Mapping[str, tuple[str, str]]) -> str:
    children = tuple(_command(name, text, module) for name, (text, module) in commands.items())
    options = (Option(("-h", "--help"), "Show this help"), Option(("-V", "--version"), "Show the version"))
    return SHELLS[shell](Outline((), "", options, (), children))


def _command(name: str, text: str, module: str) -> Outline:
    parser = Parser(prog=f"holdfast {name}")
    import_module(module).configure(parser)
    return _outline(parser, (name,), text)


def _outline(parser: ArgumentParser, path: tuple[str, ...], text: str) -> Outline:
    options: list[Option] = []
    arguments: list[Argument] = []
    children: list[Outline] = []
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            children += _children(action, path)
        elif action.help == SUPPRESS:
            continue
        elif action.option_strings:
            value = _argument(action) if action.nargs != 0 else None
            options.append(Option(tuple(action.option_strings), _help(action), value))
        else:
            arguments.append(_argument(action))
    return Outline(path, text, tuple(options), tuple(arguments), tuple(children))


def _children(action: "_SubParsersAction[ArgumentParser]", path: tuple[str, ...]) -> list[Outline]:
    texts = {choice.dest: _help(choice) for choice in action._choices_actions}
    return [_outline(sub, (*path, name), texts.get(name, "")) for name, sub in action.choices.items()]


def _argument(action: Action) -> Argument:
    names = (action.dest, str(action.metavar or ""))
    return Argument(tuple(map(str, action.choices or ())), any(n.lower() in _FILE_NAMES for n in names))


def _help(action: Action) -> str:
    return "" if action.help is None else action.help.replace("%%", "%")
