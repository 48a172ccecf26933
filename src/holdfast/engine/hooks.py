"""The project's commit hooks, run as git would run them, but before anything is sealed."""

import os
from typing import NamedTuple

from holdfast.engine.site import Site, stopped
from holdfast.system import objects
from holdfast.system.leftovers import TOKEN_VARIABLE
from holdfast.system.process import Limits, Program, Unstartable, supervise
from holdfast.system.text import Tail


class HookRun(NamedTuple):
    name: str
    passed: bool
    output: str
    seconds: float


def run_hook(site: Site, token: str, name: str, *arguments: str) -> HookRun | None:
    """None when the project has no such hook."""
    path = site.git.git_path(f"hooks/{name}")
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        return None
    said = Tail()
    limits = Limits(site.policy.hook_timeout)

    def start(argv: tuple[str, ...]) -> HookRun:
        program = Program(argv, site.git.root, _environment(site, token), lock=site.lock)
        with objects.made_durable(site.git.common_dir):
            ended = supervise(program, limits, site.stops, lambda stream, chunk: said.add(chunk))
        if ended.why == "stopped":
            raise stopped(site, f"while the {name} hook ran")
        late = f"\n(killed: not finished after {limits.timeout:.0f} s)" if ended.why else ""
        return HookRun(
            name, ended.exit_code == 0 and not ended.why, said.text().strip() + late, ended.seconds
        )

    try:
        return start((path, *arguments))
    except Unstartable:
        return start(("/bin/sh", path, *arguments))  # no #! line: git falls back to the shell too


def _environment(site: Site, token: str) -> dict[str, str]:
    return {
        **os.environ,
        "GIT_INDEX_FILE": site.private_index,
        "GIT_EDITOR": ":",
        "GIT_PREFIX": "",
        TOKEN_VARIABLE: token,
    }
