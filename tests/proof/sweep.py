"""The core of every sweep: kill at a point, run the same command again until it is done, look closely.

What differs between sweeps is only the strike: how a run is made to die (or a part of it to fail) at point N.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from invariants import broken_invariants, frozen, processes_marked_with, unlisted_rescues
from proof import disk
from proof.scene import Scene
from scratch import Result

MOST_RERUNS = 3
KILLED = -9
DOCUMENTED = (0, 1, 2, 3, 4, 5, 69, 75, 130, 143)
LANDED = re.compile(r"task (?P<task>\S+): landed as (?P<commit>[0-9a-f]+)")
KEPT = re.compile(r"\((refs/holdfast/rescue/\S+)\)")


class Struck(NamedTuple):
    code: int
    said: str
    where: str
    """The point, in words; "" when the run ended before it."""
    problems: tuple[str, ...] = ()


Strike = Callable[[Scene, int], Struck]
Look = Callable[[Scene], list[str]]


class Tally(NamedTuple):
    """One row of the table at the end."""

    sweep: str
    mode: str
    points: int
    failed: int
    reruns: int
    """The most a point needed."""


class Verdict(NamedTuple):
    point: int
    where: str
    reruns: int
    problems: tuple[str, ...]


def sweep(
    template: Scene, strike: Strike, points: Iterable[int], arena: Path, look: Look | None = None
) -> list[Verdict]:
    return [judge(template, strike, point, arena, look=look) for point in points]


def judge(
    template: Scene,
    strike: Strike,
    point: int,
    arena: Path,
    *,
    keep: bool = False,
    look: Look | None = None,
) -> Verdict:
    """The scene stays when something is wrong, or on request. `look` finds what is wrong in the end; without
    it everything that a run promises is looked at."""
    scene = template.copy(arena / f"point-{point}")
    struck = strike(scene, point)
    problems = [*struck.problems, *rough_ending(struck.code, struck.said)]
    rerun, reruns, said = _again_until_done(scene, struck)
    problems += rerun or _look_closely(scene, struck.said + said, look)
    where = struck.where or "(not reached)"
    if problems:
        problems.append(f"it said:\n{struck.said}\n--- and when run again:\n{said}")
    if problems or keep:
        disk.take_out(scene.place)
    else:
        scene.discard()
    return Verdict(point, where, reruns, tuple(problems))


def _look_closely(scene: Scene, said: str, at_end: Look | None) -> list[str]:
    try:
        return at_end(scene) if at_end else look(scene) + _broken_words(scene, said)
    except AssertionError as error:
        return [f"I7: git cannot even tell: {error}"]


def look(scene: Scene) -> list[str]:
    """Every invariant, then one more run, which must change nothing."""
    problems = broken_invariants(scene.seen, scene.expected) + scene.touched()
    before = frozen(scene.seen)
    problems += _unlisted(scene)
    once_more = scene.run()
    after = frozen(scene.seen)
    if once_more.code != 0:
        problems.append(f"I8: one more run exits {once_more.code}: {once_more.err}")
    problems += [f"I8: one more run changes the {part}" for part in before if before[part] != after[part]]
    alive = processes_marked_with(f"LEDGER={scene.ledger}\0")
    return problems + ([f"I6: alive at the end: {alive}"] if alive else [])


def _again_until_done(scene: Scene, struck: Struck) -> tuple[list[str], int, str]:
    """(problems, how often it was run again, what was said)."""
    code = struck.code
    said: list[str] = []
    problems: list[str] = []
    for reruns in range(MOST_RERUNS + 1):
        if code == 0:
            return problems, reruns, "\n".join(said)
        if reruns == MOST_RERUNS:
            break
        result = scene.run()
        code = result.code
        said.append(_words(result))
        problems += rough_ending(code, said[-1])
    return [*problems, f"not done after {MOST_RERUNS} reruns: exit {code}"], MOST_RERUNS, "\n".join(said)


def rough_ending(code: int, said: str) -> list[str]:
    """I11: an ending is a documented code and a sentence that says what to do, or our own kill."""
    problems = [] if code in (*DOCUMENTED, KILLED) else [f"I11: exit {code} is not a documented ending"]
    if code not in (0, KILLED) and not re.search(r"^  fix: \S", said, re.MULTILINE):
        problems.append(f"I11: exit {code}, and not a word about what to do")
    return problems + (["I11: a stack trace"] if "Traceback" in said else [])


def _broken_words(scene: Scene, said: str) -> list[str]:
    """What it said is done or kept, is."""
    history = scene.seen.git("rev-list", "HEAD").split()
    refs = scene.repo.git("for-each-ref", "--format=%(refname)", "refs/holdfast/rescue").split()
    landed = [found["commit"] for found in LANDED.finditer(said)]
    lost = [c for c in landed if not any(commit.startswith(c) for commit in history)]
    lost += [ref for ref in KEPT.findall(said) if ref not in refs]
    return [f"I3: it said that there is {what}, and there is not" for what in lost]


def _unlisted(scene: Scene) -> list[str]:
    refs = scene.repo.git("for-each-ref", "refs/holdfast/rescue")
    if not refs:
        return []
    status = scene.holdfast("status", "plan.md", "--json")
    return unlisted_rescues(scene.repo, status.out + status.err)


def _words(result: Result) -> str:
    return result.out + result.err
