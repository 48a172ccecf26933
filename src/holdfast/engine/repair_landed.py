"""Repairs where a commit was made: it is brought to its end, and needs no agent and no gates."""

import os

from holdfast.engine import rescue
from holdfast.engine.flight import Flight
from holdfast.engine.land import finish, publish
from holdfast.engine.observe import Sight, landed_task
from holdfast.engine.site import Site
from holdfast.model.events import Recovered, Rescued, TaskLanded


def finish_landed(site: Site, sight: Sight) -> None:
    _keep_staged(site, sight)
    finish(site, _flight_of(site, sight), sight.candidate)
    _tell_landed(site, sight, "the commit had landed; brought the index and the plan in line")


def publish_sealed(site: Site, sight: Sight) -> None:
    _keep_staged(site, sight)
    publish(site, _flight_of(site, sight), sight.candidate)
    _tell_landed(site, sight, "published it; no agent was needed")


def _keep_staged(site: Site, sight: Sight) -> None:
    """The index is about to follow the commit: what somebody staged since the crash would go with it."""
    flight = _flight_of(site, sight)
    index = os.path.join(site.git.git_dir, "index")
    commits = {f"{sight.candidate}^", sight.candidate, sight.tip}
    differing = [{change.path for change in site.git.changes(commit, index)} for commit in commits]
    if not flight.by_hand and set.intersection(*differing):
        reason = "staged by hand meanwhile"
        ref = rescue.snapshot(site.workspace, site.run, flight.key, f"task {flight.task}: {reason}")
        site.record(Rescued(ref, reason, flight.task))


def _flight_of(site: Site, sight: Sight) -> Flight:
    """The record, or, when it is gone, as much of it as the commit itself tells."""
    if sight.flight is not None and sight.flight.run == site.run:
        return sight.flight
    task, key, attempt = landed_task(site.git, sight.candidate)
    base = site.git.resolve(f"{sight.candidate}^") or ""
    return Flight(site.run, site.plan.path, task, key, "", base, site.branch, "", "", attempt, {})


def _tell_landed(site: Site, sight: Sight, did: str) -> None:
    flight = _flight_of(site, sight)
    found = f"its sealed commit {sight.candidate[:12]} of an interrupted run"
    if site.slot:
        did = "it is on the branch of its task, and lands from there"
    site.record(Recovered(found, did, flight.task))
    if not flight.by_hand:
        site.record(TaskLanded(flight.task, flight.title, sight.candidate, flight.attempt, 0.0))
