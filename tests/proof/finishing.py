"""`merge` and `discard` as scenes of sweeps: a build that is done, and a user in the middle of something.

They end the same way whatever strikes them: as one that nothing disturbed has ended, and nothing of the
user's is touched, not even for the time being.
"""

from pathlib import Path
from typing import NamedTuple

from built import begin_something, belonging, make_built
from invariants import common_dir, frozen, tree
from proof.scene import PLACE, Scene
from proof.sweep import Strike, Struck
from scratch import HOLDFAST, run

OWN = "repo-worktrees/plan"
COMMANDS = {
    "fast-forward": ("merge", "plan.md"),
    "merge commit": ("merge", "plan.md"),
    "squash": ("merge", "plan.md", "--squash"),
    "discard": ("discard", "plan.md", "--yes"),
}


class Finishing(NamedTuple):
    template: Scene
    mine: dict[str, object]
    """The user's, which stays as it is."""
    end: dict[str, object]
    """What an undisturbed command makes of it."""

    def watched(self, strike: Strike) -> Strike:
        """What is the user's is as it was, right after the blow."""

        def struck(scene: Scene, point: int) -> Struck:
            found = strike(scene, point)
            problems = [f"{problem} right after it" for problem in self._touched(scene)]
            return found._replace(problems=(*found.problems, *problems))

        return struck

    def look(self, scene: Scene) -> list[str]:
        end = _end(scene)
        problems = self._touched(scene) + [
            f"{part}: {end[part]!r} and not {wanted!r}"
            for part, wanted in self.end.items()
            if end[part] != wanted
        ]
        before = frozen(scene.repo)
        once_more = scene.run()
        after = frozen(scene.repo)
        if once_more.code != 0:
            problems.append(f"I8: one more exits {once_more.code}: {once_more.err}")
        return problems + [
            f"I8: one more changes the {part}" for part in before if before[part] != after[part]
        ]

    def _touched(self, scene: Scene) -> list[str]:
        now = belonging(scene.repo)
        return [f"I9: the user's {part} changed" for part in now if now[part] != self.mine[part]]


def make_finishing(name: str, root: Path) -> Finishing:
    built = make_built(root / PLACE)
    if name == "merge commit":
        built.repo.write("theirs.txt", "theirs\n")
        built.git("add", "theirs.txt")
        built.git("commit", "-q", "-m", "Theirs")
    begin_something(built.repo)
    if name == "discard":
        (built.own / "half.txt").write_text("half\n")
    command = (*HOLDFAST, *COMMANDS[name])
    mode = (("HOLDFAST_MODE", "worktree"),)
    template = Scene(root, built.git("rev-parse", "main"), None, command, (), own=OWN, environment=mode)
    undisturbed = template.copy(root.with_name("undisturbed"))
    done = undisturbed.run()
    assert done.code == 0, done.out + done.err
    end = _end(undisturbed)
    undisturbed.discard()
    return Finishing(template, belonging(built.repo), end)


def _end(scene: Scene) -> dict[str, object]:
    """All that does not depend on when it was made."""
    repo = scene.repo
    fsck = run(("git", "fsck", "--strict", "--no-dangling", "--no-progress"), cwd=repo.path, env=repo.env)
    refs = repo.git("for-each-ref", "--format=%(refname)").splitlines()
    return {
        "the tree of main": repo.git("rev-parse", "main^{tree}"),
        "the commits of main": sorted(repo.git("log", "--format=%s", "main").splitlines()),
        "the parents of its last": len(repo.git("rev-list", "--parents", "-1", "main").split()) - 1,
        "the words of its last": repo.git("log", "-1", "--format=%B", "main"),
        "the files": tree(repo),
        "the index": repo.git("ls-files", "--stage"),
        "the status": repo.git("--no-optional-locks", "status", "--porcelain", "--untracked-files=all"),
        "the refs": [ref for ref in refs if not ref.startswith("refs/holdfast/rescue/")],
        "what is kept": sorted(_kept(scene, ref) for ref in refs if ref.startswith("refs/holdfast/rescue/")),
        "the run's own tree": (scene.place / OWN).exists(),
        "working trees": repo.git("worktree", "list", "--porcelain").count("worktree "),
        "beside the repository": sorted(path.name for path in scene.place.glob("repo-worktrees/*")),
        "what fsck says": fsck.out,
        "lock files": [path.name for path in common_dir(repo).rglob("*.lock")],
        "merges under way": [path.name for path in common_dir(repo).rglob("merge*.json")],
    }


def _kept(scene: Scene, ref: str) -> str:
    """The kind of a rescue, and the files in it; its name and its note have a time in them."""
    listing = scene.repo.git("ls-tree", "-r", ref)
    files = [line for line in listing.splitlines() if "\twork/" in line or "-commits" in ref]
    return "\n".join([ref.rpartition("-")[2], *files])
