"""The phases of an Auto-Claude plan, and who waits for whom.

Three shapes exist: phases with a number, phases with an id, and no phases at all. The list of items is called
`subtasks`, in plans of 2025 `chunks`. An item waits for every item of every phase that its own depends on.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from holdfast.model.plan import Plan, Status, Task
from holdfast.plans.auto_claude import PLANNER, UNPLANNED
from holdfast.plans.auto_claude_items import IDS, read_item
from holdfast.plans.json_fields import Spot, fields_of, id_in, said, strings_in, told
from holdfast.plans.json_text import Node, plain, with_lines
from holdfast.plans.validate import validate

ITEMS = ("subtasks", "chunks")
OPENED = {"phases": 2, "subtasks": 1, "chunks": 1}


class _Phase(NamedTuple):
    key: str
    number: str
    """Another name for it: its number, or its position."""
    line: int
    wants: tuple[str, ...]
    tasks: tuple[Task, ...]


def read_tasks(data: bytes, path: str, root: Node) -> tuple[Task, ...]:
    top = Spot(path, 1, "")
    if root.members is None:
        raise top.wrong("this is no plan: a plan is an object", 'write {"feature": "…", "phases": […]}')
    phases = list(_phases(data, top, root))
    if not any(phase.tasks for phase in phases):
        raise top.wrong(f"{UNPLANNED}: the plan holds no subtasks", PLANNER)
    return _linked(path, phases)


def _phases(data: bytes, top: Spot, root: Node) -> Iterator[_Phase]:
    listed = root.get("phases")
    if listed is None or (not listed.items and any(root.get(key) for key in ITEMS)):
        whole = root._replace(at=0)
        yield _Phase("", "", 1, (), tuple(_tasks(data, top, whole, "", False)))
        return
    if listed.items is None and plain(listed) is not None:
        raise top.at("phases").wrong("this should be a list of phases", 'write "phases": [{…}, {…}]')
    for number, (line, node) in enumerate(with_lines(data, listed.items or ())):
        yield _phase(data, Spot(top.file, line, f"phases[{number}]"), node, number + 1)


def _phase(data: bytes, spot: Spot, node: Node, position: int) -> _Phase:
    opened = node.members is not None
    leaves = {key: member.node.value for key, member in (node.members or {}).items()}
    fields = fields_of(spot, leaves if opened else node.value)
    number = fields.get("phase", position)
    key = id_in(spot, {**fields, "phase": number}, ("id", "phase"))
    section, parallel = said(told(fields.get("name"))) or key, fields.get("parallel_safe") is True
    tasks = tuple(_tasks(data, spot, node, section, parallel))
    return _Phase(key, told(number), spot.line, strings_in(spot, fields, "depends_on"), tasks)


def _tasks(data: bytes, spot: Spot, node: Node, section: str, parallel: bool) -> Iterator[Task]:
    key, items = _items(spot, node)
    for number, (line, item) in enumerate(with_lines(data, items, spot.line, node.at)):
        place = Spot(spot.file, line, spot.at(f"{key}[{number}]").where)
        yield read_item(item, place, section, parallel)


def _items(spot: Spot, node: Node) -> tuple[str, tuple[Node, ...]]:
    """Where both lists are there Auto-Claude reads `subtasks`, and so do we."""
    lists = {key: listed for key in ITEMS if (listed := node.get(key))}
    for key, listed in lists.items():
        if listed.items is None and plain(listed) is not None:
            raise spot.at(key).wrong("this should be a list", f'write "{key}": [{{…}}, {{…}}]')
    filled = [(key, listed.items) for key, listed in lists.items() if listed.items]
    if len(filled) > 1 and not _ids(filled[1][1]) <= _ids(filled[0][1]):
        raise spot.wrong("subtasks and chunks name different items", "keep one of the two lists")
    return filled[0] if filled else ("", ())


def _ids(items: Sequence[Node]) -> set[str]:
    fields = [item.value if isinstance(item.value, dict) else {} for item in items]
    return {str(next((item[key] for key in IDS if key in item), "")) for item in fields}


def _linked(path: str, phases: Sequence[_Phase]) -> tuple[Task, ...]:
    """Tasks of one phase share one tuple of dependencies, which `schedule` then looks at once for all."""
    keys = {phase.number: phase.key for phase in phases} | {phase.key: phase.key for phase in phases}
    _refuse_tangled(path, phases, keys)
    by_key = {phase.key: phase for phase in phases}
    tasks: list[Task] = []
    for phase in phases:
        wanted = dict.fromkeys(keys[name] for name in phase.wants)
        waits = tuple([task.id for key in wanted for task in by_key[key].tasks])
        tasks += [task._replace(depends_on=waits) for task in phase.tasks] if waits else phase.tasks
    return tuple(tasks)


def _refuse_tangled(path: str, phases: Sequence[_Phase], keys: Mapping[str, str]) -> None:
    """Phases are checked as if they were tasks: told apart, known to each other, not in a circle."""
    stand_ins = [
        Task(phase.key, "", Status.PENDING, phase.line, depends_on=tuple(keys.get(w, w) for w in phase.wants))
        for phase in phases
    ]
    validate(Plan("", "", path, tuple(stand_ins)), noun="phase")
