"""`--force-new`: begin a plan again. What was recorded is archived or unmarked in a commit of its own.

Commits of the earlier run stay in the history; from that commit on they no longer count.
"""

import os

from holdfast.engine import rescue
from holdfast.engine.flight import Flight, read_flight
from holdfast.engine.land import drop_helpers
from holdfast.engine.leftover import end_leftovers
from holdfast.engine.marks import commit_anew
from holdfast.engine.observe import plan_at_tip
from holdfast.engine.site import Site
from holdfast.engine.source import in_tree, plan_in_tree
from holdfast.model.events import Noticed, Rescued
from holdfast.model.plan import Document, Status
from holdfast.system import clock, files


def begin_anew(site: Site) -> None:
    _begin_anew(site)
    site.record(Noticed("begun anew; from here on run without --force-new, which begins again every time"))


def _begin_anew(site: Site) -> None:
    end_leftovers(site)
    _let_go_of_partial_work(site)
    state = site.plan.dialect.marks_in(site.plan.path)
    tip = site.git.resolve(site.branch) or ""
    if state == site.plan.path:
        document = plan_at_tip(site, tip) or plan_in_tree(site.git.root, site.plan)
        commit_anew(site, tip, _all_open(site, document))
        return
    archive = _archive(site, state)
    commit_anew(site, tip, plan_in_tree(site.git.root, site.plan), archive)


def _let_go_of_partial_work(site: Site) -> None:
    flight = read_flight(site.workspace.tree_state)
    if not isinstance(flight, Flight) or flight.run != site.run:
        return
    if not site.git.dirt().clean:
        reason = f"work of task {flight.task}, before the plan began anew"
        ref = rescue.snapshot(site.workspace, site.run, flight.key, reason)
        site.record(Rescued(ref, "the plan begins anew", flight.task))
        rescue.restore_start(site.workspace, flight.base)
    drop_helpers(site)


def _all_open(site: Site, document: Document) -> Document:
    for task in document.plan.tasks:
        if task.status.settled:
            document = site.plan.dialect.mark(document, task.id, Status.PENDING)
    return document


def _archive(site: Site, state: str) -> str:
    """The state file under another name, unread: it may be one that cannot be read."""
    data = in_tree(site.git.root, state)
    if data is None:
        return ""
    stem, ending = os.path.splitext(state)
    archive = f"{stem}.{clock.stamp()}{ending}"
    files.write_durably(os.path.join(site.git.root, archive), data, fault="anew.archived")
    files.remove_durably(os.path.join(site.git.root, state), fault="anew")
    site.record(Noticed(f"Archived existing state: {archive}"))
    return archive
