"""A second agent reads the work before it is committed; what it finds goes to the next attempt.

It works on a copy, so that nothing it does can get into the commit. Only a verdict approves: a reviewer that
cannot be used, or does not say, stops the run with the work still in the tree.
"""

import os
from typing import NamedTuple

from holdfast.agents.base import Outcome, OutcomeKind
from holdfast.agents.printable import one_line
from holdfast.agents.prompt import REVIEW
from holdfast.engine import rescue
from holdfast.engine.agent_run import (
    Patience,
    Try,
    ending_of,
    invocation_of,
    log_name,
    prompt_facts,
    supervised,
    without_secrets,
)
from holdfast.engine.budget import stop_at_cap
from holdfast.engine.commit import Rejected, work_tree
from holdfast.engine.flight import Flight
from holdfast.engine.output import Output
from holdfast.engine.patience import bear
from holdfast.engine.review_copy import copied_work, put_tree_back
from holdfast.engine.site import Site
from holdfast.engine.verdict import Postponed, not_finished, stop_if_hopeless
from holdfast.errors import TaskFailure
from holdfast.model.events import AgentSpoke, Rescued, ReviewEnded, ReviewStarted
from holdfast.model.state import Conversation
from holdfast.system import faults
from holdfast.system.process import Ended, Limits

ASKED = 2
"""How often a reviewer is asked that gives no verdict."""
LARGEST_DIFF = 200_000
MEDDLED = "files were changed while the reviewer read them"


class Subject(NamedTuple):
    """What is reviewed."""

    directory: str
    """A copy of the work."""
    diff: str
    changed: tuple[str, ...]


def review(site: Site, flight: Flight, this: Try) -> bool:
    """Whether there was one. Rejected with what it found."""
    if site.tools.reviewer is None:
        return False
    stop_at_cap(site)
    tree = work_tree(site, flight.base)
    reviewing = site._replace(tools=site.tools._replace(agent=site.tools.reviewer))
    with copied_work(site, flight.base, tree) as directory:
        changes = site.git.changes_between(flight.base, tree)
        subject = Subject(directory, _diff(site, flight.base, tree), tuple(c.path for c in changes))
        outcome = _opinion(reviewing, flight, this, subject)
    _undo_what_it_did(site, flight, tree)
    if outcome.kind is OutcomeKind.REFUSED:
        name = reviewing.tools.agent.name
        raise Rejected(
            f"the reviewer {name} objects: {one_line(outcome.refusal)}",
            f"A reviewer read your changes and found:\n{outcome.refusal}",
        )
    return True


def _diff(site: Site, base: str, tree: str) -> str:
    raw = site.git.run("diff", "--no-color", "--no-ext-diff", "--no-textconv", base, tree)
    text = site.tools.secrets.redacted(raw[:LARGEST_DIFF].decode("utf-8", "replace"))
    cut = len(raw) > LARGEST_DIFF
    return f"{text}\n[the rest is left out: `git diff HEAD` shows all of it]" if cut else text


def _opinion(site: Site, flight: Flight, this: Try, subject: Subject) -> Outcome:
    """Approved (finished) or refused; a service that fails it is borne as for any agent."""
    asked = this._replace(conversation=Conversation(), patience=Patience())
    for _ in range(ASKED):
        outcome = _ask(site, flight, asked, subject)
        while isinstance(result := not_finished(outcome), Postponed):
            borne = bear(site, asked, result.outcome)
            if not isinstance(borne, Try):
                break
            asked = borne
            outcome = _ask(site, flight, asked, subject)
        if _verdict(outcome) != "none":
            return outcome
    raise TaskFailure(
        f"the reviewer {site.tools.agent.name} gives no verdict on task {this.task.id}: {_why_none(outcome)}",
        fix="nothing was committed and the work is still in the tree. See what it said: "
        f"holdfast log {this.task.id}\n"
        "then run the same command again, with another reviewer (--review-agent NAME), or without (none)",
    )


def _ask(site: Site, flight: Flight, this: Try, subject: Subject) -> Outcome:
    agent, task = site.tools.agent, this.task.id
    log = log_name(site, this, "-review")
    path = os.path.join(site.workspace.state, log)
    facts = prompt_facts(site, this)._replace(diff=subject.diff, changed=subject.changed)
    invocation = invocation_of(site, this, facts, REVIEW, f"{path}.prompt.md", subject.directory)
    listener = agent.listener(this.conversation.spent)
    site.record(ReviewStarted(task, this.number, agent.name, log))
    limits = Limits(site.policy.review_timeout, site.policy.idle_timeout)
    faults.point("review.before")
    with Output(
        path,
        listener,
        site.tools.secrets,
        show=lambda text: site.record(AgentSpoke(task, text)),
        know=lambda session: None,
    ) as output:
        ended = supervised(site, flight, invocation, subject.directory, limits, output)
    faults.point("review.after")
    outcome = without_secrets(site, listener.outcome(ending_of(ended, output.stderr)))
    _tell(site, this, ended, outcome)
    stop_if_hopeless(site, outcome, "while the reviewer read")
    return outcome


def _tell(site: Site, this: Try, ended: Ended, outcome: Outcome) -> None:
    verdict = _verdict(outcome)
    words = {"approved": outcome.success_note, "findings": outcome.refusal}.get(verdict, _why_none(outcome))
    used = outcome.cost_usd, outcome.tokens_in, outcome.tokens_out
    name = site.tools.agent.name
    site.record(ReviewEnded(this.task.id, this.number, name, verdict, words, ended.seconds, *used))


def _verdict(outcome: Outcome) -> str:
    if outcome.kind is OutcomeKind.REFUSED and outcome.refusal:
        return "findings"
    approved = outcome.kind is OutcomeKind.FINISHED and outcome.success_note
    return "approved" if approved else "none"


def _why_none(outcome: Outcome) -> str:
    return outcome.reason or "it ended without saying whether it approves"


def _undo_what_it_did(site: Site, flight: Flight, tree: str) -> None:
    """Not in its copy but in the workspace itself, which it was not to touch."""
    now = work_tree(site, flight.base)
    if now == tree:
        return
    ref = rescue.snapshot(site.workspace, flight.run, f"{flight.key}-review", MEDDLED)
    site.record(Rescued(ref, f"{MEDDLED}; they are as they were", flight.task))
    put_tree_back(site, now, tree)
