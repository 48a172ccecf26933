"""Name → implementation. The only place that imports concrete adapters, each when it is needed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast.engine.place import PlanPlace
from holdfast.errors import PlanError, UsageError
from holdfast.plans.base import Found

if TYPE_CHECKING:  # `status` asks for a dialect and has no use for agents, gates and policies
    from collections.abc import Callable

    from holdfast.agents.base import Agent, Options
    from holdfast.gates.base import Gate
    from holdfast.model.plan import Task
    from holdfast.model.policy import Mode, Policy
    from holdfast.plans.base import Dialect
    from holdfast.system.git import Git
    from holdfast.workspaces.base import Workspaces

IDEAS = os.path.join("docs", "ideas", "active")
SPECS = os.path.join(".auto-claude", "specs")
ACP_AGENTS = ("gemini", "opencode", "goose", "qwen", "copilot")
RAFA_PLANS = os.path.join(".rafa", "plans")


def dialects() -> tuple[Dialect, ...]:
    """In the order they are asked; plain Markdown takes what nobody else recognises.

    Epics come first: beside an epic there is often a `-spec.md`, which looks like half an idea.
    """
    from holdfast.plans.auto_claude import AutoClaude
    from holdfast.plans.buildspec import Buildspec
    from holdfast.plans.i2code import I2code
    from holdfast.plans.markdown import Markdown
    from holdfast.plans.rafa import Rafa

    return (Buildspec(), I2code(), AutoClaude(), Rafa(), Markdown())


def find_plan(git: Git, wanted: str, *, ignore_uncommitted: bool = False) -> PlanPlace:
    """The plan a user named: a file or a directory of any known dialect, or the bare name of an idea, a spec
    or a rafa plan."""
    path = _resolve(git.root, wanted)
    shown = _relative(path, git.root)
    if shown.startswith("../"):
        where, name = os.path.split(os.path.abspath(wanted))
        place = _relative(os.path.join(os.path.realpath(where), name), git.root)
        if begun := _as_begun(git, os.path.abspath(wanted), place):  # an agent put a link in its place
            return _recognised(begun, place, ignore_uncommitted)
        raise UsageError(
            f"{wanted} is outside this repository: its marks could not be part of the commits",
            fix=f"copy it into {git.root} and run again",
        )
    try:
        return _recognised(_look_at(path), shown, ignore_uncommitted)
    except PlanError:
        begun = _as_begun(git, path, shown)
        if begun is None:
            raise
        return _recognised(begun, shown, ignore_uncommitted)


def find_plan_anywhere(root: str, wanted: str) -> PlanPlace:
    """For looking only: the plan may lie outside `root`, and its path is then the one from there."""
    path = _resolve(root, wanted)
    return _recognised(_look_at(path), _relative(path, root), ignore_uncommitted=True)


def agent(name: str, options: Options) -> Agent:
    match name:
        case "claude":
            from holdfast.agents.claude import Claude

            return Claude(options)
        case "codex":
            from holdfast.agents.codex import Codex

            return Codex(options)
        case _ if name in ACP_AGENTS or name.startswith("acp:"):
            from holdfast.agents.acp import Acp

            return Acp(name, options)
        case "scripted":
            from holdfast.agents.scripted import Scripted

            return Scripted(options.script)
    from holdfast.agents.command import Command

    path = options.environment.get("PATH")
    return Command(options.command, options.directory, path, options.interactive)


def reviewer(name: str, options: Options) -> Agent | None:
    """With the rights to look and not to change, as each agent calls them."""
    if name == "none":
        return None
    mode = {"claude": "default", "command": ""}.get(name, "read-only")
    return agent(name, options._replace(permission_mode=mode))


def gates(policy: Policy) -> Callable[[Task], tuple[Gate, ...]]:
    from holdfast.gates.command import CommandGate

    def for_task(task: Task) -> tuple[Gate, ...]:
        own = task.verify if policy.use_plan_verify else ()
        evidence = task.evidence if policy.use_evidence else ()
        return tuple(CommandGate(command) for command in (*policy.verify, *own, *evidence))

    return for_task


def workspaces(mode: Mode) -> Workspaces:
    if mode == "trunk":
        from holdfast.workspaces.trunk import Trunk

        return Trunk()
    from holdfast.workspaces.worktree import Worktree

    return Worktree()


def _resolve(root: str, wanted: str) -> str:
    path = os.path.realpath(wanted)
    if os.path.lexists(path) or os.sep in wanted:
        return path
    named = _named(root, wanted)
    if len(named) > 1:
        raise UsageError(f"{wanted} may mean {' or '.join(named)}", fix="give the path of the one you mean")
    return os.path.realpath(os.path.join(root, named[0])) if named else path


def _named(root: str, wanted: str) -> list[str]:
    """An idea by its name; a spec or a rafa plan by number or id, by the rest of its name, or by both."""
    ideas = [os.path.join(IDEAS, name) for name in _directories(root, IDEAS) if name == wanted]
    others = [os.path.join(home, name) for home in (SPECS, RAFA_PLANS) for name in _directories(root, home)]
    return ideas + [path for path in others if wanted in _names_of(os.path.basename(path))]


def _names_of(directory: str) -> tuple[str, ...]:
    lead, _, rest = directory.partition("-")
    return (directory, lead, rest) if rest else (directory,)


def _directories(root: str, home: str) -> list[str]:
    try:
        with os.scandir(os.path.join(root, home)) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir())
    except OSError:
        return []


def _relative(path: str, root: str) -> str:
    return os.path.relpath(path, os.path.realpath(root)).replace(os.sep, "/")


def _recognised(found: Found, shown: str, ignore_uncommitted: bool) -> PlanPlace:
    for dialect in dialects():
        recognised = dialect.recognise(found)
        if recognised is None:
            continue
        inside = [shown, recognised.file] if recognised.file else [shown]
        beside = tuple(f"{shown}/{name}" for name in dialect.companions(found))
        asks = bool(beside) and not ignore_uncommitted
        return PlanPlace(dialect, "/".join(inside), recognised.name, beside, asks)
    raise _unknown_kind(shown, found)


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


def _as_begun(git: Git, path: str, shown: str) -> Found | None:
    """An agent that took the plan away and was then cut off must not keep its task from being recovered, nor
    a git call that was killed while it wrote the plan. A plan that was being added is not at the base."""
    from holdfast.engine.flight import Flight, read_flight
    from holdfast.workspaces.base import Workspace

    flight = read_flight(Workspace(git, "").tree_state)
    if not isinstance(flight, Flight) or not f"{flight.plan}/".startswith(f"{shown}/"):
        return None
    if flight.plan == shown:
        at_tip, at_base = git.objects([f"HEAD:{shown}", f"{flight.base}:{shown}"])
        return Found(path, None, at_base if at_tip is None else at_tip)
    for commit in ("HEAD", flight.base):
        if names := git.text("ls-tree", "--name-only", f"{commit}:{shown}", expect=(0, 128)):
            return Found(path, tuple(names.splitlines()), None)
    return None


def _unknown_kind(shown: str, found: Found) -> UsageError:
    if found.names is not None:
        return PlanError(
            shown,
            0,
            "a directory that holds no plan Holdfast knows",
            fix="give a Markdown file with a task list, an idea directory with NAME-idea, -spec and -plan, "
            "an Auto-Claude spec with implementation_plan.json, a rafa plan with plan.json, "
            "or an epic's directory with NAME.epic.yaml",
        )
    return PlanError(
        shown, 0, "not a plan Holdfast knows", fix="a plan is a Markdown file with `- [ ] task` lines"
    )
