"""What to type when a build is done: the last lines of a run, and of its `status`."""

import os
import shlex

from holdfast.engine.build import is_merged, short
from holdfast.system.git import Git
from holdfast.views.build import how_to_finish, next_lines


def tell_how_to_finish(checkout: Git, plan: str, branch: str, *, whole: bool) -> None:
    """`whole`: the plan is done. Otherwise there is only something to look at."""
    lines = words_at_the_end(checkout, plan, branch)
    for line in lines if whole else lines[:1]:
        print(line)


def words_at_the_end(checkout: Git, plan: str, branch: str) -> tuple[str, ...]:
    """None where the branch is gone: all of it was merged then, or it was discarded."""
    here = checkout.current_branch() or ""
    if here == branch or checkout.resolve(branch) is None:
        return ()
    named = shlex.quote(os.path.relpath(os.path.join(checkout.root, plan)))
    merged = is_merged(checkout, branch, "HEAD")
    steps = how_to_finish(named, short(branch), short(here), merged=merged)
    return tuple(next_lines(steps))
