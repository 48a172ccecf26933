"""One attempt at one task: values in, a sealed candidate or a failure out. Nothing here moves the branch."""

import os
from typing import NamedTuple

from holdfast.agents.base import Assignment, Ending, Invocation, Outcome, OutcomeKind
from holdfast.agents.prompt import PromptFacts, render_task_prompt
from holdfast.engine import guard, rescue
from holdfast.engine.commit import Contents, Rejected, Sealed, prepare_index, seal
from holdfast.engine.flight import Flight, read_flight, write_flight
from holdfast.engine.hooks import HookRun
from holdfast.engine.message import default_message, task_trailers
from holdfast.engine.observe import AGENT_ACTION, moved_by_agent_alone
from holdfast.engine.output import Output
from holdfast.engine.site import Site, stopped
from holdfast.errors import AgentUnavailable
from holdfast.gates.base import Inspection
from holdfast.model.events import AgentEnded, AgentSpoke, AttemptStarted, GateFinished, Noticed, Rescued
from holdfast.model.plan import Document, Status, Task
from holdfast.system import clock, faults, files
from holdfast.system.git import Change, RefMoved
from holdfast.system.leftovers import TOKEN_VARIABLE
from holdfast.system.logfile import CappedLog
from holdfast.system.process import Ended, Limits, Program, Unstartable, supervise

GITLINK = "160000"
STRAYED = (
    "The branch was reset, rebased, amended or deleted, so the work no longer stood on the commit it began "
    "with; the tree was put back to that commit. Do not use git to change history."
)
FOUND_FINISHED = Outcome(OutcomeKind.FINISHED, "", "", "found finished", "")


class Try(NamedTuple):
    """What this attempt starts from."""

    task: Task
    plan: Document
    """The plan at the base."""
    number: int
    of: int
    feedback: str
    """Why the attempt before failed, "" for the first."""
    resumed: bool
    """Partial work of an interrupted attempt is in the tree."""
    finished: bool
    """That work only has to be checked and sealed: no agent is needed."""


class Failure(NamedTuple):
    reason: str
    feedback: str


def attempt(site: Site, flight: Flight, this: Try) -> Sealed | Failure:
    prepare_index(site, flight.base)
    outcome = FOUND_FINISHED if this.finished else _run_agent(site, flight, this)
    strayed = _put_back(site, flight, this.plan)
    if outcome.kind is OutcomeKind.INTERRUPTED:
        raise stopped(site, "while the agent worked")
    if strayed:
        return strayed
    if outcome.kind is not OutcomeKind.FINISHED:
        return Failure(outcome.reason, _with_tail(outcome))
    try:
        _verify(site, flight, this)
        return _seal(site, flight, this, outcome)
    except Rejected as rejected:
        return Failure(rejected.reason, rejected.feedback)


def attempt_without_commit(site: Site, flight: Flight, this: Try) -> Failure | None:
    """For `--allow-dirty`: the agent and the gates, and no commit at all."""
    outcome = _run_agent(site, flight, this)
    if outcome.kind is OutcomeKind.INTERRUPTED:
        raise stopped(site, "while the agent worked")
    if outcome.kind is not OutcomeKind.FINISHED:
        return Failure(outcome.reason, _with_tail(outcome))
    try:
        _verify(site, flight, this)
    except Rejected as rejected:
        return Failure(rejected.reason, rejected.feedback)
    return None


# -- the agent ---------------------------------------------------------------------------------------


def _run_agent(site: Site, flight: Flight, this: Try) -> Outcome:
    log = _log_name(site, this)
    path = os.path.join(site.workspace.state, log)
    invocation = _invocation(site, this, f"{path}.prompt.md")
    listener = site.tools.agent.listener()
    site.record(AttemptStarted(this.task.id, this.task.title, this.number, this.of, flight.base, log))
    environment = {
        **os.environ,
        **invocation.environment,
        TOKEN_VARIABLE: flight.token,
        "GIT_REFLOG_ACTION": AGENT_ACTION,
    }
    program = Program(invocation.argv, site.git.root, environment, invocation.stdin, site.lock)
    limits = Limits(site.policy.task_timeout, site.policy.idle_timeout)
    faults.point("agent.before")
    with CappedLog(path) as capped:
        output = Output(capped, listener, lambda text: site.record(AgentSpoke(this.task.id, text)))
        try:
            ended = supervise(program, limits, site.stops, output.heard)
        except Unstartable as error:
            raise AgentUnavailable(error.message, fix="check --agent-cmd, or run: holdfast doctor") from error
        output.finish()
    faults.point("agent.after")
    outcome = _timed(listener.outcome(_ending(ended)), site)
    _tell_ending(site, this, ended, outcome)
    return outcome


def _log_name(site: Site, this: Try) -> str:
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-.") else "_" for c in this.task.id)[:40]
    stem = os.path.join("logs", site.run, f"{safe}-{clock.stamp()}-{this.number}")
    number = 1
    while os.path.exists(os.path.join(site.workspace.state, f"{stem}.{number}.log")):
        number += 1
    return f"{stem}.{number}.log"


def _invocation(site: Site, this: Try, prompt_file: str) -> Invocation:
    gates = tuple(gate.name for gate in site.tools.gates(this.task))
    plan = this.plan.plan
    facts = PromptFacts(
        plan_title=plan.title or plan.name,
        plan_path=plan.path,
        position=plan.count(Status.COMPLETED, Status.SKIPPED) + 1,
        total=len(plan.tasks),
        task=this.task,
        attempt=this.number,
        max_attempts=this.of,
        feedback=this.feedback,
        resumed=this.resumed,
        gates=gates,
        extra=site.policy.extra_prompt,
    )
    prompt = render_task_prompt(facts, site.tools.prompt_directory)
    os.makedirs(os.path.dirname(prompt_file), exist_ok=True)
    with open(prompt_file, "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write(prompt)
    return site.tools.agent.invocation(
        Assignment(site.run, plan.path, this.task, this.number, prompt, prompt_file, site.git.root)
    )


def _ending(ended: Ended) -> Ending:
    causes = {
        "timeout": OutcomeKind.TIMED_OUT,
        "idle": OutcomeKind.SILENT,
        "stopped": OutcomeKind.INTERRUPTED,
    }
    return Ending(ended.exit_code, ended.signal, causes.get(ended.why), ended.leftovers)


def _timed(outcome: Outcome, site: Site) -> Outcome:
    if outcome.kind is OutcomeKind.TIMED_OUT:
        return outcome._replace(reason=f"the agent did not end within {site.policy.task_timeout:g} s")
    if outcome.kind is OutcomeKind.SILENT:
        return outcome._replace(reason=f"the agent said nothing for {site.policy.idle_timeout:g} s")
    return outcome


def _tell_ending(site: Site, this: Try, ended: Ended, outcome: Outcome) -> None:
    task = this.task.id
    site.record(
        AgentEnded(task, this.number, outcome.kind.value, outcome.reason, ended.exit_code, ended.seconds)
    )
    if ended.leftovers and not ended.why:
        many = "process" if ended.leftovers == 1 else "processes"
        site.record(Noticed(f"the agent left {ended.leftovers} {many} running; ended", task))


def _with_tail(outcome: Outcome) -> str:
    return f"{outcome.reason}\n\nThe end of its output:\n{outcome.tail}" if outcome.tail else outcome.reason


# -- what it must not have done ----------------------------------------------------------------------


def _put_back(site: Site, flight: Flight, at_base: Document) -> Failure | None:
    _restore_state(site, flight)
    _respect_commits_of_others(site, flight)
    findings = guard.put_back(site, flight)
    for notice in findings.notices:
        site.record(Noticed(notice, flight.task))
    if findings.strayed:
        ref = rescue.snapshot(
            site.workspace, flight.run, f"{flight.key}-strayed", "the agent left the base commit"
        )
        site.record(Rescued(ref, "the agent moved the branch away from where the task started", flight.task))
        rescue.restore_start(site.workspace, flight.base)
        return Failure("the agent moved the branch off its base", STRAYED)
    if _plan_in_tree(site) != at_base.data:
        put_plan_back(site, flight)
    return None


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
    site.record(Rescued(ref, "the agent changed the plan file; only Holdfast marks tasks", flight.task))
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


def _verify(site: Site, flight: Flight, this: Try) -> None:
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
        message=outcome.message or default_message(this.task),
        trailers=task_trailers(site.plan.path, this.task, site.run, this.number),
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
        verify_again=lambda: _verify(site, flight, this),
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
