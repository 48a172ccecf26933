"""Where a story takes place, and what an onlooker remembers of it: what users wrote and asked for."""

import json
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from invariants import processes_marked_with
from proof.plan_text import DONE, OPEN, Item, items_of, marks_of, text_of, without_marks
from proof.scene import Scene, make_scene_with_new_plan
from scratch import HOLDFAST, Result, run

PLAN = "plan.md"
HOOK = ".git/hooks/pre-commit"
STATE = ".git/holdfast"
RECORD = f"{STATE}/trees/main/in-flight.json"
PATIENCE = 20.0
"""Seconds until what should happen at once counts as not happening."""

AGENT = """\
here=${LEDGER%/*} job=$HOLDFAST_TASK_TITLE
test ! -e "$LEDGER" || while read -r word task head pid attempt; do
  test "$word" = start && kill -0 "$pid" 2>/dev/null && grep -qs "$LEDGER" "/proc/$pid/environ" &&
  echo "overlap $job $pid" >> "$LEDGER"
done < "$LEDGER"
head=$(git rev-parse HEAD) || exit 1
echo "start $job $head $$ $HOLDFAST_ATTEMPT" >> "$LEDGER"
lines=$(wc -l < "$LEDGER") || exit 1
line="$job, line $lines"
mkdir -p work && echo "$line" >> "work/$job" && echo "wrote $line" >> "$LEDGER" || exit 1
if test -s "$here/fail"; then
  sed 1d "$here/fail" > "$here/fail.new" && mv "$here/fail.new" "$here/fail"
  exit 1
fi
test ! -e "$here/hold" || : > "$here/held"
while test -e "$here/hold"; do sleep 0.02; done
if test -e "$here/agent-commits"; then
  sed "s/^- \\[ \\] \\(T[0-9]* \\)\\{0,1\\}$job\\$/- [x] \\1$job/" plan.md > "$here/plan.new" &&
  cat "$here/plan.new" > plan.md && git add -A && git commit -qm "agent: $job" || exit 1
fi
echo "end $line" >> "$LEDGER"
echo "<SUCCESS>done</SUCCESS>"
"""
"""Appends a line of its own to one file per task. Files beside the ledger tell it to fail, to wait, to commit
by itself."""


class Sight(NamedTuple):
    """The repository as anybody can see it before a command."""

    in_flight: bool
    lost: bool
    """No record, and yet a task was in flight: its base is pinned, and only an agent moved the branch."""
    sealed: bool
    dirt: frozenset[str]
    """Changed or untracked paths, without the plan."""
    ticked: tuple[str, ...]
    """Tasks that the plan in the tree marks done and the tip's does not."""
    locks: bool
    asks: bool
    """The agent makes the commits: a tick alone is then taken for a commit of its that failed."""

    @property
    def at_rest(self) -> bool:
        return not self.in_flight and not self.lost and not self.sealed

    @property
    def adoptable(self) -> bool:
        """One task is ticked in the tree beside other changes: taken for a commit that failed."""
        return self.at_rest and (bool(self.dirt) or self.asks) and len(self.ticked) == 1


class World:
    def __init__(self, root: Path, manner: str) -> None:
        commits, on_interrupt, ids, plan = manner.split("/")
        self.agent_commits = commits == "agent"
        self.numbered = ids == "numbered"
        policy = ("--commits", commits, "--on-interrupt", on_interrupt)
        command = (*HOLDFAST, "run", PLAN, "--trunk", "--agent-cmd", AGENT, "--verify", "test -d work")
        self.scene: Scene = make_scene_with_new_plan(root, (*command, *policy))
        self.repo = self.scene.repo
        self.told: list[str] = []
        self.problems: list[str] = []
        self.count = 0
        self.kept: set[str] = set()
        """Lines of the user's that must be somewhere."""
        self.staged: dict[str, str] = {}
        """Of the user's files whose staged line is not the one in the tree."""
        self.users_commits: set[str] = set()
        self.shared: set[str] = set()
        """The user's paths that were dirty while a task was in flight: those may become part of a commit."""
        self.adopted: set[str] = set()
        self.former: dict[str, set[str]] = {}
        """The titles a task had before."""
        self.ticks: Counter[str] = Counter()
        self.unticks: Counter[str] = Counter()
        self.skips: Counter[str] = Counter()
        self.resets: Counter[str] = Counter()
        self.unheard = 0
        """Agents that may have been killed before they could write into the ledger."""
        self.hook_refuses = False
        self.ended_by_itself = True
        self.checked = self.scene.base
        if self.agent_commits:
            (root / "agent-commits").touch()
        self.words = ""
        self.write_plan([Item(OPEN, self._id(n), self.fresh("job"), "") for n in (1, 2, 3)])
        if plan == "tracked":
            self.user_git("add", PLAN)
            self.user_commit("-m", "Add the plan")
        self.repo.git("branch", "elsewhere")

    # -- what users do -------------------------------------------------------------------------------

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def _id(self, number: int) -> str:
        return f"T{number:03}" if self.numbered else ""

    def next_id(self, items: list[Item]) -> str:
        return self._id(1 + max((int(item.id[1:]) for item in items if item.id), default=0))

    def write_plan(self, items: list[Item]) -> None:
        text = text_of(items)
        self.repo.write(PLAN, text)
        self.words = without_marks(text)

    def user_git(self, *words: str) -> bool:
        """A lock that a killed run left may refuse it, and then the user goes on to something else."""
        return run(("git", *words), cwd=self.repo.path, env=self.repo.env).code == 0

    def user_commit(self, *words: str) -> None:
        before = self.repo.git("rev-parse", "HEAD")
        self.user_git("commit", "--quiet", "--no-verify", *words)
        after = self.repo.git("rev-parse", "HEAD")
        if after != before:
            self.users_commits.add(after)
            self._note_marks(before, after)

    def _note_marks(self, before: str, after: str) -> None:
        """Right after a kill the file may lack a mark that the tip has: whoever commits it then unticks the
        task unknowingly, and the mark may come back."""
        old, new = marks_of(self.plan_at(before)), marks_of(self.plan_at(after))
        for title in (t for t in old if t in new and old[t] != new[t]):
            wish, other = (self.ticks, self.unticks) if new[title] == DONE else (self.unticks, self.ticks)
            if wish[title]:
                wish[title] -= 1
            else:
                other[title] += 1

    # -- what anybody sees ---------------------------------------------------------------------------

    def plan_in_tree(self) -> str:
        path = self.repo.path / PLAN
        return path.read_text() if path.is_file() else ""

    def plan_at(self, commit: str) -> str:
        shown = run(("git", "show", f"{commit}:{PLAN}"), cwd=self.repo.path, env=self.repo.env)
        return shown.out if shown.code == 0 else ""

    def readable_items(self) -> list[Item]:
        """The plan as the user would edit it; none while a killed run has left it torn."""
        text = self.plan_in_tree()
        return items_of(text) if without_marks(text) == self.words else []

    def look(self) -> Sight:
        status = self.repo.git("--no-optional-locks", "status", "--porcelain", "-z", "--untracked-files=all")
        paths = {entry[3:] for entry in status.split("\0") if entry} - {PLAN}
        at_tip, in_tree = marks_of(self.plan_at("HEAD")), marks_of(self.plan_in_tree())
        ticked = tuple(t for t, mark in in_tree.items() if mark == DONE and at_tip.get(t) == OPEN)
        sealed = bool(self.repo.git("for-each-ref", "refs/holdfast/candidate"))
        git = self.repo.path / ".git"
        locks = any((git / name).exists() for name in ("index.lock", "HEAD.lock", "refs/heads/main.lock"))
        attempt = self._recorded_attempt()
        lost = attempt is None and self._pin_holds()
        return Sight(bool(attempt), lost, sealed, frozenset(paths), ticked, locks, self.agent_commits)

    def _recorded_attempt(self) -> int | None:
        """A change of marks by hand has a record too, as attempt 0; None without one that can be read."""
        try:
            return int(json.loads((self.repo.path / RECORD).read_bytes())["attempt"])
        except (OSError, ValueError):
            return None

    def _pin_holds(self) -> bool:
        pin = self.repo.git("for-each-ref", "--format=%(objectname)", "refs/holdfast/base")
        for row in self.repo.git("reflog", "show", "--format=%H %gs", "main").splitlines() if pin else ():
            commit, _, action = row.partition(" ")
            if commit == pin:
                return True
            if not action.startswith("holdfast-agent"):
                return False
        return False

    # -- processes -----------------------------------------------------------------------------------

    def start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            self.scene.command,
            cwd=self.repo.path,
            env=self.repo.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def wait_for(self, path: Path, process: "subprocess.Popen[bytes]") -> bool:
        deadline = time.monotonic() + PATIENCE
        while not path.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        return path.exists()


def still_alive(scene: Scene) -> list[str]:
    """I6: whoever is killed, soon nothing of the run is left."""
    deadline = time.monotonic() + PATIENCE
    while alive := processes_marked_with(f"LEDGER={scene.ledger}\0"):
        if time.monotonic() > deadline:
            return [f"I6: still alive: {alive}"]
        time.sleep(0.02)
    return []


def ended(process: "subprocess.Popen[bytes]") -> Result:
    out, err = process.communicate(timeout=90.0)
    return Result(process.returncode, out.decode(), err.decode())
