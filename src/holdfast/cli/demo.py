"""`holdfast demo`: a real run, a real kill -9 in the middle of a task, and the recovery, before your eyes."""

import os
import signal
from argparse import ArgumentParser, Namespace
from shlex import quote

from holdfast.cli.demo_checks import checks, wait_for_death
from holdfast.cli.demo_project import Project, make_project
from holdfast.cli.stage import Stage
from holdfast.engine.flight import Flight, read_flight
from holdfast.errors import HoldfastError
from holdfast.system import clock
from holdfast.system.process import Child
from holdfast.system.text import Lines

_RUN_SECONDS = 60.0
_DEATH_SECONDS = 10.0
_COMMAND = "holdfast run plan.md"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--keep", metavar="DIR", help="make the sample in this directory (default: a temporary one)"
    )


def execute(args: Namespace) -> int:
    stage = Stage()
    stage.open(
        "A plan of four tasks, a kill -9 in the middle of the third, and then the same command again.",
        "A script plays the agent, so no key is needed. Git, the processes and the kill are real.",
    )
    project = make_project(args.keep)
    _show_plan(stage, project)
    token_prefix, torn = _run_and_kill(stage, project)
    _run_again(stage, project)
    _show_history(stage, project)
    kept = _check(stage, project, token_prefix, torn)
    _show_around(stage, project)
    return 0 if kept else 1


def _show_plan(stage: Stage, project: Project) -> None:
    stage.act("A small project with a plan")
    for line in project.git("show", "HEAD:plan.md").splitlines():
        if line.startswith("- "):
            stage.say(line)
    stage.pause()


def _run_and_kill(stage: Stage, project: Project) -> tuple[str, str]:
    """What begins the token of the agent's processes, and what it left in the file it was writing."""
    stage.act("Run it")
    stage.command(_COMMAND)
    with project.run() as runner:
        _watch(stage, runner, until=project.beside("halfway"))
        token_prefix = _token_prefix(project)
        _kill(stage, project, runner)
    with open(os.path.join(project.root, "common.py"), encoding="utf-8") as file:
        torn = file.read()
    stage.say(f"Left in the tree is a torn common.py; its last line: {torn.splitlines()[-1].strip()}")
    stage.pause()
    return token_prefix, torn


def _watch(stage: Stage, runner: Child, until: str = "") -> None:
    """Shows what it says, to its end or until that file is there and it has fallen silent."""
    lines = Lines()
    deadline = clock.monotonic() + _RUN_SECONDS
    while clock.monotonic() < deadline:
        chunk = runner.read(0.1)
        for line in lines.feed(chunk or b""):
            stage.output(line)
        if chunk == b"" or (chunk is None and until and os.path.exists(until)):
            return
    raise HoldfastError(f"the run of the demo did not end within {_RUN_SECONDS:.0f} s")


def _token_prefix(project: Project) -> str:
    flight = read_flight(os.path.join(project.root, ".git", "holdfast", "trees", "main"))
    if not isinstance(flight, Flight):
        raise HoldfastError("the run of the demo ended before it could be killed")
    return flight.token.partition(".")[0] + "."


def _kill(stage: Stage, project: Project, runner: Child) -> None:
    with open(project.beside("processes"), encoding="ascii") as file:
        agent, server = map(int, file.read().split())
    stage.act("Kill the runner, with the agent in the middle of T3")
    stage.say(f"runner {runner.pid}, its agent {agent}, and a server that the agent has detached, {server}")
    stage.command(f"kill -9 {runner.pid}")
    began = clock.monotonic()
    os.kill(runner.pid, signal.SIGKILL)
    gone = wait_for_death((agent, server), _DEATH_SECONDS)
    seconds = clock.monotonic() - began
    stage.verdict(
        gone, f"{seconds:.2f} s later the agent and its server are gone too: nobody goes on writing"
    )


def _run_again(stage: Stage, project: Project) -> None:
    with open(project.beside("go-on"), "wb"):
        stage.act("Run the same command again")
    stage.command(_COMMAND)
    with project.run() as runner:
        _watch(stage, runner)
    stage.pause()


def _show_history(stage: Stage, project: Project) -> None:
    stage.act("What git has: one commit per task, each with its mark in the plan")
    stage.command("git log --oneline")
    for commit in reversed(project.commits()):
        marks = ", ".join(commit.marks)
        stage.say(f"{commit.name[:7]} {commit.subject:<50} [x] {marks}  {' '.join(commit.files)}")
    stage.say(project.git("log", "--oneline", "--max-parents=0").strip())
    stage.pause()


def _check(stage: Stage, project: Project, token_prefix: str, torn: str) -> bool:
    stage.act("What was promised, checked")
    kept = True
    for promise, holds in checks(project, token_prefix, torn):
        stage.verdict(holds, promise)
        kept = kept and holds
    return kept


def _show_around(stage: Stage, project: Project) -> None:
    stage.act("Look around")
    for command, why in (
        (f"cd {quote(project.root)}", ""),
        ("holdfast status", "what was recovered, and what is under rescue"),
        ("holdfast log T3", "the story of the task that was cut off"),
        ("git show HEAD~1", "its commit: code, test and mark"),
    ):
        stage.say(f"{command:<18} {why}".rstrip())
    stage.say("In a repository of your own: holdfast doctor, holdfast init, holdfast run PLAN")
