"""Begin: make the in-flight record durable and pin the base, before anything is started."""

import secrets

from holdfast.engine.flight import Flight, Others, write_flight
from holdfast.engine.guard import protected_files, put_files_back
from holdfast.engine.other_refs import other_refs
from holdfast.engine.pin import pin_base
from holdfast.engine.site import Site
from holdfast.engine.source import in_tree
from holdfast.model.events import Noticed
from holdfast.model.plan import Document, Task
from holdfast.system import clock


def begin(site: Site, task: Task, plan: Document, base: str, attempt: int) -> Flight:
    """`plan` is the one at the base. `attempt` 0 is a change of marks by hand."""
    flight = Flight(
        run=site.run,
        plan=site.plan.path,
        task=task.id,
        key=task.key,
        title=task.title,
        base=base,
        branch=site.branch,
        boot=clock.boot_id(),
        token=site.token_prefix + secrets.token_hex(8),
        attempt=attempt,
        protected=_protected(site) if attempt else {},
        ignored={path: in_tree(site.git.root, path) for path in plan.ignored},
        others=_others(site) if attempt else None,
        began=clock.now(),
    )
    write_flight(site.workspace.tree_state, flight)
    if not flight.by_hand:
        pin_base(site, flight)
    return flight


def _protected(site: Site) -> dict[str, bytes | None]:
    return site.watch.protected if site.watch else protected_files(site.git)


def _others(site: Site) -> Others:
    return site.watch.others if site.watch else other_refs(site, site.branch)


def rest(site: Site, flight: Flight) -> None:
    """The agent is dead. Config, hooks and other refs are as they were; whatever changes there from here on
    is the user's doing, which the record must not let be undone."""
    for notice in put_files_back(site, flight):
        site.record(Noticed(notice, flight.task))
    if flight.attempt and flight.boot:
        write_flight(site.workspace.tree_state, flight._replace(protected={}, others=None))


def begin_without_commit(site: Site, task: Task) -> Flight:
    """For `--allow-dirty`: nothing to recover by git, so nothing is pinned or recorded."""
    token = site.token_prefix + secrets.token_hex(8)
    head = site.git.resolve("HEAD") or ""
    return Flight(
        site.run, site.plan.path, task.id, task.key, task.title, head, site.branch, "", token, 1, {}
    )
