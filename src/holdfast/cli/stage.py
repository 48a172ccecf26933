"""How the demo speaks: acts, commands, what they print, and verdicts. Pauses only for people."""

import sys

from holdfast.cli.terminal import colour_wanted
from holdfast.system import clock
from holdfast.views.text import plain

_PAUSE = 0.5
_INDENT = "   "
_BOLD, _DIM, _RED, _GREEN, _CYAN = "1", "2", "31", "32", "36"


class Stage:
    def __init__(self) -> None:
        self._colour = colour_wanted()
        self._watched = sys.stdout.isatty()
        self._acts = 0

    def open(self, *lines: str) -> None:
        for line in lines:
            self._print(line)

    def act(self, title: str) -> None:
        self._acts += 1
        self._print("")
        self._print(self._paint(f"{self._acts}. {title}", _BOLD))

    def command(self, text: str) -> None:
        self._print(_INDENT + self._paint(f"$ {text}", _CYAN))
        self.pause()

    def output(self, line: bytes) -> None:
        self._print(_INDENT + self._paint(plain(line.decode("utf-8", "replace")), _DIM))

    def say(self, text: str) -> None:
        self._print(_INDENT + plain(text))

    def verdict(self, kept: bool, text: str) -> None:
        mark = self._paint("✓", _GREEN) if kept else self._paint("✗", _RED)
        self._print(f"{_INDENT}{mark} {plain(text)}")

    def pause(self) -> None:
        if self._watched:
            clock.sleep(_PAUSE)

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text

    def _print(self, line: str) -> None:
        print(line, flush=True)
