"""Cuts an i2code plan into threads and tasks, also when the whole of it is wrapped in a code fence."""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from holdfast.model.plan import Task
from holdfast.plans.boxes import STATUS_OF, Item, body_text, item_on, refuse_odd_box, steps_in
from holdfast.plans.lines import OPENS, QUOTED, TEXT, Line, Scan, scan_lines
from holdfast.plans.titles import closing_mark

_THREAD = re.compile(r"##[ \t]+((?:Steel[ \t]+)?Thread[ \t]+[0-9]+\b.*)", re.IGNORECASE)
_TASK = re.compile(
    r"(\[[^\]]{0,2}\][ \t]+)?(\*\*)?Task[ \t]+([0-9]+(?:\.[0-9]+)*[a-z]?)(?:[:.]|[ \t]+[-–—:])"
)
_TITLE = re.compile(
    r"#[ \t]+(?:(?:Implementation[ \t]+)?Plan:[ \t]*)?(.*?)(?:[ \t]+[—–-][ \t]+Implementation Plan)?[ \t]*$"
)
_MARKDOWN_FENCE = re.compile(r"(?:`{3,}|~{3,})[ \t]*(?:markdown|md)[ \t]*$", re.IGNORECASE)
_COMMAND = re.compile(
    r"[ \t]*[-*+][ \t]+(?:\*\*)?(?:Entrypoint|Evidence)(?:\*\*)?:(?:\*\*)?[ \t]*`([^`]+)`[ \t]*$"
)
_TAIL = re.compile(r"[ \t]*(?:#{1,6}[ \t].*|-{3,}[ \t]*)?$")


class _Header(NamedTuple):
    """A task's own line; what follows up to the next one is added to `body`."""

    id: str
    title: str
    thread: str
    line: int
    item: Item
    body: list[Line]


def looks_like_threads(data: bytes) -> bool:
    lines = data.decode("utf-8", "replace").split("\n")
    return any(_THREAD.match(line) or ("Task" in line and _is_bold_task(line)) for line in lines)


def scan_unwrapped(data: bytes, path: str) -> Scan:
    """The plan's lines, without the fence that some models put around a whole plan."""
    scan = scan_lines(data, path)
    wrapper = _wrapper(scan.lines)
    return scan_lines(data, path, unfenced=wrapper) if wrapper else scan


def read_threads(lines: Sequence[Line], path: str) -> tuple[str, tuple[Task, ...]]:
    """The plan's title and its tasks. What precedes the first thread or follows the last is not structure."""
    headers: list[_Header] = []
    thread = ""
    body: list[Line] = []
    for line in _between(lines):
        if line.indent >= 2 or line.kind is not TEXT:
            body.append(line)
        elif heading := _thread_on(line):
            thread, body = heading, []
        elif header := _header_on(line, thread, path):
            headers.append(header)
            body = header.body
        else:
            body.append(line)
    return _plan_title(lines), tuple([_task(header) for header in headers])


def _is_bold_task(text: str) -> bool:
    line = Line(0, 0, text.removesuffix("\r"), 0, TEXT)
    item = item_on(line) if text[:1] in "-*+" else None
    found = _TASK.match(item.text) if item else None
    return bool(found and found[2] and "." in found[3])


def _wrapper(lines: Sequence[Line]) -> int:
    """The line of the fence that wraps the plan, 0 for none.

    A fence with an example task in front of a real plan looks alike. It is an example when the plan outside
    has the same ids, or when it shows a task without a thread while there are tasks outside.
    """
    opens = next((index for index, line in enumerate(lines) if _starts_structure(line)), len(lines))
    if opens == len(lines) or lines[opens].kind is not OPENS:
        return 0
    inside = list(takewhile(lambda line: line.kind is QUOTED, lines[opens + 1 :]))
    within = {task for line in inside if (task := _task_id(line))}
    outside = {task for line in lines if line.kind is TEXT and (task := _task_id(line))}
    whole = not outside or any(_THREAD.match(line.text) for line in inside)
    return lines[opens].number if within and whole and not within & outside else 0


def _starts_structure(line: Line) -> bool:
    if line.kind is OPENS:
        return _MARKDOWN_FENCE.match(line.text) is not None
    return line.kind is TEXT and bool(_THREAD.match(line.text) or _task_id(line))


def _task_id(line: Line) -> str:
    item = item_on(line) if line.indent < 2 and "Task" in line.text else None
    found = _TASK.match(item.text) if item else None
    return found[3] if found else ""


def _between(lines: Sequence[Line]) -> Sequence[Line]:
    """From the first thread to the first other `## ` heading behind the last one."""
    threads = [index for index, line in enumerate(lines) if line.text[:2] == "##" and _thread_on(line)]
    if not threads:
        return lines
    last = threads[-1]
    postamble = (index for index in range(last + 1, len(lines)) if _is_section(lines[index]))
    return lines[threads[0] : next(postamble, len(lines))]


def _is_section(line: Line) -> bool:
    return line.text[:2] == "##" and line.kind is TEXT and line.text[2:3] in (" ", "\t")


def _thread_on(line: Line) -> str:
    found = _THREAD.match(line.text) if _is_section(line) else None
    return found[1].strip() if found else ""


def _header_on(line: Line, thread: str, path: str) -> _Header | None:
    item = item_on(line) if "Task" in line.text else None
    found = _TASK.match(item.text) if item else None
    if not item or not found:
        return None
    refuse_odd_box(path, line, item)
    if not item.box or found[1]:
        return None
    title = _title(item.text, found.end(), bool(found[2]))
    return _Header(found[3], title or found[3], thread, line.number, item, [])


def _title(text: str, start: int, bold: bool) -> str:
    """The bold text; what follows where only the number is bold; all where the closing stars are missing."""
    end = closing_mark(text, "**", start) if bold else -1
    if end < 0:
        end = text.rfind("**", start) if bold else -1
    if end < 0:
        return text[start:].strip()
    return text[start:end].strip() or text[end + 2 :].strip()


def _plan_title(lines: Sequence[Line]) -> str:
    found = (_TITLE.match(line.text) for line in lines if line.kind is TEXT and line.text.startswith("# "))
    return next((title[1] for title in found if title), "")


def _task(header: _Header) -> Task:
    body = _without_tail(header.body)
    commands = [_COMMAND.match(line.text) for line in body if line.kind is TEXT and "`" in line.text]
    return Task(
        id=header.id,
        title=header.title,
        status=STATUS_OF[header.item.box],
        line=header.line,
        at=header.item.at,
        body=body_text(body),
        section=header.thread,
        steps=steps_in(body),
        evidence=tuple(dict.fromkeys([command[1].strip() for command in commands if command])),
    )


def _without_tail(body: list[Line]) -> list[Line]:
    """Without the rules and headings at its end: they lead to the next task and would mislead the agent."""
    end = len(body)
    while end and body[end - 1].kind not in (OPENS, QUOTED) and _TAIL.match(body[end - 1].text):
        end -= 1
    return body[:end]
