"""`holdfast run`: start or resume a plan, the same command for both."""

import argparse
import contextlib
import os
import shlex
import sys
from functools import partial

from holdfast.cli.begun import opening_words, require_begun, require_idea_committed
from holdfast.cli.existing import settle_existing_build
from holdfast.cli.finish import tell_how_to_finish
from holdfast.cli.ground import Ground, ground
from holdfast.cli.order import order_under, why_nothing
from holdfast.cli.place import first_readable, plan_place, repository
from holdfast.cli.run_options import configure as configure
from holdfast.cli.session import open_site, prepare, time_of_day, tools_for
from holdfast.config import Config, load_config
from holdfast.engine.flight import Flight, read_flight
from holdfast.engine.merge_record import cut_off
from holdfast.engine.observe import plan_at_tip
from holdfast.engine.place import PlanPlace
from holdfast.engine.ready import set_up
from holdfast.engine.run import run
from holdfast.engine.schedule import find_task, waiting_for
from holdfast.engine.site import Site
from holdfast.engine.source import in_tree, plan_at, plan_in_tree
from holdfast.errors import HoldfastError, Refused, TaskFailure, UsageError, machine_trouble
from holdfast.model.events import Noticed, RunEnded, RunStarted
from holdfast.model.plan import Document, Plan
from holdfast.model.policy import Mode
from holdfast.model.state import State
from holdfast.registry import gates
from holdfast.system import clock
from holdfast.system.git import Git
from holdfast.system.terminal import has_terminal
from holdfast.views.base import View, can_redraw
from holdfast.views.lines import LinesView
from holdfast.workspaces.base import Workspace

WITH_INTERFACE = ("claude", "codex", "command")
LEAST_GIT_FOR_MANY = (2, 38)


def execute(args: argparse.Namespace) -> int:
    git = repository()
    place = plan_place(git, args.plan, ignore_uncommitted=args.ignore_uncommitted_idea_changes)
    config = load_config(git.root, os.environ, vars(args), place.dialect.preset)
    if not settle_existing_build(git, place, config, args):
        return 0
    where = _ground(git, place, config)
    if args.force_new:
        _begin_anew(where, place, config, args)
    document = _plan_now(where, place)
    if args.resume:
        require_begun(where.seen, place, document.plan)
    _check_selection(document.plan, config)
    if args.dry_run:
        _tell_intention(where, place, document.plan, config)
        return 0
    if args.setup_only:
        return _set_up_only(where, place, config, args)
    if _settled(document.plan) < len(document.plan.tasks):
        _require_agent(config)
        tools = tools_for(where, git, config)
        tools.agent.require()
        if tools.reviewer:
            tools.reviewer.require()
    _require_identity(git)
    opening = opening_words(where.seen, place, document.plan, auto_continue=args.auto_continue)
    with open_site(where, place, config, lambda: _view(args, document.plan, config)) as (site, history):
        code = _run(site, history, where, document.plan, config, opening)
    if where.wanted.branch and not (args.json or args.quiet):
        part = config.policy.only or config.policy.until
        tell_how_to_finish(where.checkout, place.path, where.wanted.branch, whole=not part)
    return code


def _ground(git: Git, place: PlanPlace, config: Config) -> Ground:
    """`--allow-dirty` makes no commits, so there is nothing that a tree of its own would keep apart."""
    policy = config.policy._replace(mode=Mode.TRUNK) if config.policy.allow_dirty else config.policy
    where = ground(git, place, policy)
    if config.policy.jobs > 1:
        _require_room_for_many(git, where)
    if where.wanted.branch and place.must_be_committed:
        require_idea_committed(git, place)
    if not where.wanted.branch and (merge := _cut_off_merge(git)):
        raise Refused("this checkout is in the middle of a merge of Holdfast's", fix=merge)
    return where


def _require_room_for_many(git: Git, where: Ground) -> None:
    if where.mode is not Mode.WORKTREE:
        raise UsageError(
            "several tasks at once need trees of their own", fix="leave --jobs out, or run with --worktree"
        )
    if git.version() < LEAST_GIT_FOR_MANY:
        raise UsageError(
            "several tasks at once need git 2.38 or newer, whose merge-tree can merge without a tree",
            fix="upgrade git, or leave --jobs out",
        )


def _set_up_only(where: Ground, place: PlanPlace, config: Config, args: argparse.Namespace) -> int:
    with open_site(where, place, config, lambda: _plain_view(args)) as (site, _):
        prepare(site, where)
        set_up(site, where.checkout)
        if not args.quiet:
            print(f"ready: {site.git.root}, on branch {where.branch}")
    return 0


def _begin_anew(where: Ground, place: PlanPlace, config: Config, args: argparse.Namespace) -> None:
    if args.resume:
        raise UsageError("--resume and --force-new contradict each other", fix="give one of them")
    if args.dry_run:
        raise UsageError("--force-new would change something, and --dry-run must not", fix="give one of them")
    from holdfast.engine.anew import begin_anew

    with open_site(where, place, config, lambda: _plain_view(args)) as (site, _):
        prepare(site, where)
        begin_anew(site)


def _run(site: Site, history: State, where: Ground, plan: Plan, config: Config, opening: str) -> int:
    began = clock.monotonic()
    branch = site.branch.removeprefix("refs/heads/")
    settled = _settled(plan)
    mode = site.policy.mode.value
    site.record(
        RunStarted(plan.path, plan.dialect, branch, mode, config.agent, len(plan.tasks), settled, os.getpid())
    )
    for words in filter(None, (_about_tree(site), _cut_off_merge(where.checkout), opening)):
        site.record(Noticed(words))
    try:
        prepare(site, where)
        set_up(site, where.checkout)
        plan = run(site, history)
        _require_done(plan, config)
    except HoldfastError as error:
        _end_badly(site, began, error, plan)
        raise
    except OSError as error:
        if trouble := machine_trouble(error):
            _end_badly(site, began, trouble, plan)
        raise
    _end(site, began, 0, _outcome(plan, config, settled), plan)
    return 0


def _cut_off_merge(checkout: Git) -> str:
    return cut_off(Workspace(checkout, "").tree_state)


def _about_tree(site: Site) -> str:
    return f"works in {site.git.root}; your checkout is not touched" if site.workspace.own else ""


def _end_badly(site: Site, began: float, error: HoldfastError, plan: Plan) -> None:
    """What goes wrong while we say so must not take the place of what we have to say."""
    with contextlib.suppress(HoldfastError, OSError):
        plan = _plan_at_tip(site)
    with contextlib.suppress(HoldfastError, OSError):
        _end(site, began, error.exit_code, error.message.splitlines()[0], plan)


def _end(site: Site, began: float, code: int, reason: str, plan: Plan) -> None:
    seconds = clock.monotonic() - began
    site.record(RunEnded(code, reason, _settled(plan), len(plan.tasks), seconds, *site.spent()))


def _plan_at_tip(site: Site) -> Plan:
    tip = site.git.resolve(site.branch)
    document = plan_at_tip(site, tip) if tip and not site.policy.allow_dirty else None
    return (document or _plan_in(site.git, site.plan)).plan


def _outcome(plan: Plan, config: Config, settled_before: int) -> str:
    if _settled(plan) < len(plan.tasks):
        return "what was asked for is done"
    if settled_before == len(plan.tasks):
        return "All tasks are already complete"
    return "All tasks completed!"


def _require_done(plan: Plan, config: Config) -> None:
    """An incomplete plan never exits 0, unless only a part of it was asked for."""
    asked = config.policy.only or config.policy.until
    if asked:
        task = find_task(plan, asked)
        if not task.status.settled:
            waits = ", ".join(waiting_for(plan, task))
            raise TaskFailure(
                f"task {task.id} cannot start: it waits for {waits}",
                fix=f"run them first: holdfast run {plan.path} --until {task.id}",
            )
    elif _settled(plan) < len(plan.tasks):
        left = ", ".join(t.id for t in plan.tasks if not t.status.settled)
        raise TaskFailure(f"nothing more can start, and these tasks are not done: {left}")


def _settled(plan: Plan) -> int:
    return sum(task.status.settled for task in plan.tasks)


def _plan_now(where: Ground, place: PlanPlace) -> Document:
    """As it is in the run's tree, or where the user stands: good enough to look at before a run begins."""
    if where.tree is None or where.tree.git_dir == where.checkout.git_dir:
        return _plan_in(where.checkout, place)
    at_tip = partial(plan_at, where.seen, place, where.wanted.branch)
    not_there = in_tree(where.seen.root, place.path) is None  # a run that died before it took the plan in
    trees = (where.seen, where.checkout) if not_there else (where.seen,)
    commits = () if _in_flight_in(where.seen, place) else (at_tip,)
    return first_readable(place, commits, [partial(_plan_in, git, place) for git in trees])


def _in_flight_in(git: Git, place: PlanPlace) -> bool:
    flight = read_flight(Workspace(git, "").tree_state)
    return isinstance(flight, Flight) and flight.plan == place.path


def _plan_in(git: Git, place: PlanPlace) -> Document:
    """What the agent of a task in flight made of the plan does not count, nor can it keep us from it."""
    flight = read_flight(Workspace(git, "").tree_state)
    tree = partial(plan_in_tree, git.root, place)
    if isinstance(flight, Flight) and flight.plan == place.path:
        commits = (partial(plan_at, git, place, rev, flight.ignored) for rev in ("HEAD", flight.base))
        return first_readable(place, commits, [tree])  # the last: while the plan itself is being added
    at_tip = partial(plan_at, git, place, "HEAD")
    if in_tree(git.root, place.path) is None or place.dialect.keeps(place.path):
        return first_readable(place, [at_tip], [tree])
    return first_readable(place, [], [tree])


def _check_selection(plan: Plan, config: Config) -> None:
    for wanted in (config.policy.only, config.policy.until):
        if wanted:
            find_task(plan, wanted)


def _require_agent(config: Config) -> None:
    if config.agent == "command" and not config.agent_cmd:
        raise UsageError(
            "no agent is configured",
            fix="name one: holdfast run PLAN --agent claude (or codex, or any program: --agent-cmd CMD)\n"
            "or set agent in holdfast.toml (holdfast init writes one)",
        )
    if config.policy.interactive:
        _require_terminal(config)
    if config.review_agent == "command" and not config.review_command:
        raise UsageError("no program is named for the reviewer", fix="name it: --review-cmd CMD")


def _require_terminal(config: Config) -> None:
    if config.agent not in WITH_INTERFACE:
        raise UsageError(
            f"the agent {config.agent} has no interface of its own",
            fix=f"name one that has: --agent {' or '.join(WITH_INTERFACE)}, or leave out --interactive",
        )
    if config.policy.jobs > 1:
        raise UsageError(
            "--interactive has one terminal for one agent", fix="leave out --jobs, or leave out --interactive"
        )
    if not has_terminal():
        raise UsageError(
            "--interactive needs a terminal, in its foreground and not in a pipe",
            fix="run it there, or let the agent work alone: --non-interactive",
        )


def _require_identity(git: Git) -> None:
    code, _ = git.answer("var", "GIT_COMMITTER_IDENT", expect=(0, 128))
    if code:
        raise Refused(
            "git does not know who you are, so it could not commit",
            fix="git config user.name 'Your Name' && git config user.email you@example.com",
        )


def _view(args: argparse.Namespace, plan: Plan, config: Config) -> View:
    """An agent with an interface of its own must not be drawn over."""
    plain = args.json or args.quiet or "CI" in os.environ or config.policy.interactive
    if plain or not can_redraw(sys.stdout, os.environ.get("TERM", "")):
        return _plain_view(args)
    from holdfast.views.live import LiveView

    return LiveView(plan, now=clock.now)


def _plain_view(args: argparse.Namespace) -> View:
    if args.json:
        from holdfast.views.jsonl import JsonView

        return JsonView(sys.stdout)
    return LinesView(sys.stdout, clock=time_of_day, quiet=args.quiet)


def _tell_intention(where: Ground, place: PlanPlace, plan: Plan, config: Config) -> None:
    policy = config.policy
    print(f"plan      {place.path} ({plan.dialect}): {_settled(plan)} of {len(plan.tasks)} tasks done")
    commits = "no commits" if policy.allow_dirty else "one commit per task"
    origin = config.origin["mode"]
    print(f"mode      {where.mode.value}, on branch {where.branch}; {commits}  ({origin})")
    if where.wanted.directory:
        made = "is there" if where.tree else "would be made"
        print(f"tree      {where.tree.root if where.tree else where.wanted.directory} ({made})")
    print(f"agent     {config.agent}: {config.agent_in_words or 'not configured'}")
    if config.review_agent != "none":
        print(f"review    {config.review_agent}  ({config.origin['review.agent']})")
    for name in ("max_attempts", "task_timeout", "idle_timeout", "commits", "on_interrupt", "on_failure"):
        print(f"{name:<13} {_value(getattr(policy, name))}  ({config.origin.get(name, 'default')})")
    would_run = order_under(policy, plan)
    for task in would_run:
        checks = ", ".join(shlex.quote(gate.name) for gate in gates(policy)(task))
        print(f"would run {task.id}: {task.title}" + (f"   checks: {checks}" if checks else ""))
    if not would_run:
        print(f"would run nothing{why_nothing(plan)}")
    print("nothing was changed (--dry-run)")


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
