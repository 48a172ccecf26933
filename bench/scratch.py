"""Hermetic repositories in a directory that goes away, and programs timed in them."""

import os
import subprocess
import sys
import time
from typing import NamedTuple

FILES_PER_DIRECTORY = 50
HOLDFAST = os.path.join(os.path.dirname(sys.executable), "holdfast")


class Bench(NamedTuple):
    directory: str
    env: dict[str, str]
    quick: bool


class Repo(NamedTuple):
    path: str
    env: dict[str, str]

    def git(self, *words: str, stdin: bytes = b"") -> str:
        done = subprocess.run(
            ("git", *words), cwd=self.path, env=self.env, input=stdin, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def write(self, name: str, text: str) -> None:
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def commit(self, message: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)

    def timed(self, *argv: str) -> float:
        """Seconds until the program has ended. One that fails makes the whole benchmark worthless."""
        began = time.perf_counter()
        done = subprocess.run(
            argv, cwd=self.path, env=self.env, stdin=subprocess.DEVNULL, capture_output=True
        )
        seconds = time.perf_counter() - began
        if done.returncode:
            raise SystemExit(f"{' '.join(argv)} exited with {done.returncode}:\n{done.stderr.decode()}")
        return seconds


def hermetic_environment(home: str) -> dict[str, str]:
    """Nothing of the caller's but PATH: no identity, no git or Holdfast configuration."""
    os.makedirs(home)
    people = {f"GIT_{who}_NAME": "Bench" for who in ("AUTHOR", "COMMITTER")}
    addresses = {f"GIT_{who}_EMAIL": "bench@example.com" for who in ("AUTHOR", "COMMITTER")}
    return {
        **people,
        **addresses,
        "PATH": os.environ["PATH"],
        "HOME": home,
        "XDG_CONFIG_HOME": os.path.join(home, "config"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "LC_ALL": "C.UTF-8",
        "HOLDFAST_MODE": "trunk",
    }


def make_repo(bench: Bench, name: str, files: int = 1) -> Repo:
    """`files` small files in directories of 50, committed and packed, as in a repository of some age."""
    repo = Repo(os.path.join(bench.directory, name), bench.env)
    os.makedirs(repo.path)
    repo.git("init", "--quiet", "--initial-branch=main")
    repo.git("fast-import", "--quiet", stdin=_history(files))
    repo.git("reset", "--quiet", "--hard")
    return repo


def _history(files: int) -> bytes:
    lines = [
        "commit refs/heads/main",
        "committer Bench <bench@example.com> 1700000000 +0000",
        "data 5",
        "Start",
    ]
    for number in range(files):
        text = f"This is file {number}.\n" * 8
        lines += [f"M 100644 inline {_name(number)}", f"data {len(text)}", text]
    return ("\n".join(lines) + "\n").encode()


def _name(number: int) -> str:
    directory = number // FILES_PER_DIRECTORY
    return f"src/part{directory // 50}/module{directory % 50}/file{number}.txt"
