"""`commits = agent`: the agent makes the commit itself, and is held to exactly one, with exactly its mark.

Its commit is the task's commit. One that does not hold is pinned under rescue and taken off the branch; its
bytes stay in the tree for the next attempt.
"""

import os

from holdfast.agents.base import Outcome, OutcomeKind
from holdfast.agents.prompt import COMMIT_RECOVERY
from holdfast.engine import rescue
from holdfast.engine.agent_run import Try, run_agent
from holdfast.engine.attempt import (
    inspect_changes,
    nested_repositories,
    put_plan_back,
    put_repository_back,
    respect_others,
    verify,
)
from holdfast.engine.begin import begin, rest
from holdfast.engine.commit import Rejected, Sealed, Staged, prepare_index
from holdfast.engine.criteria import hear_criteria
from holdfast.engine.flight import Flight
from holdfast.engine.land import drop_helpers
from holdfast.engine.marks import only_marked
from holdfast.engine.observe import Sight, plan_at_tip
from holdfast.engine.review import review
from holdfast.engine.site import Site
from holdfast.engine.verdict import Failure, Postponed, not_finished, stop_if_hopeless, work_refused
from holdfast.errors import AgentUnavailable, Interrupted, PlanError, TaskFailure
from holdfast.model.events import Noticed, Rescued, TaskLanded
from holdfast.model.identity import by_title
from holdfast.model.plan import Document, Status, Task
from holdfast.system import files
from holdfast.system.git import Unreadable

WORKFLOWS = os.path.join(".github", "workflows")
NO_WORKFLOW = (
    "There is no CI workflow file in .github/workflows/. Add one (a .yml file that builds and tests the "
    "project) to the commit of this task."
)
ASKED = 2
"""How often the agent is asked to commit what a failed commit left behind."""


def attempt_with_agents_commit(site: Site, flight: Flight, this: Try) -> Sealed | Failure | Postponed:
    outcome = run_agent(site, flight, this)
    stashed = respect_others(site, flight)
    stop_if_hopeless(site, outcome, "while the agent worked")
    result = stashed or _judge(site, flight, this, outcome)
    if isinstance(result, Sealed):
        return result
    strayed = put_repository_back(site, flight)
    if not strayed and not only_marked(site, this.plan, this.task.id):
        prepare_index(site, flight.base)
        put_plan_back(site, flight)  # the next attempt is to find the plan that it is asked to mark
    return strayed or result


def _judge(site: Site, flight: Flight, this: Try, outcome: Outcome) -> Sealed | Failure | Postponed:
    """Exit code, one commit, the tag, the mark, and then the gates."""
    if outcome.kind is not OutcomeKind.FINISHED:
        return not_finished(outcome)
    made = agents_commit(site, flight, this.plan, this.task)
    if isinstance(made, str):
        return Failure(
            made, f"You ended with success, but {made}. Your changes are in the tree, uncommitted."
        )
    if not outcome.success_note and not site.policy.interactive:
        return Failure("the agent ended without a <SUCCESS> tag", "End with the <SUCCESS> tag.", final=True)
    if site.policy.ci_workflow and site.workspace.own and not _has_workflow(site):
        return Failure("the project has no CI workflow", NO_WORKFLOW)
    try:
        inspect_changes(site, made.changes, outcome)
        hear_criteria(site, this, outcome)
        verify(site, flight, this)
        reviewed = review(site, flight, this)
    except Rejected as rejected:
        return work_refused(rejected, outcome)
    if reviewed and agents_commit(site, flight, this.plan, this.task) != made:
        return Failure(
            "the commit was changed while it was reviewed", "Your commit was changed; make it again."
        )
    return made


def _has_workflow(site: Site) -> bool:
    directory = os.path.join(site.git.root, WORKFLOWS)
    names = os.listdir(directory) if os.path.isdir(directory) else []
    return any(name.endswith((".yml", ".yaml")) for name in names)


def agents_commit(site: Site, flight: Flight, before: Document, task: Task) -> Sealed | str:
    """The one commit the agent was to make, or what is wrong with what it made instead."""
    git = site.git
    tip = git.resolve(flight.branch)
    if git.current_branch() != flight.branch or tip is None:
        return "HEAD is no longer on the branch the task began on"
    if tip == flight.base:
        return "no commit was made"
    if git.resolve(f"{tip}^") != flight.base or git.resolve(f"{tip}^2"):
        return "exactly one commit on top of where the task began was asked for"
    try:
        after = plan_at_tip(site, tip)
    except (PlanError, Unreadable):
        return "the commit makes the plan one that cannot be read"
    wrong = _wrong_marks(before, after, task)
    if wrong:
        return wrong
    if not git.dirt().clean:
        return "changes were left uncommitted"
    assert after is not None
    changes = git.changes_between(flight.base, tip)
    if nested := nested_repositories(site, changes):
        return f"the commit holds a git repository of its own: {', '.join(nested)}"
    staged = Staged("", changes, b"")
    return Sealed(tip, staged, after, before, landed=True)


def _wrong_marks(before: Document, after: Document | None, task: Task) -> str:
    if after is None:
        return "the commit removes the plan"
    try:
        same = by_title(before.plan, after.plan)
    except PlanError as error:
        return f"the commit changes more of the plan than a mark: {error.message}"
    statuses = {t.id: t.status for t in after.plan.tasks}
    now = {old: statuses[new] for old, new in same.items()}
    if now.get(task.id) is not Status.COMPLETED:
        return "the commit does not mark the task as complete in the plan"
    others = [t.id for t in before.plan.tasks if t.id != task.id and now.get(t.id) is not t.status]
    return f"the commit changes the marks of other tasks: {', '.join(others)}" if others else ""


def ask_to_commit(site: Site, sight: Sight, task: Task) -> None:
    """A task marked done whose commit failed: the agent is asked to commit it, twice at most.

    When both fail, the branch, HEAD, the index and the tree are as they were.
    """
    site.record(Noticed("Detected uncommitted changes from a previous run, attempting to commit...", task.id))
    assert sight.at_tip is not None
    flight = sight.flight or begin(site, task, sight.at_tip, sight.tip, attempt=1)
    ref = rescue.snapshot(site.workspace, site.run, flight.key, f"task {task.id} was found finished")
    site.record(Rescued(ref, "found finished and uncommitted", task.id))
    for number in range(1, ASKED + 1):
        made = _ask(site, flight, sight, task, number)
        if made:
            files.flush_file_systems(site.git.root, site.git.common_dir)
            drop_helpers(site)
            site.record(Noticed("Recovery commit successful.", task.id))
            site.record(TaskLanded(task.id, task.title, made.commit, number, 0.0))
            return
        if number < ASKED:
            site.record(Noticed(f"Recovery attempt {number} failed, retrying...", task.id))
    drop_helpers(site)
    raise TaskFailure(
        "Error: Could not commit recovered changes after 2 attempts. Please commit manually and rerun.",
        fix="git add -A && git commit, then run the same command again",
    )


def _ask(site: Site, flight: Flight, sight: Sight, task: Task, number: int) -> Sealed | None:
    assert sight.at_tip is not None
    index = os.path.join(site.git.git_dir, "index")
    index_before = files.read_if_there(index)
    this = Try(task, sight.at_tip, number, ASKED, "", False, False, sight.dirt.paths)
    outcome = run_agent(site, flight, this, COMMIT_RECOVERY)
    respect_others(site, flight)
    try:
        stop_if_hopeless(site, outcome, "while the agent was asked to commit")
    except (Interrupted, AgentUnavailable):
        rest(site, flight)
        raise
    made = agents_commit(site, flight, sight.at_tip, task)
    if outcome.kind is OutcomeKind.FINISHED and isinstance(made, Sealed):
        return made
    put_repository_back(site, flight)
    if index_before is not None:
        files.write_durably(index, index_before, fault="index.restored")
    return None
