"""The prompt for one attempt, from a template that a repository may replace or extend.

`.holdfast/prompts/task.md.j2` is used instead of the built-in one when it is there; likewise `task-commit`
and `commit-recovery`, for agents that make the commits themselves, and `review`. It can start from
`{% extends "holdfast/task.md.j2" %}` and replace single blocks: task, rules, earlier, ending, extra.
"""

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.agents.printable import last_bytes, one_line, printable
from holdfast.agents.tags import (
    APPROVE_EXAMPLE,
    FAILURE_EXAMPLE,
    FINDINGS_EXAMPLE,
    MESSAGE_KEYWORD,
    MET_EXAMPLE,
    SUCCESS_EXAMPLE,
    UNMET_EXAMPLE,
)
from holdfast.errors import ConfigError
from holdfast.model.plan import Task

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

TASK = "task.md.j2"
TASK_WITH_COMMIT = "task-commit.md.j2"
COMMIT_RECOVERY = "commit-recovery.md.j2"
REVIEW = "review.md.j2"
TEMPLATES = os.path.join(os.path.dirname(__file__), "templates")
FEEDBACK_LIMIT = 6 * 1024
CHANGED_LIMIT = 50

# What an expression in somebody's template can raise, beside Jinja's own errors.
_FAULTS = (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError)


class PromptFacts(NamedTuple):
    plan_title: str
    plan_path: str
    position: int
    """This task is number `position` of the plan's `total`."""
    total: int
    task: Task
    attempt: int = 1
    max_attempts: int = 1
    feedback: str = ""
    """Why the attempt before this one failed."""
    resumed: bool = False
    """This attempt was interrupted and goes on."""
    changed: tuple[str, ...] = ()
    """Paths with uncommitted changes that the agent will find."""
    gates: tuple[str, ...] = ()
    extra: str = ""
    preamble: str = ""
    """What holds for every task of the plan."""
    report_tool: str = ""
    """The tool to report the result with, "" for none."""
    interactive: bool = False
    """Somebody sits at the terminal with it."""
    diff: str = ""
    """What is to be reviewed."""


def render_prompt(facts: PromptFacts, override_dir: str, template: str = TASK) -> str:
    """`override_dir` is where the user's templates may be; "" for none. A bad one is a ConfigError."""
    from jinja2 import TemplateError  # slow to load, and only a run needs it

    names = _names(facts)
    place = os.path.join(override_dir, template)
    try:
        prompt = _environment(override_dir, _overridden(override_dir)).get_template(template).render(names)
    except (TemplateError, *_FAULTS) as error:
        raise _template_error(error, place, names) from error
    if not prompt.strip():
        raise ConfigError(f"{place}: the prompt it makes is empty", fix=_fix(place, names))
    return prompt


def _names(facts: PromptFacts) -> dict[str, object]:
    """Everything a template can use, by name."""
    task = facts.task
    return facts._asdict() | {
        "feedback": _trimmed(facts.feedback),
        "changed": tuple(one_line(printable(path)) for path in facts.changed[:CHANGED_LIMIT]),
        "more_changed": max(0, len(facts.changed) - CHANGED_LIMIT),
        "steps": task.steps if _unsaid(task, tuple(step.text for step in task.steps)) else (),
        "acceptance": task.acceptance if _unsaid(task, task.acceptance) else (),
        "files": task.files if _unsaid(task, task.files) else (),
        "success_example": SUCCESS_EXAMPLE,
        "failure_example": FAILURE_EXAMPLE,
        "approve_example": APPROVE_EXAMPLE,
        "findings_example": FINDINGS_EXAMPLE,
        "message_keyword": MESSAGE_KEYWORD,
        "met_example": MET_EXAMPLE,
        "unmet_example": UNMET_EXAMPLE,
    }


def _unsaid(task: Task, texts: tuple[str, ...]) -> bool:
    """Most dialects leave these in the body as written; saying them twice only costs attention."""
    return any(text not in task.body for text in texts)


def _trimmed(feedback: str) -> str:
    """The end is kept: that is where programs say what went wrong."""
    clean = printable(feedback).strip()
    kept = last_bytes(clean, FEEDBACK_LIMIT)
    return kept if kept == clean else f"[earlier output left out]\n{kept}"


def _overridden(override_dir: str) -> tuple[str, ...]:
    """What the user replaces just now; it may change while a run goes on."""
    if not override_dir:
        return ()
    known = (TASK, TASK_WITH_COMMIT, COMMIT_RECOVERY, REVIEW)
    return tuple(name for name in known if os.path.exists(os.path.join(override_dir, name)))


@lru_cache(maxsize=2)
def _environment(override_dir: str, overridden: tuple[str, ...]) -> "SandboxedEnvironment":
    """Sandboxed, because the agent can write to the directory its next prompt is read from.

    Kept from task to task, because compiling a template takes as long as several git calls. Jinja itself
    looks whether a file it has compiled was edited since.
    """
    from jinja2 import ChoiceLoader, FileSystemLoader, PrefixLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    own = FileSystemLoader(TEMPLATES)
    places = [FileSystemLoader(override_dir)] if overridden else []
    environment = ImmutableSandboxedEnvironment(
        loader=ChoiceLoader([*places, own, PrefixLoader({"holdfast": own})]),
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["fenced"] = fenced
    return environment


def fenced(text: object) -> str:
    """Quoted in a fence longer than any inside, so that what is quoted cannot end it."""
    quoted = str(text)
    longest = max((len(run) for run in re.findall("`+", quoted)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{quoted}\n{fence}"


def _template_error(error: Exception, place: str, names: dict[str, object]) -> ConfigError:
    from jinja2 import TemplateSyntaxError

    if isinstance(error, TemplateSyntaxError):
        place, line = error.filename or place, error.lineno
    else:
        place, line = _where_raised(error, place)
    where = f"{place}:{line}" if line else place
    return ConfigError(f"{where}: the prompt template does not work: {error}", fix=_fix(place, names))


def _where_raised(error: Exception, place: str) -> tuple[str, int]:
    """Jinja puts template files and lines into the traceback; the innermost is the culprit."""
    frame: Any = error.__traceback__
    found = place, 0
    while frame:
        if frame.tb_frame.f_code.co_filename.endswith(".j2"):
            found = frame.tb_frame.f_code.co_filename, frame.tb_lineno
        frame = frame.tb_next
    return found


def _fix(place: str, names: dict[str, object]) -> str:
    return f"Correct or remove {place}. A template can use: {', '.join(sorted(names))}."
