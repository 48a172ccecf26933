"""Before anything new starts, what a dead run left alive is ended."""

from holdfast.engine.site import Site
from holdfast.model.events import Recovered
from holdfast.system import leftovers


def end_leftovers(site: Site) -> None:
    ended = leftovers.end_leftovers(site.token_prefix)
    if ended:
        many = "process" if ended == 1 else "processes"
        site.record(Recovered(f"{ended} {many} of a dead run, still alive", "ended before going on"))
