"""What every command that changes something needs: the lock, the journal, a view and the stop signals."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator

from holdfast import registry
from holdfast.cli.place import journal_path
from holdfast.cli.signals import stop_requests
from holdfast.config import Config
from holdfast.engine.attempts_made import attempts_made
from holdfast.engine.place import PlanPlace
from holdfast.engine.site import Site, Tools
from holdfast.journal import Journal
from holdfast.model.events import Event, Noticed
from holdfast.model.state import State, fold
from holdfast.plans.base import Attempted
from holdfast.system import clock
from holdfast.system.git import Git
from holdfast.system.lock import TreeLock
from holdfast.system.process import become_subreaper
from holdfast.views.base import View

PROMPTS = os.path.join(".holdfast", "prompts")


@contextlib.contextmanager
def open_site(
    git: Git, plan: PlanPlace, config: Config, tools: Tools, view: Callable[[], View]
) -> Iterator[tuple[Site, State]]:
    """A site with the lock held and the history of its run; everything is let go of at the end."""
    workspace = registry.workspaces(config.policy.mode).open(git)
    become_subreaper()
    with (
        stop_requests() as stops,
        TreeLock(git.git_dir, workspace.holder_file) as lock,
        Journal.open(journal_path(git), now=clock.now) as journal,
        contextlib.closing(view()) as shown,
    ):

        def record(event: Event) -> None:
            entry = journal.record(site.run, event)
            shown.show(entry)

        def attempts(task: str) -> tuple[Attempted, ...]:
            return attempts_made(journal.entries(run=site.run, task=task))

        site = Site(workspace, plan, config.policy, tools, record, stops, lock.descriptor, attempts)
        if journal.set_aside:
            record(Noticed(f"the journal was damaged; kept as {journal.set_aside}, a fresh one is started"))
        yield site, fold(journal.entries(run=site.run))


def tools_for(git: Git, config: Config) -> Tools:
    agent = registry.agent(config.agent, config.agent_cmd, config.script, git.root)
    return Tools(agent, registry.gates(config.policy), os.path.join(git.root, PROMPTS))


def time_of_day(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at))
