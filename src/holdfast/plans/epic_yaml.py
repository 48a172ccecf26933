"""Epics in YAML. Composed into nodes and never constructed: nothing in a file can name a Python object."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from holdfast.errors import PlanError
from holdfast.plans.epic_values import Value, refuse_unwritable
from holdfast.plans.lines import decode, refuse_conflict

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

MOST_VALUES = 200_000
"""Of a whole epic, aliases written out: a few lines of them can stand for more than a memory holds."""
DEEPEST = 50
_CORE = "tag:yaml.org,2002:"
_SCALARS = ("str", "int", "float", "bool", "null", "timestamp", "value")
_UNCAUGHT = (AssertionError, OverflowError, ValueError)
"""What the parser lets through where an escape or the number of a YAML version is out of range."""
_FIX = "correct the YAML there"


def read_yaml(data: bytes, path: str) -> Value:
    text = decode(data, path)
    refuse_conflict(path, enumerate(text.split("\n"), 1))
    node = _compose(text, path)
    if node is None:
        raise PlanError(path, 0, "the epic is empty", fix="write a name and a list of tickets")
    return _value(node, path, iter(range(MOST_VALUES)), DEEPEST)


def _compose(text: str, path: str) -> "Node | None":
    from ruamel.yaml import YAML  # slow to load, and only epics need it
    from ruamel.yaml.error import MarkedYAMLError, YAMLError
    from ruamel.yaml.reader import ReaderError

    try:
        node: Node | None = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "it cannot be read"
        raise PlanError(path, mark.line + 1 if mark else 0, f"not YAML: {problem}", fix=_FIX) from error
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise PlanError(path, line, f"not YAML: {error.reason}", fix=_FIX) from error
    except (YAMLError, *_UNCAUGHT) as error:
        raise PlanError(path, 0, f"not YAML: {error}", fix=_FIX) from error
    except RecursionError:
        raise PlanError(path, 0, "the YAML is nested too deep", fix="write it flatter") from None
    return node


def _value(node: "Node", path: str, budget: Iterator[int], depth: int) -> Value:
    line = node.start_mark.line + 1
    if not depth or next(budget, None) is None:
        message = "the YAML is nested too deep, or its aliases stand for too much"
        raise PlanError(path, line, message, fix="write it out without aliases")
    kind = str(node.tag).removeprefix(_CORE)
    if kind == "map":
        return Value(line, members=_members(node.value, path, budget, depth))
    if kind == "seq":
        return Value(line, items=tuple([_value(item, path, budget, depth - 1) for item in node.value]))
    if kind not in _SCALARS:
        _refuse(path, line, f"the tag {node.tag} means nothing in an epic", "write plain YAML without tags")
    refuse_unwritable(node.value, path, line)
    return Value(line, text=None if kind == "null" else node.value)


def _members(pairs: Any, path: str, budget: Iterator[int], depth: int) -> Mapping[str, Value]:
    members: dict[str, Value] = {}
    for key, node in pairs:
        line, name = key.start_mark.line + 1, key.value
        if key.tag == f"{_CORE}merge":
            _refuse(path, line, "merge keys (<<) are not read", "write the keys out")
        if not isinstance(name, str):
            _refuse(path, line, "a key that is not a word", "write keys as plain words")
        refuse_unwritable(name, path, line)
        if name in members:
            first = members[name].line
            message = f'the key "{name}" is there twice, the first time near line {first}'
            _refuse(path, line, message, "remove one of the two")
        value = _value(node, path, budget, depth - 1)
        members[name] = value._replace(line=line) if value.members is None else value
    return members


def _refuse(path: str, line: int, message: str, fix: str) -> NoReturn:
    raise PlanError(path, line, message, fix=fix)
