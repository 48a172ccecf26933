"""The pin: a ref at the commit where the task in flight began, whose reflog says which task that is.

Made right after the in-flight record and dropped right before it, so that a pin without a record tells of a
record that was lost. A change of marks by hand has no pin: nothing in the tree would be its work.
"""

import re
import secrets
from typing import NamedTuple

from holdfast.engine.flight import Flight
from holdfast.engine.site import Site
from holdfast.engine.source import plan_at
from holdfast.errors import PlanError
from holdfast.model.plan import Task
from holdfast.system import reflog
from holdfast.system.git import ABSENT, RefMoved

_WORDS = re.compile(r"holdfast: base of (?P<key>\S+) since (?P<began>[0-9.]+)")


class _Pinned(NamedTuple):
    key: str
    began: float


def pin_base(site: Site, flight: Flight) -> None:
    """A task that landed has dropped its pin, so mostly there is none; an interrupted one has left it."""
    words = f"base of {flight.key} since {flight.began:.3f}"
    try:
        site.git.move_ref(site.base_ref, flight.base, ABSENT, words, fault="base")
    except RefMoved:
        pinned = site.git.resolve(site.base_ref)
        site.git.move_ref(site.base_ref, flight.base, pinned or ABSENT, words, fault="base")


def pinned_flight(site: Site) -> Flight | None:
    """As much of a lost record as the pin tells; None without a pin, or with one that does not say whose.

    It is of no boot, so recovery keeps what is in the tree under rescue and never makes it part of a commit.
    """
    base = site.git.resolve(site.base_ref)
    pinned = _words(site) if base else None
    if not base or not pinned:
        return None
    task = _task(site, base, pinned.key)
    return Flight(
        run=site.run,
        plan=site.plan.path,
        task=task.id if task else "",
        key=pinned.key,
        title=task.title if task else "",
        base=base,
        branch=site.branch,
        boot="",
        token=site.token_prefix + secrets.token_hex(8),
        attempt=1,
        protected={},
        began=pinned.began,
    )


def _words(site: Site) -> _Pinned | None:
    newest = next(reflog.moves(site.git, site.base_ref), None)
    found = _WORDS.fullmatch(newest.action) if newest else None
    return _Pinned(found["key"], float(found["began"])) if found else None


def _task(site: Site, base: str, key: str) -> Task | None:
    try:
        document = plan_at(site.git, site.plan, base, {}, site.attempts)
    except PlanError:
        return None
    same = [t for t in document.plan.tasks if t.key == key] if document else []
    return min(same, key=lambda task: task.status.settled, default=None)  # of two alike the one still open
