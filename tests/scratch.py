"""Scratch repositories and the real command line, cut off from the configuration of whoever tests."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

HOLDFAST = (sys.executable, "-P", "-m", "holdfast")


class Result(NamedTuple):
    code: int
    out: str
    err: str


class Repo(NamedTuple):
    """A git repository of its own, with one commit on branch main."""

    path: Path
    env: dict[str, str]

    def git(self, *words: str, input: str = "") -> str:
        """What git prints, without the last newline. A git that fails is a test that fails."""
        result = run(("git", *words), cwd=self.path, env=self.env, input=input)
        assert result.code == 0, f"git {' '.join(words)}: {result.err}"
        return result.out.removesuffix("\n")

    def write(self, path: str, text: str | bytes) -> Path:
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode() if isinstance(text, str) else text)
        return target

    def commit(self, message: str) -> str:
        """Commit everything as it stands, even nothing; returns the commit's id."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


class Cli(NamedTuple):
    """Runs the real `holdfast` as a process of its own."""

    cwd: Path
    env: dict[str, str]

    def __call__(
        self,
        *words: str,
        cwd: Path | None = None,
        input: str = "",
        env: Mapping[str, str] | None = None,
        timeout: float = 60.0,
    ) -> Result:
        """`env` is added to the hermetic environment."""
        environment = {**self.env, **(env or {})}
        return run((*HOLDFAST, *words), cwd=cwd or self.cwd, env=environment, input=input, timeout=timeout)


def run(
    argv: tuple[str, ...], *, cwd: Path, env: Mapping[str, str], input: str = "", timeout: float = 60.0
) -> Result:
    done = subprocess.run(
        argv,
        cwd=cwd,
        env=env,
        input=input.encode(),
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    return Result(done.returncode, _text(done.stdout), _text(done.stderr))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def hermetic_environment(home: Path) -> dict[str, str]:
    """Nothing of the caller's environment but PATH: no identity, no configuration, no HOLDFAST_*.

    Most tests watch one tree, the one they stand in; those of working trees say so.
    """
    people = {
        f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in _PERSON.items()
    }
    return {
        **people,
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(_made(home / "tmp")),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(home.parent),
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "NO_COLOR": "1",
        "HOLDFAST_MODE": "trunk",
    }


_PERSON = {"NAME": "Test Person", "EMAIL": "test@example.com"}


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def scratch_repo(path: Path, env: dict[str, str]) -> Repo:
    repo = Repo(_made(path), env)
    repo.git("init", "--quiet", "--initial-branch=main")
    repo.write("README.md", "# Scratch\n")
    repo.commit("First commit")
    return repo
