"""One attempt at one task: values in, a sealed candidate or a failure out. Nothing here moves the branch."""

import os

from holdfast.agents.base import Outcome, OutcomeKind
from holdfast.engine import guard, rescue
from holdfast.engine.agent_run import Try, run_agent
from holdfast.engine.commit import Contents, Rejected, Sealed, prepare_index, seal
from holdfast.engine.criteria import hear_criteria
from holdfast.engine.flight import Flight, read_flight, write_flight
from holdfast.engine.hooks import HookRun
from holdfast.engine.landed import by_task, completion, last_landed
from holdfast.engine.message import task_trailers
from holdfast.engine.observe import moved_by_agent_alone
from holdfast.engine.other_refs import pushed_since, put_others_back
from holdfast.engine.review import review
from holdfast.engine.site import Site, stopped
from holdfast.engine.source import in_tree, kept_files
from holdfast.engine.verdict import Failure, Postponed, not_finished, stop_if_hopeless, work_refused
from holdfast.gates.base import Inspection
from holdfast.model.events import GateFinished, Noticed, Rescued
from holdfast.model.plan import Document, Status
from holdfast.plans.base import Attempted, Completion
from holdfast.system import clock, faults, files, objects
from holdfast.system.git import Change, RefMoved
from holdfast.system.leftovers import TOKEN_VARIABLE

GITLINK = "160000"
STRAYED = (
    "The branch was reset, rebased, amended or deleted, so the work no longer stood on the commit it began "
    "with; the tree was put back to that commit. Do not use git to change history."
)
STASHED = (
    "You put changes on the stash, so they were not in the tree when you ended. The stash is as it was; make "
    "your changes again, and do not use git stash."
)
FOUND_FINISHED = Outcome(OutcomeKind.FINISHED, "", "", "found finished", "")


def attempt(site: Site, flight: Flight, this: Try) -> Sealed | Failure | Postponed:
    prepare_index(site, flight.base)
    found = this.accepted or FOUND_FINISHED
    outcome = found if this.finished else run_agent(site, flight, this)
    strayed = put_back(site, flight, this.plan)
    stop_if_hopeless(site, outcome, "while the agent worked")
    if strayed:
        return strayed
    if outcome.kind is not OutcomeKind.FINISHED:
        return not_finished(outcome)
    try:
        if not this.accepted:
            hear_criteria(site, this, outcome)
        verify(site, flight, this)
        if review(site, flight, this) and (strayed := put_back(site, flight, this.plan)):
            return strayed
        return _seal(site, flight, this, outcome)
    except Rejected as rejected:
        return work_refused(rejected, outcome)


def attempt_without_commit(site: Site, flight: Flight, this: Try) -> Failure | Postponed | None:
    """For `--allow-dirty`: the agent and the gates, and no commit at all."""
    outcome = run_agent(site, flight, this)
    stop_if_hopeless(site, outcome, "while the agent worked")
    if outcome.kind is not OutcomeKind.FINISHED:
        return not_finished(outcome)
    try:
        hear_criteria(site, this, outcome)
        verify(site, flight, this)
        review(site, flight, this)
    except Rejected as rejected:
        return work_refused(rejected, outcome)
    return None


# -- what it must not have done ----------------------------------------------------------------------


def put_back(site: Site, flight: Flight, at_base: Document) -> Failure | None:
    stashed = respect_others(site, flight)
    strayed = put_repository_back(site, flight)
    if not strayed and not _plan_untouched(site, flight, at_base):
        put_plan_back(site, flight)
    return strayed or stashed


def _plan_untouched(site: Site, flight: Flight, at_base: Document) -> bool:
    before = {**at_base.files, **flight.ignored}
    return all(in_tree(site.git.root, path) == before.get(path) for path in kept_files(site.plan))


def put_repository_back(site: Site, flight: Flight) -> Failure | None:
    findings = guard.put_back(site, flight)
    for notice in findings.notices:
        site.record(Noticed(notice, flight.task))
    return Failure("the agent moved the branch off its base", STRAYED) if findings.strayed else None


def respect_others(site: Site, flight: Flight) -> Failure | None:
    """Our records, the user's files and other refs as they were, and nobody else's commit undone."""
    _restore_state(site, flight)
    locks, changed = guard.clear_locks(site), guard.put_files_back(site, flight)
    found = put_others_back(site, flight)
    for notice in (*locks, *changed, *found.notices, *pushed_since(site.git, flight.began)):
        site.record(Noticed(notice, flight.task))
    _respect_commits_of_others(site, flight)
    return Failure("the agent stashed its work", STASHED) if found.stashed else None


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
    """The plan is ours to mark. Whatever the agent made of it is kept under rescue, its files put back."""
    changed = [path for path in kept_files(site.plan) if not _as_it_was(site, flight, path)]
    if not changed:
        return
    ref = rescue.snapshot(
        site.workspace, flight.run, f"{flight.key}-plan", f"plan changed during {flight.task}"
    )
    site.record(
        Rescued(ref, "the plan file was changed during the attempt; only Holdfast marks tasks", flight.task)
    )
    for path in changed:
        _put_file_back(site, flight, path)
    faults.point("plan.put_back")


def _as_it_was(site: Site, flight: Flight, path: str) -> bool:
    now = in_tree(site.git.root, path)
    if path in flight.ignored:
        return now == flight.ignored[path]
    base = site.git.file_in(flight.base, path)
    if now is None or base is None:
        return now is base and not os.path.lexists(os.path.join(site.git.root, path))
    return now == base or _filtered_alike(site, flight.base, path)


def _filtered_alike(site: Site, base: str, path: str) -> bool:
    now = site.git.text("hash-object", f"--path={path}", "--", path)
    return now == site.git.resolve(f"{base}:{path}")


def _put_file_back(site: Site, flight: Flight, path: str) -> None:
    full = os.path.join(site.git.root, path)
    _clear_the_way(full)
    data = flight.ignored.get(path)
    if data is not None:
        files.write_durably(full, data, fault="plan.ignored")
    elif path not in flight.ignored and site.git.entry(flight.base, path):
        site.git.run("checkout-index", "--force", "--", path, index=site.private_index)


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
        with objects.made_durable(site.git.common_dir):
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
        plan=completed(site, flight, this),
        message=outcome.message or site.plan.dialect.message(this.task),
        trailers=task_trailers(site.plan, this.task, site.run, this.number),
        token=flight.token,
        before=this.plan,
    )

    def hooked(run: HookRun) -> None:
        name = f"{run.name} hook"
        site.record(GateFinished(this.task.id, this.number, name, run.passed, run.seconds, run.output))

    return seal(
        site,
        contents,
        inspect=lambda changes: inspect_changes(site, changes, outcome),
        hooked=hooked,
        verify_again=lambda: verify(site, flight, this),
    )


def completed(site: Site, flight: Flight, this: Try) -> Document:
    """The plan as the task's commit will hold it."""
    now = clock.timestamp(clock.now())
    branch = site.lands_on.removeprefix("refs/heads/")
    if not site.plan.dialect.keeps(site.plan.path):
        done = Completion(this.task.id, now, flight.base, branch)
        return site.plan.dialect.complete(this.plan, done)._replace(ignored=this.plan.ignored)
    attempts = site.attempts(this.task.id) or (Attempted(this.number, now, now),)
    done = Completion(
        task=this.task.id,
        at=now,
        base=flight.base,
        branch=branch,
        attempts=attempts,
        criteria=attempts[-1].criteria,
        checked=bool(site.tools.gates(this.task)),
    )
    before = naming_the_last_commit(site, this.plan, flight.base)
    return site.plan.dialect.complete(before, done)._replace(ignored=this.plan.ignored)


def naming_the_last_commit(site: Site, plan: Document, base: str) -> Document:
    """A commit cannot name itself, so a tool's own files name it in the commit that comes next."""
    done = {task.id: task for task in plan.plan.tasks if task.status is Status.COMPLETED}
    last = last_landed(site.git, site.plan.path, base) if done else None
    if last is None:
        return plan
    same = last.task in done and done[last.task].key == last.key
    task = last.task if same else next(iter(by_task(plan.plan, [last])), "")
    if task not in done:
        return plan
    branch = site.lands_on.removeprefix("refs/heads/")
    return site.plan.dialect.complete(plan, completion(last, task, branch, site.attempts(task)))


def nested_repositories(site: Site, changes: tuple[Change, ...]) -> list[str]:
    nested = [c.path for c in changes if c.new_mode == GITLINK and c.old_mode != GITLINK]
    return [] if os.path.exists(os.path.join(site.git.root, ".gitmodules")) else nested


def inspect_changes(site: Site, changes: tuple[Change, ...], outcome: Outcome) -> None:
    ours = kept_files(site.plan)
    work = [change for change in changes if change.path not in ours]
    if nested := nested_repositories(site, changes):
        names = ", ".join(nested)
        raise Rejected(
            f"a git repository was made inside this one: {names}",
            f"{names}: a nested git repository cannot be committed here. Remove its .git directory.",
        )
    # Kept from using its tools, it cannot say that there was nothing to do.
    excused = outcome.success_note and not outcome.feedback
    if not work and site.policy.require_change and not excused:
        raise Rejected(
            "the agent changed no file",
            "No file was changed. If the task really needs no change, end with "
            "<SUCCESS>no change needed: and why</SUCCESS>.",
            final=site.policy.interactive,  # whoever left without a change does not want to be asked again
        )
