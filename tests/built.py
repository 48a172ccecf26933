"""A build in a tree of its own, and a user in the middle of something: what `merge` and `discard` act on."""

import os
import shutil
from pathlib import Path
from typing import NamedTuple

from invariants import tree
from scratch import Cli, Repo, Result, hermetic_environment, scratch_repo

PLAN = "# Shop\n\n- [ ] First thing\n- [ ] Second thing\n"
AGENT = """\
echo "$HOLDFAST_TASK_TITLE" > "$HOLDFAST_TASK_ID.txt"
mkdir -p src && echo "$HOLDFAST_TASK_ID" >> src/log.txt
echo changed >> old.txt; rm -rf gone swap; mkdir swap; echo inside > swap/file; ln -sf old.txt link
printf '#!/bin/sh\\n' > tool; chmod +x tool
"""
DONE = ["[holdfast] Complete task 1.1: First thing", "[holdfast] Complete task 1.2: Second thing"]
MINE = ("README.md", "kept.txt", "staged.txt", "untracked.txt", "deep/mine.txt")
"""Files with something of the user's in them, none of which the run has touched."""


class Built(NamedTuple):
    root: Path

    @property
    def repo(self) -> Repo:
        env = {**hermetic_environment(self.root / "home"), "HOLDFAST_MODE": "worktree"}
        return Repo(self.root / "repo", env)

    @property
    def own(self) -> Path:
        return self.root / "repo-worktrees/plan"

    def __call__(self, *words: str, **env: str) -> Result:
        return Cli(self.repo.path, self.repo.env)(*words, env=env)

    def run(self, *words: str, agent: str = AGENT, **env: str) -> Result:
        return self("run", "plan.md", "--agent-cmd", agent, *words, **env)

    def git(self, *words: str) -> str:
        return self.repo.git(*words)

    def subjects(self, span: str = "main") -> list[str]:
        return self.git("log", "--reverse", "--format=%s", span).splitlines()

    def copy(self, root: Path) -> "Built":
        """Git remembers where working trees are: it is told of the new place. (`git worktree repair` would
        tell the original.)"""
        shutil.copytree(self.root, root, symlinks=True)
        copied = Built(root)
        admin = copied.repo.path / ".git/worktrees/plan"
        if admin.exists():
            (admin / "gitdir").write_text(f"{copied.own}/.git\n")
            (copied.own / ".git").write_text(f"gitdir: {admin}\n")
        return copied


def make_built(root: Path, *, committed: bool = False) -> Built:
    """`committed`: the plan is in a commit of the user's, else it lies untracked in their checkout."""
    built = Built(root)
    repo = scratch_repo(root / "repo", hermetic_environment(root / "home"))
    for path in ("old.txt", "kept.txt", "gone/a", "swap", "deep/theirs.txt"):
        repo.write(path, f"{path} as it was\n")
    repo.commit("Files")
    repo.write("plan.md", PLAN)
    if committed:
        repo.commit("Add the plan")
    done = built.run()
    assert done.code == 0, done.out + done.err
    return built


def begin_something(repo: Repo) -> None:
    """Staged, changed, both, and untracked; nothing that the run has changed too."""
    repo.write("README.md", "# Half written\n")
    repo.write("kept.txt", "staged\n")
    repo.git("add", "kept.txt")
    repo.write("kept.txt", "staged, and changed since\n")
    repo.write("staged.txt", "new\n")
    repo.git("add", "staged.txt")
    repo.write("untracked.txt", "untracked\n")
    repo.write("deep/mine.txt", "untracked\n")
    os.chmod(repo.path / "untracked.txt", 0o640)


def belonging(repo: Repo) -> dict[str, object]:
    """All that is the user's in their checkout, to the byte."""
    files = {path: data for path, data in tree(repo).items() if path in MINE}
    modes = {path: os.lstat(repo.path / path).st_mode for path in MINE}
    entries = repo.git("ls-files", "--stage").splitlines()
    mine = [entry for entry in entries if entry.partition("\t")[2] in MINE]
    return {"files": files, "modes": modes, "index": mine, "stash": repo.git("stash", "list")}
