"""The sweep over failing operations: the Nth one fails, once or for good; then the cause is gone."""

from typing import NamedTuple

from proof.scene import Scene
from proof.sweep import Struck
from proof.system_calls import count, struck_by, trace


class Failure(NamedTuple):
    error: str
    whose: str
    lasting: bool


_VICTIMS = {"EACCES": ("runner",), "ENOSPC": ("runner", "git"), "EIO": ("runner", "git")}
"""A permission that git lacks, we lack too."""
WAYS = {
    f"{error} {'for good' if lasting else 'once'}, {whose}": Failure(error, whose, lasting)
    for error, victims in _VICTIMS.items()
    for whose in victims
    for lasting in (False, True)
}


def points(scene: Scene, error: str, whose: str) -> list[int]:
    return list(range(1, count(scene, "--fail", error, "--whose", whose).points + 1))


def strike_with(way: str, scene: Scene, point: int) -> Struck:
    error, whose, lasting = WAYS[way]
    options = ("--lasting",) if lasting else ()
    outcome, said = trace(scene, point, "--fail", error, "--whose", whose, *options)
    return struck_by(scene, way, outcome, said)
