"""What must be true of a repository whenever a run has ended with 0, seen from outside."""

from typing import NamedTuple

from invariants import agents_overlapped, helpers_left, read_ledger, trailer, tree, unlisted_rescues, unsound
from proof.plan_text import DONE, OPEN, SKIPPED, ids_of, marks_of, without_marks
from proof.world import PLAN, World
from scratch import run

OURS = "[holdfast] "


class Commit(NamedTuple):
    id: str
    subject: str
    attempt: str
    """As the trailer says; "" for a change of marks, and for an agent's own commit."""
    before: str
    """The plan's text at its parent."""
    after: str
    paths: frozenset[str]

    @property
    def turned(self) -> dict[str, tuple[str, str]]:
        """Tasks whose mark it changes, by title."""
        old, new = marks_of(self.before), marks_of(self.after)
        return {t: (old[t], new[t]) for t in old if t in new and old[t] != new[t]}

    @property
    def is_a_tasks(self) -> bool:
        return bool(self.attempt) or self.subject.startswith("agent: ")


def untruths(world: World, *, finished: bool) -> list[str]:
    """`finished`: it was a run, so that nothing is left to do."""
    problems = [*_history(world), *_starts(world), *_lost(world), *agents_overlapped(world.scene.ledger)]
    if finished:
        problems += [*_plan(world), *unsound(world.repo), *helpers_left(world.repo)]
    status = world.scene.holdfast("status", PLAN, "--json")
    return problems + unlisted_rescues(world.repo, status.out)


# -- the branch --------------------------------------------------------------------------------------


def _history(world: World) -> list[str]:
    """Only what is new since the last look: what was there must still be."""
    repo = world.repo
    gone = [
        c
        for c in (world.checked, *world.users_commits)
        if not world.user_git("merge-base", "--is-ancestor", c, "main")
    ]
    if gone:
        return [f"I5: commit {commit[:12]} is no longer on the branch" for commit in gone]
    tip = _settled_tip(world)
    commits = [_read(world, c) for c in repo.git("rev-list", "--reverse", f"{world.checked}..{tip}").split()]
    world.checked = commits[-1].id if commits else world.checked
    others = [commit for commit in commits if commit.id not in world.users_commits]
    problems = [problem for commit in others for problem in _judged(world, commit)]
    return problems + _without_its_work(world, commits)


def _settled_tip(world: World) -> str:
    """While a task is in flight what is on top of its base may be the agent's own, and go again."""
    return world.repo.git("for-each-ref", "--format=%(objectname)", "refs/holdfast/base") or "main"


def _read(world: World, commit: str) -> Commit:
    subject = world.repo.git("log", "-1", "--format=%s", commit)
    paths = world.repo.git("diff-tree", "--no-commit-id", "--name-only", "-r", "-z", commit).split("\0")
    before, after = world.plan_at(f"{commit}^"), world.plan_at(commit)
    attempt = trailer(world.repo, commit, "Holdfast-Attempt")
    return Commit(commit, subject, attempt, before, after, frozenset(paths) - {""})


def _judged(world: World, commit: Commit) -> list[str]:
    name = f"commit {commit.id[:12]} ({commit.subject})"
    problems = _judged_task(world, commit) if commit.is_a_tasks else _judged_marks(world, commit)
    return [f"{problem}: {name}" for problem in problems]


def _judged_task(world: World, commit: Commit) -> list[str]:
    problems = []
    if list(commit.turned.values()) != [(OPEN, DONE)]:
        return [f"I2: a task's commit turns the marks {commit.turned}"]
    (title,) = commit.turned
    asked = world.agent_commits and title in world.adopted  # to commit what is there, edits and all
    if without_marks(commit.before) != without_marks(commit.after) and not asked:
        problems.append("I2: a task's commit changes the words of the plan")
    own = {PLAN, *(f"work/{name}" for name in (title, *world.former.get(title, ())))}
    if foreign := commit.paths - own - world.shared:
        problems.append(f"I2: the commit of {title} changes {sorted(foreign)}")
    told = trailer(world.repo, commit.id, "Holdfast-Task")
    if commit.attempt and told != ids_of(commit.before)[title]:
        problems.append(f"I1: the trailer says task {told}, the mark is that of {title}")
    return problems


def _judged_marks(world: World, commit: Commit) -> list[str]:
    """A change of the plan alone, in the user's name."""
    if not commit.subject.startswith(OURS):
        return ["I1: nobody's commit"]
    problems = [] if commit.paths == {PLAN} else [f"I5: it changes {sorted(commit.paths)}"]
    for title, (old, new) in commit.turned.items():
        asked = (
            [world.ticks]
            if new == DONE
            else [world.skips]
            if new == SKIPPED
            else [world.resets, world.unticks]
        )
        wish = next((counter for counter in asked if counter[title] > 0), None)
        if wish is None:
            problems.append(f"I4: it turns {title} from [{old}] to [{new}], and nobody asked for that")
        else:
            wish[title] -= 1
    return problems


def _without_its_work(world: World, commits: list[Commit]) -> list[str]:
    """I2: what the agent had written when it last ended is in the commit that marks the task done."""
    last = {title: commit for commit in commits for title in commit.turned}
    ends = {
        words[0].rstrip(","): " ".join(words)
        for word, *words in read_ledger(world.scene.ledger)
        if word == "end"
    }
    problems = []
    for title, commit in last.items():
        if commit.is_a_tasks and title in ends and title not in world.adopted:
            work = run(("git", "show", f"{commit.id}:work/{title}"), cwd=world.repo.path, env=world.repo.env)
            if ends[title] not in work.out.splitlines():
                problems.append(f"I2: {ends[title]!r} is not in the commit of {title}")
    return problems


# -- the agents --------------------------------------------------------------------------------------


def _starts(world: World) -> list[str]:
    problems = []
    seen: dict[str, int] = {}
    for word, *words in read_ledger(world.scene.ledger):
        if word != "start":
            continue
        title, head, _, attempt = words
        mark = marks_of(world.plan_at(head)).get(title)
        if mark != OPEN:
            problems.append(f"I4: an agent was started for {title} at {head[:12]}, where its mark is {mark}")
        before = sum(seen.get(name, 0) for name in (title, *world.former.get(title, ())))
        if int(attempt) > before + 1 + (title in world.adopted) + world.unheard:
            problems.append(f"I12: attempt {attempt} of {title}, which had been started {before} times")
        seen[title] = seen.get(title, 0) + 1
    return problems


# -- what must not be lost ---------------------------------------------------------------------------


def _lost(world: World) -> list[str]:
    wrote = (" ".join(words) for word, *words in read_ledger(world.scene.ledger) if word == "wrote")
    wanted = {*wrote, *world.kept}
    kept = b"".join(tree(world.repo).values()).decode()
    missing = {line for line in wanted if line not in kept}
    everything = _reachable(world) if missing else ""
    return [f"I3: {line!r} is lost" for line in sorted(missing) if line not in everything]


def _reachable(world: World) -> str:
    """From a branch, a rescue, any stash or the index: what is staged is there as long as it stays staged."""
    stashes = world.repo.git("stash", "list", "--format=%H").split()
    refs = ("--branches", "--glob=refs/holdfast/rescue", "--indexed-objects", *stashes)
    names = world.repo.git("rev-list", "--objects", "--no-object-names", *refs)
    return world.repo.git("cat-file", "--batch", input=f"{names}\n")


def _plan(world: World) -> list[str]:
    at_tip, in_tree = world.plan_at("main"), world.plan_in_tree()
    problems = []
    if without_marks(at_tip) != world.words:
        problems.append(
            f"I5: the plan at the tip is not what the user wrote:\n{at_tip}\n--- but:\n{world.words}"
        )
    if at_tip != in_tree:
        problems.append(f"I7: the plan in the tree is not that of the tip:\n{in_tree}")
    left = [title for title, mark in marks_of(at_tip).items() if mark == OPEN]
    return problems + ([f"exit 0, and not done: {left}"] if left else [])
