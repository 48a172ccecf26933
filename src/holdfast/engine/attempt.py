"""One attempt at one task: values in, a sealed candidate or a failure out. Nothing here moves the branch."""

import os
from typing import NamedTuple

from holdfast.agents.base import Outcome, OutcomeKind
from holdfast.engine import guard, rescue
from holdfast.engine.agent_run import Try, run_agent
from holdfast.engine.commit import Contents, Rejected, Sealed, prepare_index, seal
from holdfast.engine.flight import Flight, read_flight, write_flight
from holdfast.engine.hooks import HookRun
from holdfast.engine.message import task_trailers
from holdfast.engine.observe import moved_by_agent_alone
from holdfast.engine.site import Site, stopped
from holdfast.gates.base import Inspection
from holdfast.model.events import GateFinished, Noticed, Rescued
from holdfast.model.plan import Document, Status
from holdfast.system import faults, files
from holdfast.system.git import Change, RefMoved
from holdfast.system.leftovers import TOKEN_VARIABLE

GITLINK = "160000"
STRAYED = (
    "The branch was reset, rebased, amended or deleted, so the work no longer stood on the commit it began "
    "with; the tree was put back to that commit. Do not use git to change history."
)
FOUND_FINISHED = Outcome(OutcomeKind.FINISHED, "", "", "found finished", "")


class Failure(NamedTuple):
    reason: str
    feedback: str
    final: bool = False
    """Another attempt would make no difference."""


def attempt(site: Site, flight: Flight, this: Try) -> Sealed | Failure:
    prepare_index(site, flight.base)
    outcome = FOUND_FINISHED if this.finished else run_agent(site, flight, this)
    strayed = put_back(site, flight, this.plan)
    if outcome.kind is OutcomeKind.INTERRUPTED:
        raise stopped(site, "while the agent worked")
    if strayed:
        return strayed
    if outcome.kind is not OutcomeKind.FINISHED:
        return Failure(outcome.reason, with_tail(outcome))
    try:
        verify(site, flight, this)
        return _seal(site, flight, this, outcome)
    except Rejected as rejected:
        return Failure(rejected.reason, rejected.feedback)


def attempt_without_commit(site: Site, flight: Flight, this: Try) -> Failure | None:
    """For `--allow-dirty`: the agent and the gates, and no commit at all."""
    outcome = run_agent(site, flight, this)
    if outcome.kind is OutcomeKind.INTERRUPTED:
        raise stopped(site, "while the agent worked")
    if outcome.kind is not OutcomeKind.FINISHED:
        return Failure(outcome.reason, with_tail(outcome))
    try:
        verify(site, flight, this)
    except Rejected as rejected:
        return Failure(rejected.reason, rejected.feedback)
    return None


def with_tail(outcome: Outcome) -> str:
    return f"{outcome.reason}\n\nThe end of its output:\n{outcome.tail}" if outcome.tail else outcome.reason


# -- what it must not have done ----------------------------------------------------------------------


def put_back(site: Site, flight: Flight, at_base: Document) -> Failure | None:
    respect_others(site, flight)
    strayed = put_repository_back(site, flight)
    if not strayed and _plan_in_tree(site) != at_base.data:
        put_plan_back(site, flight)
    return strayed


def put_repository_back(site: Site, flight: Flight) -> Failure | None:
    findings = guard.put_back(site, flight)
    for notice in findings.notices:
        site.record(Noticed(notice, flight.task))
    return Failure("the agent moved the branch off its base", STRAYED) if findings.strayed else None


def respect_others(site: Site, flight: Flight) -> None:
    """Our records as they were, should the agent have got at them, and nobody else's commit undone."""
    _restore_state(site, flight)
    _respect_commits_of_others(site, flight)


def _respect_commits_of_others(site: Site, flight: Flight) -> None:
    """A commit that was not made by the agent stays: recovery takes it as the task's new base."""
    tip = site.git.resolve(flight.branch)
    if tip and tip != flight.base and not moved_by_agent_alone(site.git, flight):
        raise RefMoved(f"{flight.branch} is at {tip[:12]}, not at {flight.base[:12]} where the task began")


def _restore_state(site: Site, flight: Flight) -> None:
    """Our own state directory is within the agent's reach too."""
    if read_flight(site.workspace.tree_state) != flight:
        write_flight(site.workspace.tree_state, flight)
        site.record(Noticed("the agent changed Holdfast's own records; written again", flight.task))
    if not os.path.exists(site.private_index):
        prepare_index(site, flight.base)


def put_plan_back(site: Site, flight: Flight) -> None:
    """The plan is ours to mark. Whatever the agent made of it is kept under rescue, the file put back."""
    path = site.plan.path
    base = site.git.blob(f"{flight.base}:{path}")
    in_tree = _plan_in_tree(site)
    if in_tree == base or (in_tree is not None and _filtered_alike(site, flight.base)):
        return
    ref = rescue.snapshot(
        site.workspace, flight.run, f"{flight.key}-plan", f"plan changed during {flight.task}"
    )
    site.record(
        Rescued(ref, "the plan file was changed during the attempt; only Holdfast marks tasks", flight.task)
    )
    _clear_the_way(os.path.join(site.git.root, path))
    site.git.run("checkout-index", "--force", "--", path, index=site.private_index)
    faults.point("plan.put_back")


def _plan_in_tree(site: Site) -> bytes | None:
    """None for anything that is not a plain file."""
    path = os.path.join(site.git.root, site.plan.path)
    return files.read_if_there(path) if os.path.isfile(path) and not os.path.islink(path) else None


def _filtered_alike(site: Site, base: str) -> bool:
    in_tree = site.git.text("hash-object", f"--path={site.plan.path}", "--", site.plan.path)
    return in_tree == site.git.resolve(f"{base}:{site.plan.path}")


def _clear_the_way(path: str) -> None:
    import shutil

    if os.path.islink(path) or os.path.isfile(path):
        os.unlink(path)
    elif os.path.isdir(path):
        shutil.rmtree(path)


# -- is it good, and what does the commit hold -------------------------------------------------------


def verify(site: Site, flight: Flight, this: Try) -> None:
    for gate in site.tools.gates(this.task):
        environment = {**os.environ, TOKEN_VARIABLE: flight.token}
        timeout = site.policy.gate_timeout
        inspection = Inspection(site.git.root, this.task, environment, timeout, site.stops, site.lock)
        faults.point("gate.before")
        verdict = gate.check(inspection)
        if site.stops.requested:
            raise stopped(site, "while the gates ran")
        site.record(
            GateFinished(
                this.task.id, this.number, verdict.gate, verdict.passed, verdict.seconds, verdict.output
            )
        )
        if not verdict.passed:
            raise Rejected(
                f"`{verdict.gate}` failed", f"The check `{verdict.gate}` failed:\n{verdict.output}"
            )


def _seal(site: Site, flight: Flight, this: Try, outcome: Outcome) -> Sealed:
    contents = Contents(
        base=flight.base,
        plan=site.plan.dialect.mark(this.plan, this.task.id, Status.COMPLETED),
        message=outcome.message or site.plan.dialect.message(this.task),
        trailers=task_trailers(site.plan, this.task, site.run, this.number),
        token=flight.token,
        plan_at_base=this.plan.data,
    )

    def hooked(run: HookRun) -> None:
        name = f"{run.name} hook"
        site.record(GateFinished(this.task.id, this.number, name, run.passed, run.seconds, run.output))

    return seal(
        site,
        contents,
        inspect=lambda changes: _inspect(site, changes, outcome),
        hooked=hooked,
        verify_again=lambda: verify(site, flight, this),
    )


def _inspect(site: Site, changes: tuple[Change, ...], outcome: Outcome) -> None:
    work = [change for change in changes if change.path != site.plan.path]
    nested = [c.path for c in work if c.new_mode == GITLINK and c.old_mode != GITLINK]
    if nested and not os.path.exists(os.path.join(site.git.root, ".gitmodules")):
        names = ", ".join(nested)
        raise Rejected(
            f"a git repository was made inside this one: {names}",
            f"{names}: a nested git repository cannot be committed here. Remove its .git directory.",
        )
    if not work and site.policy.require_change and not outcome.success_note:
        raise Rejected(
            "the agent changed no file",
            "No file was changed. If the task really needs no change, end with "
            "<SUCCESS>no change needed: and why</SUCCESS>.",
        )
