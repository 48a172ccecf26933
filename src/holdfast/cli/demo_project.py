"""The sample repository of the demo, cut off from the user's own settings for git and for Holdfast."""

import json
import os
import sys
import tempfile
from shlex import quote
from typing import NamedTuple

from holdfast.errors import GitError, UsageError
from holdfast.system.process import Child, capture

SAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sample")
PERSON = {"NAME": "Demo", "EMAIL": "demo@example.com"}


class Commit(NamedTuple):
    name: str
    subject: str
    task: str
    """What its trailer says."""
    marks: tuple[str, ...]
    """The tasks it marks as done."""
    files: tuple[str, ...]
    """What it changes besides the plan."""


class Project(NamedTuple):
    directory: str
    """Holds the repository, and beside it the script of the agent and its signals."""
    environment: dict[str, str]

    @property
    def root(self) -> str:
        return os.path.join(self.directory, "wordcount")

    def beside(self, name: str) -> str:
        return os.path.join(self.directory, name)

    def git(self, *words: str) -> str:
        argv = ("git", "-C", self.root, "--no-optional-locks", *words)
        try:
            done = capture(argv, env=self.environment)
        except FileNotFoundError:
            raise UsageError("git is not installed", fix="install git 2.34 or newer") from None
        if done.code:
            words_of_git = done.err.decode("utf-8", "replace")
            raise GitError(f"git {words[0]} failed in {self.root}", stderr=words_of_git)
        return done.out.decode("utf-8", "replace")

    def run(self) -> Child:
        """The same command each time. -P: nothing in the sample can stand in for a module of ours."""
        argv = (sys.executable, "-P", "-m", "holdfast", "run", "plan.md")
        return Child(argv, cwd=self.root, env=self.environment)

    def commits(self) -> tuple[Commit, ...]:
        """Those of the run, oldest first."""
        names = self.git("rev-list", "--reverse", "HEAD").split()
        return tuple(self._commit(name) for name in names[1:])

    def _commit(self, name: str) -> Commit:
        told = self.git("log", "-1", "--format=%s%n%(trailers:key=Holdfast-Task,valueonly)", name)
        subject, task, *_ = *told.splitlines(), "", ""
        changed = self.git("diff-tree", "-r", "--no-commit-id", "--name-only", name).splitlines()
        before, after = self._done(f"{name}^"), self._done(name)
        files = tuple(path for path in changed if path != "plan.md")
        return Commit(name, subject, task, tuple(t for t in after if t not in before), files)

    def _done(self, commit: str) -> list[str]:
        lines = self.git("show", f"{commit}:plan.md").splitlines()
        return [line.split()[2] for line in lines if line.startswith("- [x] ")]


def make_project(directory: str | None) -> Project:
    project = Project(_empty_directory(directory), {})
    project = project._replace(environment=_environment(project.beside("settings")))
    os.mkdir(project.root)
    _write(
        project.beside("agent.toml"), _sample("agent.toml").replace('"PYTHON"', json.dumps(sys.executable))
    )
    _write(project.beside("server.py"), _sample("server.py"))
    _write(os.path.join(project.root, "plan.md"), _sample("plan.md"))
    _write(os.path.join(project.root, "holdfast.toml"), _settings())
    _write(os.path.join(project.root, ".gitignore"), "__pycache__/\n")
    project.git("init", "--quiet", "--initial-branch=main", "--template=")
    project.git("add", "--all")
    project.git("commit", "--quiet", "-m", "Plan a word count")
    return project


def _empty_directory(wanted: str | None) -> str:
    if wanted is None:
        return os.path.realpath(tempfile.mkdtemp(prefix="holdfast-demo-"))
    path = os.path.realpath(wanted)
    try:
        os.makedirs(path, exist_ok=True)
        if not os.listdir(path):
            return path
    except OSError as error:
        raise UsageError(f"{wanted} cannot be used: {error.strerror}", fix="name a new directory") from None
    raise UsageError(f"{wanted} is not empty", fix="name a new directory, or leave --keep out")


def _environment(settings: str) -> dict[str, str]:
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("GIT_", "HOLDFAST_"))}
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)))
    people = {f"GIT_{role}_{part}": text for role in ("AUTHOR", "COMMITTER") for part, text in PERSON.items()}
    hermetic = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "XDG_CONFIG_HOME": settings}
    return kept | people | hermetic | {"PATH": path}


def _settings() -> str:
    beside = os.path.join(os.path.dirname(sys.executable), "python3")
    python = "python3" if os.path.exists(beside) else quote(sys.executable)
    verify = json.dumps(f"{python} -m unittest -q")
    where = 'mode = "trunk"\nagent = "scripted"\nscript = "../agent.toml"\n'
    return f"{where}\n[verify]\ncommands = [{verify}]\n"


def _sample(name: str) -> str:
    with open(os.path.join(SAMPLE, name), encoding="utf-8") as file:
        return file.read()


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
