"""Why a text is not JSON: the first place where it is not, and what should stand there.

Slow and strict, with a stack of its own. Only called for text that was refused already.
"""

import json
import re
from typing import NamedTuple

from holdfast.errors import PlanError

DEEPEST = 500
FIX = "mend it there, or take the file from git again; Holdfast does not guess what was meant"

VALUE, VALUE_OR_END = "a value", "a value or ]"
KEY, KEY_OR_END = "a key in double quotes", "a key in double quotes or }"
COLON, MORE_MEMBERS, MORE_ITEMS, NOTHING_MORE = "a colon", "a comma or }", "a comma or ]", "nothing more"

_BLANK = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_WORD = re.compile(
    r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.+-])|(?:true|false|null)(?!\w)"
)
_CONFLICT = re.compile(rb"<{7}|={7}|>{7}|\|{7}")


class _Open:
    """An object or array that is not closed yet, and where in it we are."""

    def __init__(self, bracket: str) -> None:
        self.is_object = bracket == "{"
        self.keys: set[str] = set()
        self.key = ""
        self.index = 0

    @property
    def shown(self) -> str:
        return self.key if self.is_object else f"[{self.index}]"


class _Fault(NamedTuple):
    at: int
    message: str
    where: str


class _Found(Exception):
    """Raised with what is wrong, at the position reached."""


def fault_in(data: bytes, path: str) -> PlanError:
    fault = _Reader(data.decode("latin-1"), 3 if data.startswith(b"\xef\xbb\xbf") else 0).first_fault()
    begin = data.rfind(b"\n", 0, fault.at) + 1
    line = data.count(b"\n", 0, fault.at) + 1
    if conflict := _CONFLICT.match(data, begin):
        message = f"an unresolved merge conflict ({conflict[0].decode()})"
        return PlanError(path, line, message, fix="resolve the conflict, then run the same command again")
    column = len(data[begin : fault.at].decode(errors="replace")) + 1
    where = f" (in {fault.where})" if fault.where else ""
    return PlanError(path, line, f"not valid JSON at column {column}{where}: {fault.message}", fix=FIX)


class _Reader:
    def __init__(self, raw: str, at: int) -> None:
        self.raw = raw
        self.at = at
        self.expected = VALUE
        self.stack: list[_Open] = []

    def first_fault(self) -> _Fault:
        try:
            while True:
                self._step()
        except _Found as found:
            return _Fault(self.at, str(found), self._where())

    def _step(self) -> None:
        self.at = _end(_BLANK, self.raw, self.at)
        found = self.raw[self.at : self.at + 1]
        if not found:
            raise _Found(self._at_the_end())
        if found == '"' and self.expected in (KEY, KEY_OR_END):
            self._key()
        elif found in "]}" and self._closes(found):
            self.at += 1
            self.stack.pop()
            self._value_ends()
        elif found == ":" and self.expected is COLON:
            self.at, self.expected = self.at + 1, VALUE
        elif found == "," and self.expected in (MORE_MEMBERS, MORE_ITEMS):
            self._comma()
        elif self.expected in (VALUE, VALUE_OR_END):
            self._value(found)
        else:
            raise _Found(f"expected {self.expected}, found {self._shown()}")

    def _at_the_end(self) -> str:
        if self.expected is NOTHING_MORE:
            return "a number in this file has too many digits"
        return f"the file ends where {self.expected} should follow; it was probably cut off"

    def _closes(self, bracket: str) -> bool:
        return self.expected in ((KEY_OR_END, MORE_MEMBERS) if bracket == "}" else (VALUE_OR_END, MORE_ITEMS))

    def _comma(self) -> None:
        top = self.stack[-1]
        top.index += 1
        self.at += 1
        self.expected = KEY if top.is_object else VALUE

    def _key(self) -> None:
        begin, end = self.at, self._string_end()
        key, top = self.raw[begin + 1 : end - 1].encode("latin-1").decode(), self.stack[-1]
        if _unescaped(key) in top.keys:
            raise _Found(f"the key {key} stands here a second time, and only one of the two can be meant")
        top.keys.add(_unescaped(key))
        top.key, self.at, self.expected = key, end, COLON

    def _value(self, found: str) -> None:
        if found in "{[":
            if len(self.stack) == DEEPEST:
                raise _Found(f"nested deeper than {DEEPEST} levels")
            self.stack.append(_Open(found))
            self.at, self.expected = self.at + 1, KEY_OR_END if found == "{" else VALUE_OR_END
            return
        end = self._string_end() if found == '"' else _end(_WORD, self.raw, self.at)
        if end == self.at:
            raise _Found(f"expected {self.expected}, found {self._shown()}")
        self.at = end
        self._value_ends()

    def _value_ends(self) -> None:
        if self.stack:
            self.expected = MORE_MEMBERS if self.stack[-1].is_object else MORE_ITEMS
        else:
            self.expected = NOTHING_MORE

    def _string_end(self) -> int:
        begin, end = self.at, _end(_STRING, self.raw, self.at)
        found = self.raw[end : end + 1]
        if found == '"':
            return end + 1
        self.at = end
        if not found:
            self.at = begin
            raise _Found("the file ends inside the string that begins here; it was probably cut off")
        if found == "\\":
            raise _Found("an escape that JSON does not know")
        raise _Found("a line break or control character inside a string")

    def _where(self) -> str:
        return "".join(_joined(part.shown) for part in self.stack).removeprefix(".")

    def _shown(self) -> str:
        word = re.match(r"[\w.+-]+|.", self.raw[self.at : self.at + 40])
        shown = word[0].encode("latin-1").decode(errors="replace") if word else ""
        return shown if shown.isprintable() else f"the byte 0x{ord(self.raw[self.at]):02x}"


def _end(pattern: re.Pattern[str], raw: str, at: int) -> int:
    found = pattern.match(raw, at)
    return found.end() if found else at


def _unescaped(key: str) -> str:
    return str(json.loads(f'"{key}"')) if "\\" in key else key


def _joined(part: str) -> str:
    return part if part.startswith("[") or not part else f".{part}"
