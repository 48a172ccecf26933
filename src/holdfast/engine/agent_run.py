"""One call of the agent, from prompt to outcome. When it returns, no process of it is alive."""

import os
from typing import NamedTuple

from holdfast.agents.base import Assignment, Ending, Invocation, Listener, Outcome, OutcomeKind
from holdfast.agents.interactive import InteractiveListener
from holdfast.agents.prompt import TASK, TASK_WITH_COMMIT, PromptFacts, render_prompt
from holdfast.engine.flight import Flight
from holdfast.engine.observe import AGENT_ACTION
from holdfast.engine.output import Output
from holdfast.engine.site import Site
from holdfast.errors import AgentUnavailable
from holdfast.model.events import (
    AgentEnded,
    AgentSession,
    AgentSpoke,
    AttemptFailed,
    AttemptStarted,
    Noticed,
)
from holdfast.model.plan import Document, Status, Task
from holdfast.model.policy import Commits
from holdfast.model.state import Conversation
from holdfast.system import clock, faults, objects
from holdfast.system.leftovers import TOKEN_VARIABLE
from holdfast.system.process import Ended, Limits, Program, Unstartable, supervise

IN_TERMINAL = "the terminal is the agent's; leave it when the task is done, and the work is checked"


class Patience(NamedTuple):
    """What this attempt has borne so far."""

    errors: int = 0
    limits: int = 0
    waited: float = 0.0
    """Seconds, for limits."""


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
    changed: tuple[str, ...] = ()
    """Paths with uncommitted changes that the agent will find."""
    conversation: Conversation = Conversation()
    """To be gone on with; without a session a new one begins."""
    patience: Patience = Patience()
    accepted: Outcome | None = None
    """How the agent ended when its work was accepted on an older tip; that is not asked again."""
    failures: tuple[AttemptFailed, ...] = ()
    """Of the attempts before, as far as history knows them."""


def run_agent(site: Site, flight: Flight, this: Try, template: str = "") -> Outcome:
    """Until it has ended and nothing of it is alive. `template` names another prompt than the usual one."""
    log = log_name(site, this)
    path = os.path.join(site.workspace.state, log)
    facts, template = prompt_facts(site, this), template or _template(site)
    invocation = invocation_of(site, this, facts, template, f"{path}.prompt.md", site.git.root)
    listener = _listener(site, this, invocation)
    site.record(AttemptStarted(this.task.id, this.task.title, this.number, this.of, flight.base, log))
    if invocation.session:
        site.record(AgentSession(this.task.id, this.number, invocation.session))
    limits = Limits(site.policy.task_timeout, site.policy.idle_timeout)
    if invocation.terminal:
        site.record(Noticed(IN_TERMINAL, this.task.id))
        limits = Limits(timeout=float("inf"))
    faults.point("agent.before")
    with _output(site, this, path, listener, invocation.session) as output:
        ended = supervised(site, flight, invocation, site.git.root, limits, output)
    faults.point("agent.after")
    outcome = _told(site, this, listener.outcome(ending_of(ended, output.stderr)))
    _tell_ending(site, this, ended, outcome)
    return outcome


def _listener(site: Site, this: Try, invocation: Invocation) -> Listener:
    if invocation.terminal:
        return InteractiveListener(invocation.report_file)
    return site.tools.agent.listener(this.conversation.spent)


def supervised(
    site: Site, flight: Flight, invocation: Invocation, directory: str, limits: Limits, output: Output
) -> Ended:
    environment = _environment(site, flight, invocation)
    program = Program(
        invocation.argv, directory, environment, invocation.stdin, site.lock, invocation.terminal
    )
    try:
        with objects.made_durable(site.git.common_dir):
            return supervise(program, limits, site.stops, output.heard)
    except Unstartable as error:
        raise AgentUnavailable(error.message, fix="check --agent-cmd, or run: holdfast doctor") from error


def log_name(site: Site, this: Try, kind: str = "") -> str:
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-.") else "_" for c in this.task.id)[:40]
    stem = os.path.join("logs", site.run, f"{safe}-{clock.stamp()}-{this.number}{kind}")
    number = 1
    while os.path.exists(os.path.join(site.workspace.state, f"{stem}.{number}.log")):
        number += 1
    return f"{stem}.{number}.log"


def _template(site: Site) -> str:
    return TASK_WITH_COMMIT if site.policy.commits is Commits.AGENT else TASK


def _environment(site: Site, flight: Flight, invocation: Invocation) -> dict[str, str]:
    """Ours, what the user adds, what the agent module says, and by what we find its processes and commits."""
    inherited = {name: value for name, value in os.environ.items() if name not in invocation.without}
    return {
        **inherited,
        **site.policy.added_environment,
        **invocation.environment,
        TOKEN_VARIABLE: flight.token,
        "GIT_REFLOG_ACTION": AGENT_ACTION,
    }


def _output(site: Site, this: Try, path: str, listener: Listener, session: str) -> Output:
    def know(found: str) -> None:
        if found != session:
            site.record(AgentSession(this.task.id, this.number, found))

    def show(text: str) -> None:
        site.record(AgentSpoke(this.task.id, text))

    return Output(path, listener, site.tools.secrets, show=show, know=know)


def invocation_of(
    site: Site, this: Try, facts: PromptFacts, template: str, prompt_file: str, directory: str
) -> Invocation:
    """Its prompt is written to the file."""
    from uuid import uuid4  # slow to load, and only a run needs it

    prompt = render_prompt(facts, site.tools.prompt_directory, template)
    os.makedirs(os.path.dirname(prompt_file), exist_ok=True)
    with open(prompt_file, "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write(prompt)
    return site.tools.agent.invocation(
        Assignment(
            site.run,
            facts.plan_path,
            this.task,
            this.number,
            prompt,
            prompt_file,
            directory,
            session=str(uuid4()),
            resume=this.conversation.session,
        )
    )


def prompt_facts(site: Site, this: Try) -> PromptFacts:
    plan = this.plan.plan
    return PromptFacts(
        plan_title=plan.title or plan.name,
        plan_path=plan.path,
        position=plan.count(Status.COMPLETED, Status.SKIPPED) + 1,
        total=len(plan.tasks),
        task=this.task,
        attempt=this.number,
        max_attempts=this.of,
        feedback=site.tools.secrets.redacted(this.feedback),
        resumed=this.resumed,
        changed=this.changed,
        gates=tuple(gate.name for gate in site.tools.gates(this.task)),
        extra=site.policy.extra_prompt,
        preamble=plan.preamble,
        report_tool=site.tools.agent.report_tool,
        interactive=site.policy.interactive,
    )


def ending_of(ended: Ended, stderr: str) -> Ending:
    causes = {
        "timeout": OutcomeKind.TIMED_OUT,
        "idle": OutcomeKind.SILENT,
        "stopped": OutcomeKind.INTERRUPTED,
    }
    return Ending(ended.exit_code, ended.signal, causes.get(ended.why), ended.leftovers, stderr)


def _told(site: Site, this: Try, outcome: Outcome) -> Outcome:
    """With our own limits named."""
    outcome = without_secrets(site, outcome)
    if outcome.kind is OutcomeKind.TIMED_OUT:
        return outcome._replace(reason=f"the agent did not end within {site.policy.task_timeout:g} s")
    if outcome.kind is OutcomeKind.SILENT:
        return outcome._replace(reason=f"the agent said nothing for {site.policy.idle_timeout:g} s")
    if outcome.kind is OutcomeKind.FAILED and this.conversation.session and not outcome.session:
        return outcome._replace(kind=OutcomeKind.NO_CONVERSATION)
    return outcome


def without_secrets(site: Site, outcome: Outcome) -> Outcome:
    """Its words end up in prompts and in commit messages."""
    safe = site.tools.secrets.redacted
    return outcome._replace(
        reason=safe(outcome.reason),
        message=safe(outcome.message),
        success_note=safe(outcome.success_note),
        tail=safe(outcome.tail),
        feedback=safe(outcome.feedback),
        refusal=safe(outcome.refusal),
        criteria=tuple(each._replace(note=safe(each.note)) for each in outcome.criteria),
    )


def _tell_ending(site: Site, this: Try, ended: Ended, outcome: Outcome) -> None:
    task = this.task.id
    site.record(
        AgentEnded(
            task,
            this.number,
            outcome.kind.value,
            outcome.reason,
            ended.exit_code,
            ended.seconds,
            outcome.cost_usd,
            outcome.tokens_in,
            outcome.tokens_out,
            outcome.resets_at,
        )
    )
    if ended.leftovers and not ended.why:
        many = "process" if ended.leftovers == 1 else "processes"
        site.record(Noticed(f"the agent left {ended.leftovers} {many} running; ended", task))
