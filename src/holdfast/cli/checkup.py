"""The checks of `holdfast doctor`, each a function that looks at one thing."""

import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from holdfast import registry
from holdfast.cli.session import agent_options, reviewer_options
from holdfast.config import NAMED_AGENTS, load_config
from holdfast.errors import ConfigError, HoldfastError
from holdfast.system.process import Completed, capture

LEAST_GIT = (2, 34)
AGENTS = ("claude", "codex", "gemini", "opencode", "goose", "qwen", "copilot", "aider")
LITTLE_SPACE = 1 << 30
NO_SPACE = 50 << 20
_PR_GET_CHILD_SUBREAPER = 37


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(NamedTuple):
    check: str
    level: Level
    found: str
    fix: str = ""


def check_machine(environ: Mapping[str, str]) -> Iterator[Finding]:
    yield _git_version()
    yield _supervisor()
    yield _agents(environ)


def check_repository(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Everything about the repository around the current directory; stops where the rest makes no sense."""
    place = _repository()
    yield place
    if place.level is Level.FAIL:
        return
    root, common, private = _git_lines("--show-toplevel", "--git-common-dir", "--absolute-git-dir")
    yield _branch()
    yield _identity()
    yield _configuration(root, environ)
    yield _space(root)
    yield _state_directory(common)
    yield from _stale_locks(sorted({common, private}))


def _git_version() -> Finding:
    wanted = ".".join(map(str, LEAST_GIT))
    if not shutil.which("git"):
        return Finding("git", Level.FAIL, "git is not on PATH", f"install git {wanted} or newer")
    text = _text(capture(["git", "--version"]).out)
    version = re.search(r"(\d+)\.(\d+)", text)
    if version and (int(version[1]), int(version[2])) >= LEAST_GIT:
        return Finding("git", Level.OK, text)
    return Finding("git", Level.FAIL, f"{text} is too old", f"install git {wanted} or newer")


def _supervisor() -> Finding:
    if sys.platform == "linux" and _has_subreaper():
        return Finding("supervisor", Level.OK, "an agent's whole process tree can be ended (child subreaper)")
    return Finding(
        "supervisor",
        Level.WARN,
        "no child subreaper here: a program that leaves the agent's tree is found only by its token",
        "run on Linux where agents start background programs",
    )


def _has_subreaper() -> bool:
    import ctypes

    answer = ctypes.c_int()
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    return prctl is not None and prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(answer), 0, 0, 0) == 0


def _agents(environ: Mapping[str, str]) -> Finding:
    found = [name for name in AGENTS if shutil.which(name, path=environ.get("PATH"))]
    if found:
        named = [f"--agent {name}" for name in found if name in NAMED_AGENTS]
        use = " or ".join((*named, "--agent-cmd"))
        return Finding("agents", Level.OK, f"{', '.join(found)} on PATH: use one with {use}")
    return Finding(
        "agents",
        Level.WARN,
        "none of the agents known by name is on PATH",
        f"install one ({', '.join(AGENTS)}), or give any program with --agent-cmd",
    )


def _repository() -> Finding:
    inside = _git("rev-parse", "--is-bare-repository", "--is-inside-work-tree")
    answers = _text(inside.out).split()
    if inside.code != 0:
        fix = "change to your project's directory, or make it a repository with `git init`"
        return Finding("repository", Level.FAIL, _text(inside.err) or "git gave no answer", fix)
    if answers != ["false", "true"]:
        fix = "run from its work tree; a bare repository has none: `git worktree add ../work` makes one"
        return Finding("repository", Level.FAIL, "this is a bare repository or a .git directory", fix)
    if _git("rev-parse", "--quiet", "--verify", "HEAD^{commit}").code != 0:
        fix = "make the first commit: `git add -A && git commit -m 'First commit'`"
        return Finding("repository", Level.FAIL, "no commits yet", fix)
    return Finding("repository", Level.OK, _git_lines("--show-toplevel")[0])


def _branch() -> Finding:
    name = _text(_git("symbolic-ref", "--quiet", "--short", "HEAD").out)
    if name:
        return Finding("branch", Level.OK, name)
    fix = "`git switch BRANCH`, or `git switch -c NAME` for a new one"
    return Finding("branch", Level.FAIL, "HEAD is detached: there is no branch to commit to", fix)


def _identity() -> Finding:
    # Without useConfigOnly git makes up a name from the account, and the commits then carry that.
    answer = _git("-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT")
    if answer.code == 0:
        return Finding("identity", Level.OK, _text(answer.out).rpartition(">")[0] + ">")
    fix = "`git config user.name 'YOUR NAME'` and `git config user.email YOU@EXAMPLE.COM`"
    return Finding("identity", Level.FAIL, "git does not know who commits (user.name, user.email)", fix)


def _configuration(root: str, environ: Mapping[str, str]) -> Finding:
    try:
        config = load_config(root, environ, {})
    except ConfigError as error:
        return Finding("config", Level.FAIL, error.message, error.fix)
    if config.agent == "command" and not config.agent_cmd:
        fix = "set agent in holdfast.toml (`holdfast init` writes one), or give --agent with each run"
        return Finding("config", Level.WARN, "valid, but it names no agent", fix)
    try:
        registry.agent(config.agent, agent_options(config, environ, root)).require()
        if reviewer := registry.reviewer(config.review_agent, reviewer_options(config, environ, root)):
            reviewer.require()
    except HoldfastError as error:
        return Finding("config", Level.FAIL, error.message, error.fix)
    return Finding("config", Level.OK, f"agent: {config.agent_in_words} ({config.origin['agent']})")


def _space(root: str) -> Finding:
    system = os.statvfs(root)
    free = system.f_bavail * system.f_frsize
    found = f"{free / (1 << 30):.1f} GiB free"
    if free >= LITTLE_SPACE:
        return Finding("disk", Level.OK, found)
    level = Level.FAIL if free < NO_SPACE else Level.WARN
    return Finding("disk", level, found, f"make room on the disk of {root}")


def _state_directory(common: str) -> Finding:
    """A file without a name is locked where the run's own lock will be; nothing is left behind."""
    import fcntl

    directory = os.path.join(common, "holdfast")
    place = directory if os.path.isdir(directory) else common
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except PermissionError as error:
        fix = f"give yourself the right to write there: `ls -ld {shlex.quote(place)}` shows who has it"
        return Finding("state", Level.FAIL, f"{place} is not writable: {error.strerror}", fix)
    except OSError as error:
        fix = "move the repository to a file system with flock and free space"
        return Finding("state", Level.FAIL, f"cannot lock a file in {place}: {error.strerror}", fix)
    return Finding("state", Level.OK, f"{place} is writable and files in it can be locked")


def _stale_locks(directories: list[str]) -> Iterator[Finding]:
    locks = [lock for directory in directories for lock in _locks(directory)]
    if not locks:
        yield Finding("locks", Level.OK, "no lock file of git is left over")
    for path in locks:
        found = f"{path} {_age(path)}: git commands fail while it is there"
        yield Finding("locks", Level.WARN, found, f"if no git command is running: rm {shlex.quote(path)}")


def _age(path: str) -> str:
    try:
        minutes = max(0.0, time.time() - os.stat(path).st_mtime) / 60
    except FileNotFoundError:
        return "was there a moment ago"
    return f"is {minutes:.0f} min old"


def _locks(directory: str) -> Iterator[str]:
    top = (os.path.join(directory, name) for name in sorted(os.listdir(directory)))
    yield from (path for path in top if path.endswith(".lock"))
    for parent, _, names in os.walk(os.path.join(directory, "refs")):
        yield from (os.path.join(parent, name) for name in sorted(names) if name.endswith(".lock"))


def _git_lines(*questions: str) -> list[str]:
    return os.fsdecode(_git("rev-parse", "--path-format=absolute", *questions).out).splitlines()


def _git(*words: str) -> Completed:
    return capture(["git", "--no-optional-locks", *words], env={**os.environ, "LC_ALL": "C"})


def _text(data: bytes) -> str:
    return os.fsdecode(data).strip()
