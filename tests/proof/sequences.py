"""Plays a story step by step and tells what was wrong; the same words play the same story."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

from invariants import frozen
from proof import commands, users
from proof.scene import Scene
from proof.story import Story
from proof.sweep import Verdict
from proof.world import World

MOST_RUNS = 4
"""At the end of a story: one for each thing that the user may have to put right, and one to be done."""


class Stage(Protocol):
    """A world that a story can be acted out in."""

    scene: Scene
    told: list[str]
    problems: list[str]


S = TypeVar("S", bound=Stage)


def play(story: Story, root: Path) -> Verdict:
    return act_out(story, World(root, story[0]), STEPS, _come_to_an_end)


def act_out(
    story: Story, world: S, steps: Mapping[str, Callable[[S, str], object]], end: Callable[[S], int]
) -> Verdict:
    """The scene stays when something is wrong."""
    for number, step in enumerate(story[1:], 1):
        world.told.append(f"{number}. {step}")
        name, _, argument = step.partition(":")
        steps[name](world, argument)
        if world.problems:
            break
    runs = 0 if world.problems else end(world)
    if not world.problems:
        world.scene.discard()
        return Verdict(len(story) - 1, " ".join(story), runs, ())
    replay = f"PYTHONPATH=tests .venv/bin/python -m proof.replay_sequence {shlex.join(story)}"
    return Verdict(len(story) - 1, " ".join(story), runs, (*world.problems, *world.told, f"again: {replay}"))


def _come_to_an_end(world: World) -> int:
    """All is mended, and the user puts right what a run asks for; then one more run changes nothing."""
    world.told.append("the end")
    (world.scene.root / "fail").unlink(missing_ok=True)
    runs = 0
    while not world.problems and _is_left_to_do(world):
        runs += 1
        if runs == MOST_RUNS:
            world.problems.append(f"not done after {MOST_RUNS} runs")
    if not world.problems:
        _once_more(world)
    return runs


def _is_left_to_do(world: World) -> bool:
    if world.hook_refuses:
        users.hook(world, "mended")
    code = commands.run(world)
    if code == 3:
        users.put_right(world)
    return code != 0


def _once_more(world: World) -> None:
    before = frozen(world.repo)
    commands.run(world)
    after = frozen(world.repo)
    world.problems += [
        f"I8: one more run changes the {part}" for part in before if before[part] != after[part]
    ]


def _amid(world: World, what: str) -> None:
    deeds = {"commit": lambda: users.commit(world, "file"), "edit": lambda: users.edit_for_nothing(world)}
    commands.amid(world, deeds[what])


STEPS: dict[str, Callable[[World, str], object]] = {
    "run": commands.run,
    "fault": commands.killed_at_fault,
    "git": commands.killed_at_git_call,
    "calls": commands.killed_at_system_call,
    "signal": commands.signalled,
    "amid": _amid,
    "skip": lambda world, where: commands.fate(world, "skip", where),
    "reset": lambda world, where: commands.fate(world, "reset", where),
    "retry": lambda world, where: commands.fate(world, "retry", where),
    "visit": commands.visit,
    "rescues": commands.rescues,
    **{
        name: getattr(users, name)
        for name in ("retitle", "rebody", "add", "remove", "move", "renumber", "tick", "untick")
    },
    **{name: getattr(users, name) for name in ("commit", "dirt", "clean", "lose", "spoil", "hook", "fail")},
}
