"""Before recovery looks: what programs of a dead run wrote into git is on the disk, or is out of the way.

Agents, checks and hooks use git as people do, and git's defaults flush nothing. As long as the machine goes
on that is soon mended. After a power cut an object can be empty, and whatever stands on it (a branch, HEAD,
the index) is not to be read any more.
"""

import os

from holdfast.engine import guard
from holdfast.engine.flight import Flight, read_flight
from holdfast.engine.site import Site
from holdfast.model.events import Recovered
from holdfast.system import clock, objects
from holdfast.system.git import ABSENT, Git


def settle_objects(site: Site) -> None:
    flight = read_flight(site.workspace.tree_state)
    if not isinstance(flight, Flight):
        return
    if flight.boot == clock.boot_id():
        objects.flush_since(site.git.common_dir, flight.began)
        return
    torn = objects.remove_torn_since(site.git.common_dir, flight.began)
    if torn or not _readable(site.git):
        many = "object" if torn == 1 else "objects"
        site.record(Recovered(f"{torn} git {many} that a power cut tore", "removed", flight.task))
        _mend(site, flight)


def _readable(git: Git) -> bool:
    return _index_readable(git) and _is_whole(git, "HEAD", "HEAD")


def _mend(site: Site, flight: Flight) -> None:
    """The files in the tree stay as they are; of the rest only what cannot be read goes back to the base."""
    for notice in guard.clear_locks(site):
        site.record(Recovered("a git call died", notice, flight.task))
    if not _is_whole(site.git, flight.branch, flight.base):
        _put_branch_back(site, flight)
    if not _is_whole(site.git, "HEAD", flight.base):
        site.git.run("symbolic-ref", "-m", "holdfast: back to the run branch", "HEAD", flight.branch)
    if not _index_readable(site.git):
        os.unlink(os.path.join(site.git.git_dir, "index"))
    site.git.run("read-tree", "--reset", "HEAD")


def _put_branch_back(site: Site, flight: Flight) -> None:
    """No rescue: a ref to what cannot be read would keep git from ever cleaning up again."""
    tip = site.git.resolve(flight.branch)
    reason = "what it pointed at was torn by a power cut"
    site.git.move_ref(flight.branch, flight.base, tip or ABSENT, reason, fault="branch.back")
    never = ("--expire=never", "--expire-unreachable=never", "--stale-fix")
    site.git.run("reflog", "expire", *never, flight.branch, "HEAD")
    found = f"{flight.branch} at {(tip or 'nothing')[:12]}, which a power cut tore"
    site.record(Recovered(found, "put back; the files are in the tree", flight.task))


def _is_whole(git: Git, revision: str, since: str) -> bool:
    """Everything that it adds to `since` can be read."""
    code, _ = git.answer("rev-list", "--objects", "--quiet", revision, f"^{since}", "--", expect=(0, 128))
    return code == 0


def _index_readable(git: Git) -> bool:
    return git.answer("ls-files", "--stage", "-z", expect=(0, 128))[0] == 0
