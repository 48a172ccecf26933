"""argparse, made to fit: no abbreviations, errors that are raised rather than printed, a light start."""

import argparse
import os
from typing import Any, NoReturn

from holdfast.errors import UsageError
from holdfast.model.spelling import nearest


class Parser(argparse.ArgumentParser):
    """Sub-parsers made by `add_subparsers` are of this class too and behave alike."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, "formatter_class": _Formatter, **options})

    def error(self, message: str) -> NoReturn:
        command = self.prog.removeprefix("holdfast ")
        raise UsageError(f"{command}: {message}", fix=self._fix(message))

    def _fix(self, message: str) -> str:
        for word in message.split():
            near = nearest(word.partition("=")[0], self._option_string_actions)
            if word.startswith("--") and near and near not in message:
                return f"did you mean `{near}`? `{self.prog} --help` lists the options"
        return f"`{self.prog} --help` shows how it is used"


class _Formatter(argparse.HelpFormatter):
    """Given a width, argparse need not import shutil, which it otherwise does for every argument added."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=min(_columns(), 110) - 2, max_help_position=30)


def _columns() -> int:
    try:
        return int(os.environ.get("COLUMNS", "")) or 80
    except ValueError:
        pass
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:  # not a terminal
        return 80
