"""`holdfast status`: where a plan stands. Looks only, and loads as little as it can: it is asked often."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING

from holdfast.cli.glance import Glance, glance
from holdfast.cli.ground import Ground, ground_of_last_run
from holdfast.cli.place import is_configured, journal_path, plan_place, repository
from holdfast.cli.terminal import colour_wanted, moment, width
from holdfast.engine.schedule import next_task, passed_over
from holdfast.errors import ConfigError
from holdfast.journal import read_only
from holdfast.model.policy import OnFailure, Policy
from holdfast.views.status import Chosen, Facts, Rescue, overview, status_json, status_lines

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from holdfast.config import Config
    from holdfast.engine.place import PlanPlace
    from holdfast.model.state import State
    from holdfast.system.git import Git

SNAPSHOT = "holdfast rescue: "
"""How the message of a snapshot begins; any other commit under rescue was once on a branch."""


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "plan", nargs="?", metavar="PLAN", help="plan file or directory (default: the last one)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def read_simply(words: list[str]) -> SimpleNamespace | None:
    """The usual ways of asking."""
    others = [word for word in words if word != "--json"]
    if len(others) > 1 or any(word.startswith("-") for word in others):
        return None
    return SimpleNamespace(plan=others[0] if others else None, json="--json" in words)


def execute(args: Namespace | SimpleNamespace) -> int:
    git = repository()
    place = plan_place(git, args.plan)
    config = _config(git.root, place)
    where = ground_of_last_run(git, place, _policy(config))
    slots = f"{where.wanted.directory}." if where.wanted.directory else ""
    seen = glance(where.seen, place, where.wanted.branch, slots)
    reader = read_only(journal_path(git))
    state = overview(reader, seen.run, seen.in_flight)
    facts = _with_policies(_facts(where, seen, state, _policy(config), reader.problem), config)
    if args.json:
        import json

        print(json.dumps(status_json(seen.plan, state, facts)))
        return 0
    lines = status_lines(seen.plan, state, facts, clock=moment, colour=colour_wanted(), width=width())
    print("\n".join(lines))
    return 0


def _facts(where: Ground, seen: Glance, state: State, policy: Policy, problem: str) -> Facts:
    following = next_task(seen.plan, passed_over(policy.on_failure, seen.plan))
    at_work = [task for task in seen.in_flight if seen.holder or not state.task(task).failed]
    return Facts(
        branch=seen.branch.removeprefix("refs/heads/") or "none (HEAD is detached)",
        tree=where.tree.root if where.tree and where.tree.git_dir != where.checkout.git_dir else "",
        go_on=_go_on(where.checkout, seen.plan.path),
        next_task=following.id if following else "",
        asks_to_retry=policy.on_failure is OnFailure.CONTINUE,
        in_flight=at_work[0] if at_work else "",
        beside=tuple(at_work[1:]),
        holder=seen.holder,
        rescues=_rescues(seen.rescues, state),
        problems=(*seen.notes, *filter(None, (problem, _cut_off_merge(where)))),
        finish=_finish(where, seen),
    )


def _cut_off_merge(where: Ground) -> str:
    from holdfast.workspaces.base import Workspace

    state = Workspace(where.checkout, "").tree_state
    if not os.path.exists(os.path.join(state, "merge.json")):
        return ""
    from holdfast.engine.merge_record import cut_off

    return cut_off(state)


def _finish(where: Ground, seen: Glance) -> tuple[str, ...]:
    """Of a build on a branch of its own that is done: what to type."""
    if not where.wanted.branch or not all(task.status.settled for task in seen.plan.tasks):
        return ()
    from holdfast.cli.finish import words_at_the_end

    return words_at_the_end(where.checkout, seen.plan.path, where.wanted.branch)


def _config(root: str, place: PlanPlace) -> Config | ConfigError | None:
    """None where nothing but defaults can apply: the configuration is not even loaded."""
    if not place.dialect.preset and not is_configured(root, os.environ):
        return None
    from holdfast.config import load_config

    try:
        return load_config(root, os.environ, {}, place.dialect.preset)
    except ConfigError as error:
        return error


def _policy(config: Config | ConfigError | None) -> Policy:
    return Policy() if config is None or isinstance(config, ConfigError) else config.policy


def _with_policies(facts: Facts, config: Config | ConfigError | None) -> Facts:
    if isinstance(config, ConfigError):
        return facts._replace(problems=(*facts.problems, f"a run would not start: {config.message}"))
    return facts._replace(policies=_not_default(config)) if config else facts


def _not_default(config: Config) -> tuple[Chosen, ...]:
    from holdfast.model.settings import SETTINGS

    chosen = (s for s in SETTINGS if s.field and config.origin[s.key] != "default")
    return tuple(Chosen(s.key, _said(getattr(config.policy, s.field)), config.origin[s.key]) for s in chosen)


def _said(value: object) -> str:
    match value:
        case tuple():
            return ", ".join(map(str, value))
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g}"
    return str(value)


def _go_on(git: Git, path: str) -> str:
    from shlex import quote

    return f"holdfast run {quote(os.path.relpath(os.path.join(git.root, path)))}"


def _rescues(subjects: dict[str, str], state: State) -> tuple[Rescue, ...]:
    reasons = {rescued.event.ref: rescued.event.reason for rescued in state.rescues}
    return tuple(
        Rescue(ref, reasons.get(ref) or subject.removeprefix(SNAPSHOT), _restore(ref, subject))
        for ref, subject in subjects.items()
    )


def _restore(ref: str, subject: str) -> str:
    if subject.startswith(SNAPSHOT):
        return f"holdfast rescue restore {ref.rsplit('/', 1)[-1]} --into DIR"
    return f"git log {ref}"
