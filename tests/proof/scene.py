"""What a sweep acts on: a repository with a plan, things of the user's, the test agent and its ledger.

A scene lives below one directory, so copying that directory gives a fresh one.
"""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from invariants import AGENT, BY_HAND, Expectation, belongings, tree
from proof import disk
from scratch import HOLDFAST, Repo, Result, hermetic_environment, run, scratch_repo

PLAN = "# Plan\n\n- [ ] First thing\n- [ ] Second thing\n"
TASKS = ("1.1", "1.2")
PLAN_FOR_MANY = "# Plan\n\n- [ ] T1 [P] First thing\n- [ ] T2 [P] Second thing\n- [ ] T3 [P] Third thing\n"
RUN_BRANCH = "refs/heads/holdfast/plan"
PLACE = "place"
UNRULY = AGENT.replace("<SUCCESS>", "$(git add -A && git commit -qm mine)<SUCCESS>")
"""Commits its work itself, which is not its business."""
COMMITTING = AGENT.replace(
    "<SUCCESS>",
    '$(sed "$((2 + ${HOLDFAST_TASK_ID#1.}))s/\\[ \\]/[x]/" plan.md > "$LEDGER.plan" && '
    'mv "$LEDGER.plan" plan.md && git add -A && '
    'git commit -qm "Do it" -m "Task: $HOLDFAST_TASK_ID")<SUCCESS>',
)
"""Marks the task and commits its work itself, as it is asked to with `--commits agent`. The new plan is made
outside the repository: a file of its own that a kill leaves there would be part of its next commit."""
FILLER, LEAVE_FREE = "filler.env", "LEAVE_FREE"
FILL = f"""\
test -z "${LEAVE_FREE}" || {{ cat /dev/zero > {FILLER} 2>&-; truncate -s "-${LEAVE_FREE}" {FILLER}; }}
"""
"""Fill the disk with a file that git ignores, up to so many bytes, when told to."""
MIDWAY = "MIDWAY"
EDITING = AGENT.replace(
    'echo "end',
    f'echo mine >> README.md; test -z "${MIDWAY}" || exit 0; git show HEAD:README.md > README.md; echo "end',
)
"""Edits a file of the user's and puts it back at last; it can be told to end before that."""
RUN, RUN_UNRULY, RUN_EDITING, RUN_COMMITTING = (
    (*HOLDFAST, "run", "plan.md", "--trunk", "--agent-cmd", agent, "--verify", "test -d shared", *more)
    for agent, *more in ((AGENT + FILL,), (UNRULY,), (EDITING,), (COMMITTING, "--commits", "agent"))
)
MANY = AGENT.replace("kill -0", 'test "$task" = "$HOLDFAST_TASK_ID" && kill -0')
"""Agents of other tasks may be alive, one of the same task may not."""
RUN_BESIDE, RUN_SIDE_BY_SIDE = (
    (*HOLDFAST, "run", "plan.md", "--worktree", "--agent-cmd", agent, "--verify", "test -d shared", *more)
    for agent, *more in ((AGENT + FILL,), (MANY + FILL, "--jobs", "3"))
)
CARELESS = (sys.executable, "-P", str(Path(__file__).parent / "careless.py"), "plan.md", AGENT)
ROLLBACK = ("--on-interrupt", "rollback")


class Scene(NamedTuple):
    root: Path
    base: str
    belongings: Mapping[str, object] | None
    """None where somebody else looks after them."""
    command: tuple[str, ...]
    tasks: tuple[str, ...]
    """Whose commits there will be; "" is the plan's own."""
    trailer: str = "Holdfast-Task"
    also: str = ""
    own: str = ""
    """Where below `place` the run's own working tree is; "" where it works in the user's checkout."""
    untouched: Mapping[str, object] = {}
    """What of the user's checkout must stay as it was to the byte, where the run has a tree of its own."""
    in_order: bool = True
    environment: tuple[tuple[str, str], ...] = ()
    """Added for every command."""

    @property
    def ledger(self) -> Path:
        return self.root / "ledger"

    @property
    def place(self) -> Path:
        """What can be put on a disk of its own: the repository, and the trees beside it."""
        return self.root / PLACE

    @property
    def repo(self) -> Repo:
        return Repo(
            self.place / "repo", {**hermetic_environment(self.root / "home"), "LEDGER": str(self.ledger)}
        )

    @property
    def seen(self) -> Repo:
        """Where the work is to be looked at."""
        return self.repo._replace(path=self.place / self.own) if self.own else self.repo

    @property
    def branch(self) -> str:
        """Full ref name: what the commits go to."""
        return RUN_BRANCH if self.own else "refs/heads/main"

    @property
    def expected(self) -> Expectation:
        belongings = None if self.own else self.belongings
        made = int(self.by_hand.exists())
        by_hand = (0, made) if self.own else (made,)  # a branch on which nothing was done yet takes it along
        told = (belongings, self.trailer, self.in_order, self.also, by_hand)
        return Expectation("plan.md", self.tasks, self.base, self.ledger, *told)

    def touched(self) -> list[str]:
        """What is not as it was in the checkout beside which the run works."""
        if not self.own:
            return []
        problems = [] if checkout(self.repo) == self.untouched else ["I9: the user's checkout has changed"]
        before, after = self.belongings, belongings(self.repo, self.branch)
        if self.by_hand.exists() and before:
            problems += self._lost_by_hand()
            before, after = _apart_from_main(before), _apart_from_main(after)
        if before not in (None, after):
            problems.append("I9: the user's refs, reflogs, config or hooks have changed")
        return problems

    def _lost_by_hand(self) -> list[str]:
        """The user's commit goes to the branch they are on, whatever the run does meanwhile."""
        last = self.repo.git("log", "-1", "--format=%s %P", "main")
        return [] if last == f"{BY_HAND} {self.base}" else [f"I5: {last!r} is the last on the user's branch"]

    @property
    def by_hand(self) -> Path:
        """Is there when the user has made a commit."""
        return self.root / "by-hand"

    def run(self, *before: str, **env: str) -> Result:
        """The command, the same every time; `before` are words to put before it."""
        return run(
            (*before, *self.command),
            cwd=self.repo.path,
            env={**self.repo.env, **dict(self.environment), **env},
            timeout=90.0,
        )

    def holdfast(self, *words: str) -> Result:
        """As a user has it set up who runs plans this way: our state may be lost, and then nothing tells."""
        mode = {"HOLDFAST_MODE": "worktree" if self.own else "trunk"}
        return run((*HOLDFAST, *words), cwd=self.repo.path, env={**self.repo.env, **mode})

    def copy(self, root: Path) -> "Scene":
        shutil.copytree(self.root, root, symlinks=True)
        _relocate(root, str(self.root))
        return self._replace(root=root)

    def discard(self) -> None:
        disk.eject(self.root)
        shutil.rmtree(self.root)


def make_scene(root: Path, command: tuple[str, ...] = RUN) -> Scene:
    """The plan is committed, the tree is clean."""
    scene = make_scene_with_new_plan(root, command)
    scene.repo.git("add", "plan.md")
    base = scene.repo.commit("Add the plan")
    return scene._replace(base=base, tasks=TASKS)


def make_scene_beside_a_checkout(
    root: Path, command: tuple[str, ...] = RUN_BESIDE, plan: str = PLAN
) -> Scene:
    """The run has a tree of its own; the user is in the middle of something."""
    scene = make_scene_with_new_plan(root, command, plan)
    repo = scene.repo
    repo.git("add", "plan.md")
    base = repo.commit("Add the plan")
    repo.write("README.md", "# Half written\n")
    repo.write("staged.txt", "staged\n")
    repo.git("add", "staged.txt")
    repo.write("staged.txt", "staged, then changed\n")
    repo.write("untracked.txt", "untracked\n")
    theirs = belongings(repo, RUN_BRANCH)
    return scene._replace(
        base=base, tasks=TASKS, belongings=theirs, own="repo-worktrees/plan", untouched=checkout(repo)
    )


def make_scene_side_by_side(root: Path, command: tuple[str, ...] = RUN_SIDE_BY_SIDE) -> Scene:
    """Three tasks at once."""
    scene = make_scene_beside_a_checkout(root, command, PLAN_FOR_MANY)
    return scene._replace(tasks=("T1", "T2", "T3"), in_order=False)


def _apart_from_main(belongings: Mapping[str, object]) -> dict[str, object]:
    refs, logs = belongings["refs"], belongings["logs"]
    assert isinstance(refs, list)
    assert isinstance(logs, dict)
    return {
        **belongings,
        "refs": [ref for ref in refs if not ref.startswith("refs/heads/main ")],
        "logs": {name: log for name, log in logs.items() if name != "logs/refs/heads/main"},
    }


def checkout(repo: Repo) -> dict[str, object]:
    index = (repo.path / ".git/index").read_bytes()
    return {"files": tree(repo), "index": index, "head": (repo.path / ".git/HEAD").read_text()}


def _relocate(root: Path, before: str) -> None:
    """Git knows its linked working trees, and they it, by absolute paths."""
    place = root / PLACE
    links = [*place.glob("repo/.git/worktrees/*/gitdir"), *place.glob("repo-worktrees/*/.git")]
    for link in links:
        link.write_text(link.read_text().replace(before, str(root)))


def make_scene_with_agents_commits(root: Path) -> Scene:
    return make_scene(root, RUN_COMMITTING)._replace(trailer="Task")


def make_scene_with_new_plan(root: Path, command: tuple[str, ...] = RUN, plan: str = PLAN) -> Scene:
    """git does not know the plan yet: it becomes the run's first commit, one that is no task's."""
    repo = scratch_repo(root / PLACE / "repo", hermetic_environment(root / "home"))
    for sample in (repo.path / ".git/hooks").glob("*.sample"):
        sample.unlink()  # they only slow every copy down
    _give_the_user_things(repo)
    repo.write("plan.md", plan)
    base = repo.git("rev-parse", "HEAD")
    return Scene(root, base, belongings(repo, "refs/heads/main"), command, ("", *TASKS))


def _give_the_user_things(repo: Repo) -> None:
    """A stash, a branch, a tag, a setting, a hook and an ignored file: none of our business."""
    repo.write(".gitignore", "*.env\n")
    repo.write("secret.env", "of the user\n")
    repo.commit("Ignore")
    repo.write("README.md", "# Stashed\n")
    repo.git("stash")
    repo.git("branch", "other")
    repo.git("tag", "-m", "A tag", "v1")
    repo.git("config", "user.something", "else")
    hook = repo.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n")
    os.chmod(hook, 0o755)
