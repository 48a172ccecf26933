"""Attempts that lead nowhere: the same failure on the same files, again and again.

History alone: without a journal a task is tried as often as the policy says, and nothing else changes.
"""

import re
from collections.abc import Sequence
from hashlib import sha256

from holdfast.engine.agent_run import Try
from holdfast.engine.commit import Rejected, work_tree
from holdfast.engine.flight import Flight
from holdfast.engine.site import Site
from holdfast.engine.verdict import Failure
from holdfast.errors import GitError, GivenUp
from holdfast.model.events import AttemptFailed

# What differs between two runs of one and the same check: times, counts, addresses, names of scratch files.
_ACCIDENTS = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{7,64}\b|/tmp/\S+|/var/folders/\S+|\d+", re.IGNORECASE)

AGAIN = "Run again to try again"
CHANGE = "Change what stands in its way (the task's words, the check, what the agent may do) and run again"


def likeness(site: Site, flight: Flight, failure: Failure) -> str:
    """Equal for two attempts that failed alike and left the same files; "" when git cannot tell, or nobody
    will ask because the attempts are used up first."""
    asked = 0 < site.policy.stop_when_stuck <= site.policy.max_attempts
    tree = _tree(site, flight.base) if asked else ""
    told = (tree, *(_without_accidents(text) for text in (failure.reason, failure.feedback)))
    return sha256("\0".join(told).encode("utf-8", "surrogateescape")).hexdigest() if tree else ""


def stuck(failures: Sequence[AttemptFailed], most: int) -> bool:
    """Did the last `most` attempts fail alike? 0 asks for no such judgement."""
    last = {failure.likeness for failure in failures[-most:]} if most else set()
    return len(failures) >= most and len(last) == 1 and "" not in last


def given_up(this: Try, reason: str, alike: int, *, used_up: bool) -> GivenUp:
    """`alike` is how many attempts in a row led nowhere, 0 when they did not."""
    task = this.task.id
    nowhere = f"the last {alike} attempts failed alike and left the same files"
    if used_up:
        tries = "1 attempt" if this.number == 1 else f"{this.number} attempts"
        advice = f"{nowhere.capitalize()}. {CHANGE}" if alike else AGAIN
        return GivenUp(
            f"task {task} failed after {tries}: {reason}", reason=reason, fix=_ways_out(task, advice)
        )
    reason = f"no progress, {nowhere}: {reason}"
    return GivenUp(
        f"task {task} was stopped before attempt {this.number + 1} of {this.of}: {reason}",
        reason=reason,
        fix=_ways_out(task, CHANGE)
        + "\n  HOLDFAST_STOP_WHEN_STUCK=0   let it use up its attempts all the same",
    )


def _ways_out(task: str, advice: str) -> str:
    return (
        f"nothing was committed and its work is still in the tree. {advice}, or:\n"
        f"  holdfast log {task}     what the agent and the checks said\n"
        f"  holdfast skip {task}    go on without it (its work is kept under rescue)"
    )


def _without_accidents(text: str) -> str:
    return " ".join(_ACCIDENTS.sub("#", text).split())


def _tree(site: Site, base: str) -> str:
    try:
        return work_tree(site, base)
    except (GitError, Rejected):
        return ""
