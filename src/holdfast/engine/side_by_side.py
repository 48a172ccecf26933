"""Several tasks at once: each in a tree of its own, landing one at a time on the run branch.

One thread a task, and what they share is small: where the run branch is and what the plan says there, changed
only by whoever holds the landing lock.
"""

import contextlib
import os
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from holdfast.engine import rescue
from holdfast.engine.complete import Done, complete, first_try
from holdfast.engine.give_up import give_up, with_failure
from holdfast.engine.guard import clear_tree_locks, protected_files
from holdfast.engine.landing import MOST_CONFLICTS, Back, carry_onto
from holdfast.engine.observe import moved_by_agents, plan_at_tip, plan_that_is_there
from holdfast.engine.other_refs import other_refs
from holdfast.engine.ready import attach, detach, set_up
from holdfast.engine.schedule import blocked_by, passed_over, startable
from holdfast.engine.site import Crew, Site, Watch, tip_ref
from holdfast.engine.slot import (
    Found,
    assign,
    drop_strays,
    free,
    slot_site,
    slots_found,
    take_stock,
    task_branch,
)
from holdfast.engine.source import in_tree
from holdfast.errors import GivenUp, HoldfastError, Refused, TaskFailure
from holdfast.model import events
from holdfast.model.identity import same_in
from holdfast.model.plan import Document, Task
from holdfast.model.policy import OnFailure
from holdfast.model.state import State
from holdfast.system import clock, files
from holdfast.system.git import ABSENT, GitKilled, RefMoved

MOST_SURPRISES = 20


def needs_crew(site: Site) -> bool:
    """More than one at a time is asked for, tasks have branches of their own, or so it was in a dead run."""
    if site.crew is None:
        return False
    if site.crew.jobs > 1 or site.policy.task_branch:
        return True
    return any(slot.branch for slot in slots_found(site)) or site.git.resolve(tip_ref(site.run)) is not None


def work_side_by_side(site: Site, history: State, tip: str, plan: Document) -> tuple[str, Document]:
    """Until nothing more can start: the tip then, and the plan there."""
    assert site.crew is not None
    _note_tip(site, tip)
    detach(site)
    team = _Team(site, site.crew, history, tip, plan)
    try:
        team.work()
    except HoldfastError:
        with contextlib.suppress(HoldfastError, OSError):  # the next run does it, if this one cannot
            _gather(site)
        raise
    _gather(site)
    return team.tip, team.plan_with_failures()


def _note_tip(site: Site, tip: str) -> None:
    known = site.git.resolve(tip_ref(site.run)) or ABSENT
    if known != tip:
        site.git.move_ref(tip_ref(site.run), tip, known, "several tasks at once", fault="tip")


def _gather(site: Site) -> None:
    """The note of the tip goes while HEAD is on no branch, which tells whose a lock is if git dies over it.
    Where somebody took the branch away, the next run makes it again from that note."""
    tip, noted = site.git.resolve(site.branch), site.git.resolve(tip_ref(site.run))
    if tip and noted:
        site.git.delete_refs({tip_ref(site.run): noted}, fault="tip.drop")
    attach(site)
    document = plan_at_tip(site, tip) if tip else None
    for path in document.ignored if document else ():
        data = document.files.get(path) if document else None
        if data is not None and data != in_tree(site.git.root, path):
            files.write_durably(os.path.join(site.git.root, path), data, fault="plan.derived")


class _Team:
    def __init__(self, site: Site, crew: Crew, history: State, tip: str, plan: Document) -> None:
        self._site = site
        self._crew = crew
        self._history = history
        self.tip = tip
        self._plan = plan
        self._landing = threading.Lock()
        self._counting = threading.Lock()
        self._at_work = 0
        self._watch: Watch | None = None
        self._failed: dict[str, Task] = {}
        self._idle = list(reversed(range(1, crew.jobs + 1)))
        self._ending: HoldfastError | OSError | None = None

    # -- who does what -----------------------------------------------------------------------------------

    def work(self) -> None:
        left = self._left_behind()
        running: dict[Future[None], tuple[int, Task]] = {}
        with ThreadPoolExecutor(max_workers=self._crew.jobs) as threads:
            while True:
                for number, task, found in self._next(running, left):
                    running[threads.submit(self._carry, number, task, found)] = number, task
                if not running:
                    break
                ended, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    number, task = running.pop(future)
                    self._idle.append(number)
                    self._hear(future, task)
        if self._ending is not None:
            raise self._ending

    def _left_behind(self) -> list[tuple[int, Task, Found]]:
        """What is in the slots of a run that died; those that hold nothing are freed."""
        found = []
        branches = [task_branch(self._site, task) for task in self._plan.plan.tasks]
        for notice in clear_tree_locks(self._site, branches, begun=True):
            self._site.record(events.Recovered("a git call died", notice))
        for number, branch, _ in slots_found(self._site):
            site = slot_site(self._site, self._crew.open_tree(number, self.tip), number, branch)
            work = take_stock(site, self._plan)
            if work:
                found.append((number, work.task, work))
                if number in self._idle:
                    self._idle.remove(number)
        drop_strays(self._site, [*branches, *(work.branch for _, _, work in found)])
        return found

    def _next(
        self, running: dict[Future[None], tuple[int, Task]], left: list[tuple[int, Task, Found]]
    ) -> Iterator[tuple[int, Task, Found | None]]:
        """Found work first, then what the plan says can start. Nothing new once the run has to end."""
        room = self._crew.jobs - len(running)
        if self._ending is not None or self._site.stops.requested:
            return
        while left and room:
            room -= 1
            yield left.pop(0)
        if not room:
            return
        busy = {task.id for _, task in running.values()} | {task.id for _, task, _ in left}
        with self._landing:
            plan = self.plan_with_failures().plan
        policy = self._site.policy
        failed = passed_over(policy.on_failure, plan)
        for task in startable(plan, policy.order, busy, failed, policy.only, policy.until)[:room]:
            yield self._idle.pop(), task, None

    def _hear(self, future: Future[None], task: Task) -> None:
        """The first error ends the run, once those who are at work have finished."""
        try:
            future.result()
        except GivenUp as error:
            if self._site.policy.on_failure is OnFailure.STOP:
                self._ending = self._ending or error
            self._failed[task.id] = task
        except (HoldfastError, OSError) as error:
            self._ending = self._ending or error

    def plan_with_failures(self) -> Document:
        plan = self._plan
        for task in self._failed.values():
            plan = plan._replace(plan=with_failure(plan.plan, task, tuple(blocked_by(plan.plan, {task.id}))))
        return plan

    # -- one task, in a thread of its own ----------------------------------------------------------------

    def _carry(self, number: int, task: Task, found: Found | None) -> None:
        began = clock.monotonic()
        with self._watched(self._given(number, task, found)) as site:
            self._finish(site, task, found, began)

    @contextlib.contextmanager
    def _watched(self, site: Site) -> Iterator[Site]:
        """What the user has of their own in the repository is looked at when nobody is at work."""
        with self._counting:
            if not self._at_work:
                before = protected_files(site.git), other_refs(site, site.branch)
                self._watch = Watch(*before, threading.Lock())
            self._at_work += 1
        try:
            yield site._replace(watch=self._watch)
        finally:
            with self._counting:
                self._at_work -= 1

    def _finish(self, site: Site, task: Task, found: Found | None, began: float) -> None:
        for _ in range(MOST_SURPRISES):
            try:
                self._land_it(site, task, found, began)
                return
            except (RefMoved, GitKilled) as surprise:
                site.record(events.Noticed(f"{surprise.message}; looking again", task.id))
                with self._landing:
                    self._look()
                    found = take_stock(site, self._plan)
                if found is None:
                    if self._is_settled(task):
                        return
                    self._begin(site)
            except GivenUp as failure:
                self._give_up(site, task, failure)
                raise
        raise TaskFailure(
            f"task {task.id}: somebody keeps moving its branch or killing git calls",
            fix="find out who (the notes above say what happened), then run again",
        )

    def _given(self, number: int, task: Task, found: Found | None) -> Site:
        tree = self._crew.open_tree(number, self.tip)
        site = slot_site(self._site, tree, number, found.branch if found else task_branch(self._site, task))
        if found is None:
            self._begin(site)
        set_up(site, self._crew.checkout)
        return site

    def _begin(self, site: Site) -> None:
        with self._landing:
            tip = self.tip
        assign(site, self._site, tip)

    def _land_it(self, site: Site, task: Task, found: Found | None, began: float) -> None:
        done = found.done if found else None
        if done is None:
            done = self._completed(site, task, found)
        conflicts = 0
        while back := self._publish(site, task, done, began):
            conflicts += back.conflict
            if conflicts > MOST_CONFLICTS:
                raise self._beyond_conflicts(site, task)
            done = complete(site, back.this, back.tip)

    def _completed(self, site: Site, task: Task, found: Found | None) -> Done:
        standing = found.standing if found else None
        tip = standing.tip if standing else site.git.resolve(site.branch)
        plan = standing.plan if standing else plan_that_is_there(site, tip)
        assert tip is not None
        this = first_try(site, self._history, plan, task, standing)
        return complete(site, this, tip, self._history.of(task).waiting)

    def _publish(self, site: Site, task: Task, done: Done, began: float) -> Back | None:
        with self._turn(site, task):
            self._look()
            if site.git.resolve(f"{done.commit}^") != self.tip:
                carried = carry_onto(site, task, done, self.tip, self._plan)
                if isinstance(carried, Back):
                    return carried
                done = carried
            self._move(site, done.commit, f"task {task.id}")
            self._plan = done.plan
            seconds = clock.monotonic() - began
            self._site.record(events.TaskLanded(task.id, task.title, done.commit, done.attempt, seconds))
        free(site)
        return None

    @contextlib.contextmanager
    def _turn(self, site: Site, task: Task) -> Iterator[None]:
        """To land is for one at a time."""
        if not self._landing.acquire(blocking=False):
            site.record(events.Queued(task.id))
            self._landing.acquire()
        try:
            yield
        finally:
            self._landing.release()

    def _move(self, site: Site, commit: str, words: str) -> None:
        """The commit point of a task that had a tree of its own."""
        noted = tip_ref(site.run)
        site.git.move_ref(site.lands_on, commit, self.tip, words, fault="publish", along=noted)
        self.tip = commit

    def _look(self) -> None:
        """Somebody else may have moved the run branch: an agent's doing is undone, anybody else's counts."""
        site = self._site
        now = site.git.resolve(site.branch)
        if now == self.tip:
            return
        if now is None or moved_by_agents(site.git, site.branch, self.tip):
            if now:
                ref = rescue.pin(site.git, site.run, "run-branch", now, "an agent moved the run branch there")
                site.record(events.Rescued(ref, "an agent moved the run branch there; put back"))
            site.git.move_ref(site.branch, self.tip, now or ABSENT, "put back", fault="branch.back")
            return
        if not site.git.is_ancestor(self.tip, now):
            raise Refused(
                f"{site.branch} was moved to {now[:12]}, which does not contain {self.tip[:12]}",
                fix=f"put it back (git update-ref {site.branch} {self.tip[:12]}), or discard the build",
            )
        document = plan_that_is_there(site, now)
        self.tip, self._plan = now, document

    def _is_settled(self, task: Task) -> bool:
        same = same_in(self._plan.plan, task)
        return same is None or same.status.settled

    # -- a task that fails -------------------------------------------------------------------------------

    def _beyond_conflicts(self, site: Site, task: Task) -> GivenUp:
        reason = f"it conflicts with what other tasks landed, still after {MOST_CONFLICTS} rounds"
        site.record(events.TaskFailed(task.id, task.title, reason))
        return GivenUp(
            f"task {task.id} failed: {reason}",
            reason=reason,
            fix=f"its work is under rescue (holdfast rescue list). Run again to try it alone, or:\n"
            f"  holdfast skip {task.id}    go on without it",
        )

    def _give_up(self, site: Site, task: Task, failure: GivenUp) -> None:
        """With `continue` its work goes to rescue and the plan's own files say so; otherwise it stays."""
        if site.policy.on_failure is OnFailure.STOP:
            return
        with self._landing:
            self._look()
            free(site)
            assign(site, self._site, self.tip)
            commit, document = give_up(site, self.tip, self._plan, task, failure.reason)
            if commit != self.tip:
                self._move(site, commit, f"task {task.id} failed")
                self._plan = plan_at_tip(site, commit) or document
        free(site)
