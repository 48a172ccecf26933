"""Does what recovery decided. Every repair may be interrupted and done again."""

from collections.abc import Callable
from typing import NamedTuple

from holdfast.engine import guard, refuse, rescue
from holdfast.engine.agent_commits import agents_commit, ask_to_commit
from holdfast.engine.attempt import put_plan_back
from holdfast.engine.begin import begin, rest
from holdfast.engine.claims import require_agreement
from holdfast.engine.commit import Sealed, prepare_index
from holdfast.engine.flight import Flight, read_flight, set_aside_flight, write_flight
from holdfast.engine.land import drop_helpers, lying_otherwise, write_ignored_files
from holdfast.engine.marks import (
    commit_edit,
    commit_plan,
    commit_state,
    commit_words,
    marks_differ,
    only_marked,
)
from holdfast.engine.observe import Sight, commits_by_agent, look, plan_at_tip, same_task
from holdfast.engine.other_refs import keep_others, stash_changed
from holdfast.engine.pin import pin_base
from holdfast.engine.recover import Action, Record, decide
from holdfast.engine.repair_landed import finish_landed, publish_sealed
from holdfast.engine.site import Site
from holdfast.engine.source import in_tree, kept_files
from holdfast.engine.torn import settle_objects
from holdfast.errors import Refused
from holdfast.model.events import Noticed, Recovered, Rescued, TaskLanded
from holdfast.model.plan import Document, Task
from holdfast.model.policy import Commits
from holdfast.system import files

MOST_REPAIRS = 12
"""Every repair brings the tree nearer to a beginning; more than this means two of them undo each other."""


class Standing(NamedTuple):
    """Where the run may begin: the plan at the tip and, maybe, a task that is under way already."""

    tip: str
    plan: Document
    resume: Task | None = None
    """Its partial work is in the tree."""
    finished: bool = False
    """That work only has to be checked and sealed: no agent is needed."""


def recover(site: Site) -> Standing:
    """Until nothing that an earlier run left stands in the way, or somebody has to decide."""
    settle_objects(site)
    _settle_repository(site)
    for _ in range(MOST_REPAIRS):
        sight = look(site)
        clear_dead_locks(site, sight)
        action = decide(sight.observation)
        standing = REPAIRS[action](site, sight)
        if standing is not None:
            return standing
    raise Refused(
        f"recovery does not come to an end: {action.value}",
        fix="look at `git status`, commit or set aside what is there, and run again",
    )


def _settle_repository(site: Site) -> None:
    """Before anything is looked at: an agent's excludes would hide its work, its filters disguise it. Where a
    commit is sealed that is long done, and what has changed since is the user's doing."""
    flight = read_flight(site.workspace.tree_state)
    if not isinstance(flight, Flight) or flight.run != site.run or flight.by_hand:
        return
    if site.git.refs(site.candidate_prefix):
        return
    gone = site.git.resolve(flight.branch) is None
    notices = [*guard.put_files_back(site, flight), *keep_others(site, flight)]
    for notice in (*notices, *(guard.put_back(site, flight).notices if gone else ())):
        site.record(Recovered("an interrupted attempt", notice, flight.task))


def clear_dead_locks(site: Site, sight: Sight) -> None:
    """A killed git call leaves its lock; only where something of ours had begun can it be ours."""
    if sight.observation.record is Record.NEWER:
        return
    begun = sight.observation.record is not Record.NONE or bool(sight.candidate)
    for notice in guard.clear_locks(site, ours_alone=not begun):
        site.record(Recovered("a git call died", notice))


# -- nothing in the way ------------------------------------------------------------------------------


def _begin(site: Site, sight: Sight) -> Standing | None:
    if sight.at_tip is None:
        raise refuse.not_committed(site)
    if site.plan.path in sight.at_tip.ignored and site.policy.commits is Commits.AGENT:
        raise refuse.not_for_agents(site)
    if locks := guard.locks_of_others(site):
        raise Refused(
            f"another git process is at work here, or died: {', '.join(locks)}",
            fix="let it finish; if no git process is left, remove the file and run again",
        )
    require_agreement(site, sight.at_tip, sight.tip)
    recovered = site.plan.dialect.recover(sight.at_tip)
    if recovered.files != sight.at_tip.files:
        message = f"[holdfast] Reset interrupted tasks: {site.plan.name}"
        commit_state(site, sight.tip, sight.at_tip, recovered, message)
        found = "tasks that another tool left in progress"
        site.record(Recovered(found, "they are open again"))
        return None
    if behind := write_ignored_files(site, sight.at_tip):
        site.record(Recovered(f"{', '.join(behind)} behind the commits", "brought it in line with them"))
    return Standing(sight.tip, sight.at_tip)


def _forget(site: Site, sight: Sight) -> None:
    in_line = sight.at_tip is not None and not lying_otherwise(site, sight.at_tip)
    if sight.flight is not None and sight.flight.ignored and not in_line:
        put_plan_back(site, sight.flight)
    drop_helpers(site)


def _commit_plan(site: Site, sight: Sight) -> None:
    commit_plan(site, sight.tip, sight.at_tip)


# -- a task was in flight ----------------------------------------------------------------------------


def _set_aside(site: Site, sight: Sight) -> None:
    assert sight.damaged is not None
    aside = set_aside_flight(sight.damaged)
    found = f"an in-flight record that cannot be read ({sight.damaged.problem})"
    site.record(Recovered(found, f"moved to {aside}; git tells the rest"))


def _rebuild(site: Site, sight: Sight) -> None:
    """Once written it is a record like any other, and the next look decides."""
    flight = _in_flight(sight)
    write_flight(site.workspace.tree_state, flight)
    found = f"no record of the task in flight, but its base {flight.base[:12]} pinned"
    site.record(Recovered(found, "wrote the record again", flight.task))


def _accept(site: Site, sight: Sight) -> None:
    flight = _in_flight(sight)
    before = plan_at_tip(site, flight.base, flight)
    task = same_task(site, before.plan, flight) if before else None
    made = agents_commit(site, flight, before, task) if before and task else "the plan is gone"
    if isinstance(made, str) or _work_is_stashed(site, flight, made):
        _put_branch_back(site, sight)
        return
    files.flush_file_systems(site.git.root, site.git.common_dir)
    drop_helpers(site)
    found = "the agent's own commit, made before the run died"
    site.record(Recovered(found, "kept it", flight.task))
    site.record(TaskLanded(flight.task, flight.title, made.commit, flight.attempt, 0.0))


def _work_is_stashed(site: Site, flight: Flight, made: Sealed) -> bool:
    nothing_else = {change.path for change in made.changes} <= set(kept_files(site.plan))
    return nothing_else and stash_changed(site, flight)


def _ask_agent(site: Site, sight: Sight) -> None:
    (task,) = sight.marked
    ask_to_commit(site, sight, task)


def _put_branch_back(site: Site, sight: Sight) -> None:
    flight = _in_flight(sight)
    committed = site.git.blob(f"HEAD:{site.plan.path}")
    for notice in guard.put_back(site, flight).notices:
        site.record(Recovered("an interrupted attempt", notice, flight.task))
    # The very plan that the agent committed is no edit of the user's.
    if committed == in_tree(site.git.root, site.plan.path) and _plan_spoilt(site, flight):
        prepare_index(site, flight.base)
        put_plan_back(site, flight)


def _rebase_record(site: Site, sight: Sight) -> None:
    """Somebody committed while the task was in flight: their commit stays and becomes its base."""
    flight = _in_flight(sight)._replace(base=sight.tip)
    task = same_task(site, sight.at_tip.plan, _in_flight(sight)) if sight.at_tip else None
    if task:
        flight = flight._replace(task=task.id, key=task.key, title=task.title)
    write_flight(site.workspace.tree_state, flight)
    pin_base(site, flight)
    found = f"the branch moved to {sight.tip[:12]} meanwhile"
    site.record(Recovered(found, "goes on from there", flight.task))
    if made := commits_by_agent(site.git, _in_flight(sight), sight.tip):
        names = ", ".join(commit[:12] for commit in made)
        words = (
            f"below it is what the agent committed unasked ({names}); it stays, since yours is on top of it"
        )
        site.record(Noticed(words, flight.task))


def _reseal(site: Site, sight: Sight) -> Standing | None:
    """The tree holds the work, the branch has moved on: check again, without an agent."""
    flight = _in_flight(sight)
    ref = rescue.pin(site.git, site.run, f"{flight.key}-candidate", sight.candidate, "sealed on an older tip")
    site.record(Rescued(ref, "sealed on a tip that has moved since", flight.task))
    site.git.delete_refs({sight.candidate_ref: sight.candidate}, fault="candidate.drop")
    if sight.dirt.clean or sight.at_tip is None:
        return None
    site.record(Recovered("its sealed commit on what is no longer the tip", "checks it again", flight.task))
    return Standing(sight.tip, sight.at_tip, same_task(site, sight.at_tip.plan, flight), finished=True)


def _take_edit(site: Site, sight: Sight) -> None:
    assert sight.at_tip is not None
    flight = sight.flight
    if flight is None:
        commit_words(site, sight.tip, sight.at_tip)
        return
    rest(site, flight)  # the hooks that judge the edit are the user's, whatever the agent made of them
    if marks_differ(site, sight.at_tip):
        _keep(site, flight, "marks made by hand in the plan")
    commit = commit_edit(site, flight, sight.tip, sight.at_tip)
    found = f"{site.plan.path} edited meanwhile"
    site.record(Recovered(found, f"took the edit in as {commit[:12]}", flight.task))


def _resume(site: Site, sight: Sight) -> Standing | None:
    flight = _in_flight(sight)
    ref = _tidy(site, flight)
    found = f"{_changes(sight)} of an interrupted attempt"
    site.record(Recovered(found, "goes on in place", flight.task, ref))
    assert sight.at_tip is not None
    return Standing(sight.tip, sight.at_tip, same_task(site, sight.at_tip.plan, flight))


def _roll_back(site: Site, sight: Sight) -> None:
    flight = _in_flight(sight)
    ref = _tidy(site, flight)
    rescue.restore_start(site.workspace, flight.base)
    torn = "" if sight.observation.same_boot else ", from before the machine restarted (files may be torn)"
    found = f"{_changes(sight)} of an interrupted attempt{torn}"
    site.record(Recovered(found, "kept under rescue, begins the task again", flight.task, ref))


def _clear_away(site: Site, sight: Sight) -> None:
    flight = _in_flight(sight)
    ref = _tidy(site, flight)
    rescue.restore_start(site.workspace, flight.base)
    found = f"{_changes(sight)} of it, and it is no longer open in the plan"
    site.record(Recovered(found, "kept under rescue", flight.task, ref))


def _tidy(site: Site, flight: Flight) -> str:
    """Keep everything first; then locks, config and HEAD as they were, and the plan file ours again."""
    ref = _keep(site, flight, "partial work of an interrupted attempt")
    for notice in guard.put_back(site, flight).notices:
        site.record(Noticed(notice, flight.task))
    if site.policy.commits is Commits.EXECUTOR or _plan_spoilt(site, flight):
        prepare_index(site, flight.base)
        put_plan_back(site, flight)
    return ref


def _plan_spoilt(site: Site, flight: Flight) -> bool:
    """An agent that commits by itself marks its own task; with more than that its commit would not hold."""
    before = plan_at_tip(site, flight.base, flight)
    return before is not None and not only_marked(site, before, flight.task)


def _keep(site: Site, flight: Flight, reason: str) -> str:
    ref = rescue.snapshot(site.workspace, site.run, flight.key, f"task {flight.task}: {reason}")
    site.record(Rescued(ref, reason, flight.task))
    return ref


def _in_flight(sight: Sight) -> Flight:
    assert sight.flight is not None
    return sight.flight


def _changes(sight: Sight) -> str:
    count = len(sight.dirt.paths)
    return f"{count} changed {'file' if count == 1 else 'files'}"


# -- another tool, or an older run, left marks -------------------------------------------------------


def _commit_marked(site: Site, sight: Sight) -> Standing | None:
    (task,) = sight.marked
    site.record(Noticed("Detected uncommitted changes from a previous run, attempting to commit...", task.id))
    return _take_over(site, sight, task, finished=True)


def _adopt(site: Site, sight: Sight) -> Standing | None:
    (task,) = sight.stepped
    found = "uncommitted work with some of its steps marked done"
    site.record(Recovered(found, "resumes the task with it", task.id))
    return _take_over(site, sight, task, finished=False)


def _take_over(site: Site, sight: Sight, task: Task, *, finished: bool) -> Standing | None:
    assert sight.at_tip is not None
    flight = begin(site, task, sight.at_tip, sight.tip, attempt=1)
    _tidy(site, flight)
    return Standing(sight.tip, sight.at_tip, task, finished)


Repair = Callable[[Site, Sight], "Standing | None"]

REPAIRS: dict[Action, Repair] = {
    Action.SET_ASIDE: _set_aside,
    Action.REFUSE_NEWER: refuse.refuse_newer,
    Action.REBUILD: _rebuild,
    Action.FINISH: finish_landed,
    Action.PUBLISH: publish_sealed,
    Action.RESEAL: _reseal,
    Action.REFUSE_OTHERS: refuse.refuse_others,
    Action.REFUSE_MOVED: refuse.refuse_moved,
    Action.REFUSE_OPERATION: refuse.refuse_operation,
    Action.REFUSE_SEVERAL: refuse.refuse_several,
    Action.REFUSE_DIRTY: refuse.refuse_dirty,
    Action.FORGET: _forget,
    Action.ACCEPT: _accept,
    Action.ASK_AGENT: _ask_agent,
    Action.PUT_BRANCH_BACK: _put_branch_back,
    Action.REBASE_RECORD: _rebase_record,
    Action.CLEAR_AWAY: _clear_away,
    Action.RESUME: _resume,
    Action.ROLL_BACK: _roll_back,
    Action.COMMIT_MARKED: _commit_marked,
    Action.ADOPT: _adopt,
    Action.COMMIT_PLAN: _commit_plan,
    Action.TAKE_EDIT: _take_edit,
    Action.BEGIN: _begin,
}
