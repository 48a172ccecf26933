"""Name → implementation. The only place that imports concrete adapters, each when it is needed."""

import os
from collections.abc import Callable

from holdfast.agents.base import Agent
from holdfast.engine.site import PlanPlace
from holdfast.errors import PlanError, UsageError
from holdfast.gates.base import Gate
from holdfast.model.plan import Task
from holdfast.model.policy import Mode, Policy
from holdfast.plans.base import Dialect, Found
from holdfast.system.git import Git
from holdfast.workspaces.base import Workspaces

IDEAS = os.path.join("docs", "ideas", "active")


def dialects() -> tuple[Dialect, ...]:
    """In the order they are asked; plain Markdown takes what nobody else recognises."""
    from holdfast.plans.i2code import I2code
    from holdfast.plans.markdown import Markdown

    return (I2code(), Markdown())


def find_plan(git: Git, wanted: str, *, ignore_uncommitted: bool = False) -> PlanPlace:
    """The plan a user named: a file or a directory of any known dialect, or an idea by its bare name."""
    path = _resolve(git, wanted)
    shown = os.path.relpath(path, os.path.realpath(git.root)).replace(os.sep, "/")
    if shown.startswith("../"):
        raise UsageError(
            f"{wanted} is outside this repository: its marks could not be part of the commits",
            fix=f"copy it into {git.root} and run again",
        )
    found = _look_at(path)
    for dialect in dialects():
        recognised = dialect.recognise(found)
        if recognised is None:
            continue
        inside = [shown, recognised.file] if recognised.file else [shown]
        beside = tuple(f"{shown}/{name}" for name in dialect.companions(found))
        asks = bool(beside) and not ignore_uncommitted
        return PlanPlace(dialect, "/".join(inside), recognised.name, beside, asks)
    raise _unknown_kind(shown, found)


def agent(name: str, command: str, script: str, directory: str) -> Agent:
    if name == "scripted":
        from holdfast.agents.scripted import Scripted

        return Scripted(script)
    from holdfast.agents.command import Command

    return Command(command, directory)


def gates(policy: Policy) -> Callable[[Task], tuple[Gate, ...]]:
    from holdfast.gates.command import CommandGate

    def for_task(task: Task) -> tuple[Gate, ...]:
        own = task.verify if policy.use_plan_verify else ()
        evidence = task.evidence if policy.use_evidence else ()
        return tuple(CommandGate(command) for command in (*policy.verify, *own, *evidence))

    return for_task


def workspaces(mode: Mode) -> Workspaces:
    from holdfast.workspaces.trunk import Trunk

    return {Mode.TRUNK: Trunk()}[mode]


def _resolve(git: Git, wanted: str) -> str:
    path = os.path.realpath(wanted)
    if not os.path.lexists(path) and os.sep not in wanted:
        idea = os.path.join(git.root, IDEAS, wanted)
        if os.path.isdir(idea):
            return os.path.realpath(idea)
    return path


def _look_at(path: str) -> Found:
    shown = path.replace(os.sep, "/")
    try:
        if os.path.isdir(path):
            return Found(shown, tuple(sorted(os.listdir(path))), None)
        with open(path, "rb") as f:
            return Found(shown, None, f.read())
    except FileNotFoundError:
        raise PlanError(
            os.path.relpath(path), 0, "no such file or directory", fix="give the path of a plan"
        ) from None
    except OSError as error:
        raise PlanError(os.path.relpath(path), 0, f"cannot be read: {error.strerror}") from None


def _unknown_kind(shown: str, found: Found) -> UsageError:
    if found.names is not None:
        return PlanError(
            shown,
            0,
            "a directory that holds no plan Holdfast knows",
            fix="give a Markdown file with a task list, or an idea directory with NAME-idea, -spec and -plan",
        )
    return PlanError(
        shown, 0, "not a plan Holdfast knows", fix="a plan is a Markdown file with `- [ ] task` lines"
    )
