"""The project's commit hooks, run as git would run them, but before anything is sealed."""

import os
from typing import NamedTuple

from holdfast.engine.site import Site
from holdfast.errors import Interrupted
from holdfast.system import objects
from holdfast.system.git import Git
from holdfast.system.leftovers import TOKEN_VARIABLE
from holdfast.system.process import Limits, Program, Stops, Unstartable, supervise
from holdfast.system.text import Tail


class HookRun(NamedTuple):
    name: str
    passed: bool
    output: str
    seconds: float


class Ground(NamedTuple):
    """Where hooks run, and within which bounds."""

    git: Git
    index_file: str
    timeout: float
    stops: Stops
    lock: int


def run_hook(site: Site, token: str, name: str, *arguments: str) -> HookRun | None:
    ground = Ground(site.git, site.private_index, site.policy.hook_timeout, site.stops, site.lock)
    return run_hook_in(ground, token, name, *arguments)


def hook_path(git: Git, name: str) -> str:
    """ "" when the project has no such hook."""
    path = git.git_path(f"hooks/{name}")
    return path if os.path.isfile(path) and os.access(path, os.X_OK) else ""


def run_hook_in(ground: Ground, token: str, name: str, *arguments: str) -> HookRun | None:
    """None when the project has no such hook."""
    path = hook_path(ground.git, name)
    if not path:
        return None
    said = Tail()
    limits = Limits(ground.timeout)

    def start(argv: tuple[str, ...]) -> HookRun:
        program = Program(argv, ground.git.root, _environment(ground.index_file, token), lock=ground.lock)
        with objects.made_durable(ground.git.common_dir):
            ended = supervise(program, limits, ground.stops, lambda stream, chunk: said.add(chunk))
        if ended.why == "stopped":
            raise Interrupted(
                f"stopped while the {name} hook ran; nothing was committed by it",
                signal_number=ground.stops.signal_number,
                fix="run the same command again: it goes on from here",
            )
        late = f"\n(killed: not finished after {limits.timeout:.0f} s)" if ended.why else ""
        return HookRun(
            name, ended.exit_code == 0 and not ended.why, said.text().strip() + late, ended.seconds
        )

    try:
        return start((path, *arguments))
    except Unstartable:
        return start(("/bin/sh", path, *arguments))  # no #! line: git falls back to the shell too


def _environment(index: str, token: str) -> dict[str, str]:
    return {
        **os.environ,
        "GIT_INDEX_FILE": index,
        "GIT_EDITOR": ":",
        "GIT_PREFIX": "",
        TOKEN_VARIABLE: token,
    }
