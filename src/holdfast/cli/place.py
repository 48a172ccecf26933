"""Where we stand: the repository around the current directory, and the plan the user means."""

import os
from collections.abc import Callable, Iterable, Mapping

from holdfast.engine.flight import Flight, read_flight
from holdfast.engine.place import PlanPlace
from holdfast.errors import PlanError, UsageError
from holdfast.journal import read_only
from holdfast.model.events import RunStarted
from holdfast.model.plan import Document
from holdfast.system.git import Git, Unreadable, find_repository
from holdfast.workspaces.base import Workspace, state_directory

Version = Callable[[], Document | None]
"""Reads a plan from one of the places where it may be."""


def repository() -> Git:
    try:
        return find_repository(os.getcwd())
    except FileNotFoundError:
        raise UsageError("the current directory has been removed", fix="cd into the repository") from None


def repository_root() -> str:
    return repository().root


def journal_path(git: Git) -> str:
    return os.path.join(state_directory(git), "journal.db")


def plan_place(git: Git, wanted: str | None, *, ignore_uncommitted: bool = False) -> PlanPlace:
    """The plan named on the command line, else the one this repository worked on last."""
    from holdfast.registry import find_plan

    path = wanted if wanted else os.path.join(git.root, _last_plan(git))
    return find_plan(git, path, ignore_uncommitted=ignore_uncommitted)


def is_configured(root: str, environ: Mapping[str, str]) -> bool:
    """May anything but a default apply? Asked without reading a file: `status` has no time to waste."""
    home = os.path.join(environ.get("HOME", ""), ".config")
    user = (environ.get("XDG_CONFIG_HOME", ""), home)
    files = [os.path.join(root, name) for name in ("holdfast.toml", "pyproject.toml")]
    files += [os.path.join(directory, "holdfast", "config.toml") for directory in user if directory]
    return any(name.startswith("HOLDFAST_") for name in environ) or any(map(os.path.exists, files))


def first_readable(place: PlanPlace, commits: Iterable[Version], trees: Iterable[Version]) -> Document:
    """The plan from the first version that is there and can be read; the error of the first if none can.

    A file in a tree does not stand for one that a commit has and git cannot read: its marks may be others.
    """
    errors: list[PlanError | Unreadable] = []
    for versions in (commits, trees):
        for read in versions:
            try:
                if (document := read()) is not None:
                    return document
            except (PlanError, Unreadable) as error:
                errors.append(error)
        if any(isinstance(error, Unreadable) for error in errors):
            break
    raise errors[0] if errors else PlanError(place.path, 0, "no such file", fix="give the path of a plan")


def _last_plan(git: Git) -> str:
    flight = read_flight(Workspace(git, "").tree_state)
    if isinstance(flight, Flight):
        return flight.plan
    plans = [
        e.event.plan
        for e in read_only(journal_path(git)).entries(kinds=("run_started",))
        if isinstance(e.event, RunStarted)
    ]
    if plans:
        return plans[-1]
    raise UsageError(
        "no plan is given and none has been run in this repository yet",
        fix="name one: holdfast run path/to/plan.md",
    )
