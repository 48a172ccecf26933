"""Stories of runs with trees of their own: they die, the user goes on in their checkout, the next run comes.

`3/resume fault:publish.after@1 add commit:file tree:deleted jobs:1 run`: how many tasks at once, what is to
become of partial work, then one step after the other. Whatever the steps, the checkout changes by the user's
hand alone, and in the end every task of the plan is one commit on the run branch.
"""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from invariants import (
    BY_HAND,
    Expectation,
    all_that_is_reachable,
    belongings,
    broken_invariants,
    frozen,
    read_ledger,
    trailer,
    unlisted_rescues,
)
from proof import git_calls, random_kills, system_calls
from proof.plan_text import without_marks
from proof.scene import MANY, PLAN_FOR_MANY, Scene, checkout, make_scene_beside_a_checkout
from proof.sequences import act_out
from proof.story import Story
from proof.sweep import KILLED, Struck, Verdict, rough_ending
from proof.world import still_alive
from scratch import HOLDFAST

MOST_RUNS = 4
TITLE = re.compile(r"(?<=- \[ \] )(T\d+) .*")
FAULTS = (
    *("tree.branch.after", "tree.added", "tree.filled", "tree.made.durable", "seen.after", "flight.durable"),
    *("agent.before", "agent.after", "candidate.after", "commit.before", "commit.after", "flight.removed"),
    *("plan.taken.written", "plan.taken.durable", "tree.forward.before", "tree.forward.after", "edit.after"),
    *("slot.branch.after", "slot.head.after", "tree.detach.after", "tree.attached", "tree.moving.durable"),
    *("done.after", "onto.after", "onto.files", "done.drop.before", "publish.before", "publish.after"),
    *(
        "slot.branch.drop.before",
        "slot.branch.drop.after",
        "rescue.after",
        "restore.before",
        "slot.back.after",
    ),
)
DEATHS = (*(way for way in git_calls.DEATHS if way.startswith("kill")), "fail")


def stories(chapters: int, *, by_the_clock: bool = True) -> SearchStrategy[Story]:
    """Each chapter is a run, which mostly dies, and what the user does after it. A kill by the clock meets
    something else each time."""
    manner = st.sampled_from(("1/resume", "1/rollback", "3/resume", "3/rollback"))
    deeds = st.lists(_deeds(), min_size=1, max_size=3)
    chapter = st.builds(lambda end, after: (end, *after), _runs(by_the_clock), deeds)
    many = st.lists(chapter, min_size=chapters, max_size=chapters)
    return st.builds(lambda first, rest: (first, *(step for steps in rest for step in steps)), manner, many)


def _runs(by_the_clock: bool) -> SearchStrategy[str]:
    clock = [st.integers(1, 1500).map("moment:{}".format)] if by_the_clock else []
    return st.one_of(
        _at("fault", FAULTS, 3),
        _at("git", DEATHS, 150),
        _at("calls", system_calls.VICTIMS, 1200),
        *clock,
        st.just("run"),
    )


def _deeds() -> SearchStrategy[str]:
    return st.one_of(
        st.integers(0, 4).map("retitle:{}".format),
        st.sampled_from(("add", "add:here", "remove", "visit", "rescues")),
        st.sampled_from(("commit:file", "commit:plan", "dirt", "jobs:1", "jobs:3")),
        st.sampled_from(("tree:deleted", "tree:dirty", "tree:locked", "slots:deleted", "slots:dirty")),
        st.sampled_from(("lose:state", "lose:journal", "lose:records")),
    )


def _at(name: str, places: tuple[str, ...], most: int) -> SearchStrategy[str]:
    return st.builds(f"{name}:{{}}@{{}}".format, st.sampled_from(places), st.integers(1, most))


class TreeWorld:
    def __init__(self, root: Path, manner: str) -> None:
        self.jobs, self.on_interrupt = manner.split("/")
        self.scene = make_scene_beside_a_checkout(root, (), PLAN_FOR_MANY)
        self.repo = self.scene.repo
        self.told: list[str] = []
        self.problems: list[str] = []
        self.count = 0
        self.by_hand = 0
        self.messes: set[str] = set()
        """What the user left in trees of the run's."""

    def fresh(self) -> int:
        self.count += 1
        return self.count

    @property
    def command(self) -> Scene:
        words = ("run", "plan.md", "--worktree", "--agent-cmd", MANY, "--verify", "test -d shared")
        policy = ("--jobs", self.jobs, "--on-interrupt", self.on_interrupt)
        return self.scene._replace(command=(*HOLDFAST, *words, *policy))

    @property
    def plan(self) -> Path:
        return self.repo.path / "plan.md"

    @property
    def trees(self) -> Path:
        return self.scene.seen.path.parent

    def conduct(self, act: Callable[[Scene], Struck]) -> int:
        """A command, and what must hold however it ends."""
        before = checkout(self.repo), belongings(self.repo, self.scene.branch)
        struck = act(self.command)
        self.problems += still_alive(self.scene)
        self.told.append(f"exit {struck.code}\n{struck.said}")
        self.problems += rough_ending(struck.code, struck.said)
        if before != (checkout(self.repo), belongings(self.repo, self.scene.branch)):
            self.problems.append("I9: the user's checkout, refs, config or hooks have changed")
        if struck.code == 0:
            self.problems += self._untruths()
        return struck.code

    def _untruths(self) -> list[str]:
        seen = self.scene.seen
        commits = seen.git("rev-list", f"{self.scene.base}..HEAD").split()
        owners = {c: trailer(seen, c, self.scene.trailer) for c in commits}
        edits = [c for c in commits if seen.git("log", "-1", "--format=%s", c).startswith("[holdfast] ")]
        ids = set(re.findall(r"^- \[.\] (T\d+)", self.plan.read_text(), re.MULTILINE))
        removed = {owner for owner in owners.values() if owner} - ids
        tasks = sorted([*ids, *removed, *("" for c in edits if not owners[c])])
        told = (None, self.scene.trailer, False, "mess-.*", tuple(range(self.by_hand + 1)))
        problems = broken_invariants(
            seen, Expectation("plan.md", tuple(tasks), self.scene.base, self.scene.ledger, *told)
        )
        words, theirs = without_marks(seen.git("show", "HEAD:plan.md")), without_marks(self.plan.read_text())
        if words != theirs.rstrip("\n"):
            problems.append(
                f"I5: the plan on the run branch is not what the user wrote:\n{words}\n--- but:\n{theirs}"
            )
        problems += [f"I3: {mess} is lost" for mess in self.messes if not self._is_kept(mess)]
        status = self.scene.holdfast("status", "plan.md", "--json")
        return problems + unlisted_rescues(self.repo, status.out)

    def _is_kept(self, mess: str) -> bool:
        """A tree that no task was given since holds it still."""
        there = any((tree / f"{mess}.txt").exists() for tree in self.trees.iterdir())
        return there or f"{mess}\n".encode() in all_that_is_reachable(self.repo)

    def forget_what_only_trees_held(self) -> None:
        """The user deleted them."""
        kept = all_that_is_reachable(self.repo).decode("utf-8", "replace")
        lines = read_ledger(self.scene.ledger)
        safe = [words for words in lines if words[0] != "wrote" or f"{' '.join(words[1:])}\n" in kept]
        if lines:
            self.scene.ledger.write_text("".join(f"{' '.join(words)}\n" for words in safe))
        self.messes = {mess for mess in self.messes if f"{mess}\n" in kept}


# -- what happens ------------------------------------------------------------------------------------


def _run(world: TreeWorld, _: str = "") -> int:
    def act(scene: Scene) -> Struck:
        result = scene.run()
        return Struck(result.code, result.out + result.err, "")

    return world.conduct(act)


def _fault(world: TreeWorld, where: str) -> None:
    def act(scene: Scene) -> Struck:
        result = scene.run(HOLDFAST_FAULT=where)
        return Struck(result.code, result.out + result.err, "")

    world.conduct(act)


def _git(world: TreeWorld, where: str) -> None:
    way, _, number = where.partition("@")
    world.conduct(lambda scene: git_calls.strike_call(way, scene, int(number)))


def _calls(world: TreeWorld, where: str) -> None:
    victims, _, number = where.partition("@")
    if not system_calls.why_not(world.scene.root):
        world.conduct(lambda scene: system_calls.strike_call(victims, scene, int(number)))


def _moment(world: TreeWorld, milliseconds: str) -> None:
    def act(scene: Scene) -> Struck:
        said = random_kills.killed_after(scene, int(milliseconds) / 1000)
        return Struck(KILLED, said, "")

    world.conduct(act)


def _retitle(world: TreeWorld, number: str) -> None:
    titles = TITLE.findall(without_marks(world.plan.read_text()))
    chosen = titles[int(number) % len(titles)]
    new = f"{chosen} Renamed {world.fresh()}"
    world.plan.write_text(re.sub(rf"(?<=\] ){chosen} .*", new, world.plan.read_text()))


def _add(world: TreeWorld, where: str) -> None:
    """By id and title a task is known again: neither has been there before."""
    text, number = world.plan.read_text(), world.fresh()
    line = f"- [ ] T{100 + number}{' [P]' if where else ''} Another thing {number}\n"
    head, first, rest = text.partition("- [")
    world.plan.write_text(f"{head}{line}{first}{rest}" if where else text + line)


def _remove(world: TreeWorld, _: str) -> None:
    lines = world.plan.read_text().splitlines(keepends=True)
    if sum(line.startswith("- [") for line in lines) > 1:
        world.plan.write_text("".join(lines[:-1]))


def _commit(world: TreeWorld, what: str) -> None:
    """On the user's own branch."""
    if what == "file":
        world.repo.write(f"note-{world.fresh()}.txt", "of the user\n")
    name = "plan.md" if what == "plan" else f"note-{world.count}.txt"
    world.repo.git("add", name)
    if world.repo.git("diff", "--cached", "--name-only", "--", name):
        world.repo.git("commit", "--quiet", "--no-verify", "-m", BY_HAND, "--", name)
        world.by_hand += 1


def _dirt(world: TreeWorld, _: str) -> None:
    world.repo.write("README.md", f"# Half written {world.fresh()}\n")


def _visit(world: TreeWorld, _: str) -> None:
    """The checkout is on another branch for a run."""
    here = world.repo.git("rev-parse", "HEAD")
    world.repo.git("symbolic-ref", "HEAD", "refs/heads/other")
    _run(world)
    world.repo.git("symbolic-ref", "HEAD", "refs/heads/main")
    assert world.repo.git("rev-parse", "HEAD") == here


def _rescues(world: TreeWorld, _: str) -> None:
    result = world.scene.holdfast("rescue", "list")
    world.problems += rough_ending(result.code, result.out + result.err)


def _jobs(world: TreeWorld, many: str) -> None:
    world.jobs = many


def _tree(world: TreeWorld, what: str) -> None:
    _spoil(world, what, [world.scene.seen.path])


def _slots(world: TreeWorld, what: str) -> None:
    _spoil(world, what, sorted(world.trees.glob("plan.*")))


def _spoil(world: TreeWorld, what: str, trees: list[Path]) -> None:
    for tree in (tree for tree in trees if (tree / ".git").exists()):
        if what == "deleted":
            shutil.rmtree(tree)
        elif what == "locked":
            (world.repo.path / ".git/worktrees" / tree.name / "locked").write_text("by the user\n")
        else:
            mess = f"mess-{world.fresh()}"
            (tree / f"{mess}.txt").write_text(f"{mess}\n")
            world.messes.add(mess)
    if what == "deleted":
        world.forget_what_only_trees_held()


def _lose(world: TreeWorld, what: str) -> None:
    state = world.repo.path / ".git/holdfast"
    if what == "records":
        for record in state.rglob("in-flight.json"):
            record.unlink()
    elif what == "journal":
        (state / "journal.db").unlink(missing_ok=True)
    else:
        shutil.rmtree(state, ignore_errors=True)


STEPS: dict[str, Callable[[TreeWorld, str], object]] = {
    "run": _run,
    "fault": _fault,
    "git": _git,
    "calls": _calls,
    "moment": _moment,
    "retitle": _retitle,
    "add": _add,
    "remove": _remove,
    "commit": _commit,
    "dirt": _dirt,
    "visit": _visit,
    "rescues": _rescues,
    "jobs": _jobs,
    "tree": _tree,
    "slots": _slots,
    "lose": _lose,
}


def play(story: Story, root: Path) -> Verdict:
    return act_out(story, TreeWorld(root, story[0]), STEPS, _come_to_an_end)


def _come_to_an_end(world: TreeWorld) -> int:
    """The user puts right what a run asks for; then one more run changes nothing."""
    world.told.append("the end")
    for runs in range(1, MOST_RUNS + 1):
        code = _run(world)
        if world.problems:
            return runs
        if code == 0:
            _once_more(world)
            return runs
        _put_right(world)
    world.problems.append(f"not done after {MOST_RUNS} runs")
    return MOST_RUNS


def _put_right(world: TreeWorld) -> None:
    """What a refusal says: stash what is in a tree of the run's. One that was being freed has no commit."""
    for tree in (tree for tree in world.trees.glob("plan*") if (tree / ".git").exists()):
        where = world.repo._replace(path=tree)
        head, *changed = where.git("status", "--porcelain", "--branch").splitlines()
        if changed and not head.startswith("## No commits yet"):
            where.git("stash", "--include-untracked", "--quiet")


def _once_more(world: TreeWorld) -> None:
    before = frozen(world.scene.seen)
    _run(world)
    after = frozen(world.scene.seen)
    changed = [part for part in before if before[part] != after[part]]
    world.problems += [f"I8: one more run changes the {part}" for part in changed]
