"""What every command that changes something needs: the lock, the journal, a view and the stop signals."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from holdfast import registry
from holdfast.agents.base import Options
from holdfast.cli.ground import Ground
from holdfast.cli.place import journal_path
from holdfast.cli.signals import stop_requests
from holdfast.config import Config
from holdfast.engine.attempts_made import attempts_made
from holdfast.engine.budget import Ledger
from holdfast.engine.checkout_edits import take_in_edits
from holdfast.engine.place import PlanPlace, run_id
from holdfast.engine.ready import make_ready
from holdfast.engine.site import Crew, Site, Tools
from holdfast.journal import Journal
from holdfast.model.events import Event, Noticed
from holdfast.model.state import State, fold
from holdfast.plans.base import Attempted
from holdfast.system import clock
from holdfast.system.git import Git
from holdfast.system.lock import TreeLock
from holdfast.system.process import become_subreaper
from holdfast.system.redact import Secrets
from holdfast.views.base import View

_WORDS = ("text", "reason", "feedback", "output", "found", "did", "note", "gate")
PROMPTS = os.path.join(".holdfast", "prompts")


@contextlib.contextmanager
def open_site(
    where: Ground, plan: PlanPlace, config: Config, view: Callable[[], View]
) -> Iterator[tuple[Site, State]]:
    """A site with the lock held and the history of its run; everything is let go of at the end."""
    workspace = registry.workspaces(where.mode).open(where.checkout, where.wanted)
    git = workspace.git
    tools = tools_for(where, git, config)
    if workspace.own:
        plan = plan._replace(must_be_committed=False)  # asked of the user's checkout, not of our own tree
    become_subreaper()
    with (
        stop_requests() as stops,
        TreeLock(git.git_dir, workspace.holder_file) as lock,
        Journal.open(journal_path(git), now=clock.now) as journal,
        contextlib.closing(view()) as shown,
    ):
        run = run_id(plan.path, workspace.branch)
        history = fold(journal.entries(run=run))
        ledger = Ledger(history.spent)

        one_at_a_time = threading.RLock()

        def record(event: Event) -> None:
            with one_at_a_time:
                entry = journal.record(run, without_secrets(event, tools.secrets))
                ledger.hear(event)
                shown.show(entry)

        def attempts(task: str) -> tuple[Attempted, ...]:
            with one_at_a_time:
                return attempts_made(journal.entries(run=run, task=task))

        site = Site(
            workspace, plan, config.policy, tools, record, stops, lock.descriptor, attempts, ledger.spent
        )._replace(crew=_crew(where, config) if workspace.own else None)
        if journal.set_aside:
            record(Noticed(f"the journal was damaged; kept as {journal.set_aside}, a fresh one is started"))
        yield site, history


def _crew(where: Ground, config: Config) -> Crew:
    trees = registry.workspaces(where.mode)
    git, wanted = where.checkout, where.wanted
    return Crew(
        config.policy.jobs,
        open_tree=lambda number, start: trees.open_slot(git, wanted, number, start),
        trees=lambda: trees.slots(git, wanted),
        checkout=git,
    )


def prepare(site: Site, where: Ground) -> None:
    """First of all: a tree of the run's own is fit to work in and has the plan as the user wants it."""
    if gone := site.workspace.instead_of:
        words = f"the working tree {gone} is gone; made again from its branch"
        site.record(Noticed(f"{words}. If you moved it, what was not committed there is where you moved it"))
    make_ready(site, where.checkout)
    take_in_edits(site, where.checkout)


def tools_for(where: Ground, git: Git, config: Config) -> Tools:
    """Prompts are the user's to change: like the configuration they count as they are in the checkout."""
    agent = registry.agent(config.agent, agent_options(config, os.environ, git.root))
    secrets = Secrets.of({**os.environ, **config.policy.added_environment})
    reviewer = registry.reviewer(config.review_agent, reviewer_options(config, os.environ, git.root))
    prompts = os.path.join(where.checkout.root, PROMPTS)
    return Tools(agent, registry.gates(config.policy), prompts, secrets, reviewer)


def agent_options(config: Config, environ: Mapping[str, str], directory: str) -> Options:
    return Options(
        environment={**environ, **config.policy.added_environment},
        directory=directory,
        command=config.agent_cmd,
        script=config.script,
        model=config.model,
        permission_mode=config.permission_mode,
        arguments=config.agent_args,
        max_turns=config.max_turns,
        interactive=config.policy.interactive,
        report_tool=config.report_tool,
    )


def reviewer_options(config: Config, environ: Mapping[str, str], directory: str) -> Options:
    return Options(
        environment={**environ, **config.policy.added_environment},
        directory=directory,
        command=config.review_command,
        model=config.review_model,
        report_tool=config.report_tool,
    )


def without_secrets(event: Event, secrets: Secrets) -> Event:
    """Of words only: a name that happens to look like a key must stay the name it is."""
    said = {name: getattr(event, name) for name in _WORDS if name in event._fields}
    safe: dict[str, Any] = {name: secrets.redacted(text) for name, text in said.items()}
    return event._replace(**safe)


def time_of_day(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at))
