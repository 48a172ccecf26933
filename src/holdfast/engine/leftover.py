"""Before anything new starts, what a dead run left alive is ended."""

import os

from holdfast.engine.site import Site, token_prefix
from holdfast.model.events import Recovered
from holdfast.system import leftovers
from holdfast.workspaces.base import Slot


def end_leftovers(site: Site, slot: Slot | None = None) -> None:
    """In this tree, or in another of the run's."""
    prefix = token_prefix(os.path.join(site.git.common_dir, "worktrees", slot.tree)) if slot else ""
    ended = leftovers.end_leftovers(prefix or site.token_prefix)
    if ended:
        many = "process" if ended == 1 else "processes"
        site.record(Recovered(f"{ended} {many} of a dead run, still alive", "ended before going on"))
