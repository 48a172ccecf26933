"""The commit message: the agent's words or a plain sentence, and our trailers below them."""

from holdfast.engine.place import PlanPlace
from holdfast.model.plan import Task

PREFIX = "Holdfast-"
PLAN, TASK, KEY, RUN, ATTEMPT, STATUS = (
    f"{PREFIX}{name}" for name in ("Plan", "Task", "Key", "Run", "Attempt", "Status")
)
"""The status is there only where it is not `completed`: what `skip` and `reset` did to a task."""
MERGED = f"{PREFIX}Merged"
"""On a merge or squash commit: the tip of the run branch that it brought in."""


def task_trailers(plan: PlanPlace, task: Task, run: str, attempt: int) -> dict[str, str]:
    ours = {PLAN: plan.path, TASK: task.id, KEY: task.key, RUN: run, ATTEMPT: str(attempt)}
    return {**plan.dialect.trailers(task), **ours}


def with_trailers(message: str, trailers: dict[str, str]) -> str:
    body = message.strip()
    ours = "\n".join(f"{name}: {' '.join(value.split())}" for name, value in trailers.items())
    gap = "\n" if _ends_in_trailers(body) else "\n\n"
    return f"{body}{gap}{ours}\n"


def missing_trailers(message: str, trailers: dict[str, str]) -> tuple[str, ...]:
    """Those that git would no longer find in the last paragraph of the message."""
    last = message.strip().rpartition("\n\n")[2].splitlines()
    found = {line.strip() for line in last}
    return tuple(n for n, value in trailers.items() if f"{n}: {' '.join(value.split())}" not in found)


def read_trailers(message: str) -> dict[str, str]:
    last = message.strip().rpartition("\n\n")[2].splitlines()
    pairs = (line.partition(": ") for line in last if line.startswith(PREFIX))
    return {name: value.strip() for name, colon, value in pairs if colon}


def _ends_in_trailers(body: str) -> bool:
    """`Co-authored-by: …` and the like must stay in one paragraph with ours to be found by git."""
    paragraphs = body.split("\n\n")
    if len(paragraphs) < 2:
        return False
    return all(_looks_like_a_trailer(line) for line in paragraphs[-1].splitlines())


def _looks_like_a_trailer(line: str) -> bool:
    name, colon, value = line.partition(": ")
    return bool(colon and value) and name.replace("-", "").isalnum()
