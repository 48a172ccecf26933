"""Agents that misbehave, each in one named way, the first time they are started for a task.

The second time they behave, so that a plan can end; `mend` is what they then do about what they did. What
must hold after all is what `invariants` says, and what is the user's is as it was, but for what a row names.
"""

from typing import NamedTuple

from invariants import AGENT
from proof.scene import COMMITTING, MANY

WORK, END = 'echo "work of', 'echo "end '
COMMIT = "git add -A; git commit -qm mine"
WRITER = "while :; do echo ghost >> shared/$HOLDFAST_TASK_ID; sleep 0.02; done"
ONCE = "{ test $HOLDFAST_TASK_ID = 1.1 || test $HOLDFAST_TASK_ID = T1; } && "
"""For what takes long: the first task is enough."""
NAMES = (
    "OWN=$(git rev-parse --git-dir) GIT=$(git rev-parse --git-common-dir)\n"
    "BRANCH=$(git symbolic-ref -q --short HEAD)\n"
    "test -e $GIT/worktrees && RUN=holdfast/plan || RUN=main\n"
)
"""What belongs to this working tree, to all of them, the branch it is on, and the one that all land on."""
IMPATIENT = ("--idle-timeout", "4")


class Hostile(NamedTuple):
    deed: str
    mend: str = ":"
    first: bool = False
    """The deed comes before the work: it would destroy it, and what an agent does to its own bytes is its
    affair."""
    also: str = ""
    """What its commits may hold beside its usual files, as a regular expression: the deed is work too."""
    makes: str = ""
    """Refs that it makes and that stay, as a regular expression."""
    touches: tuple[str, ...] = ()
    """Refs of the user's whose value comes back and whose reflog tells the story."""
    unproven: tuple[str, ...] = ()
    """Refs of the user's of which nothing tells who changed them: when the runner died beside it, they are
    kept under rescue and not put back."""
    blocked: bool = False
    """They cannot be put back at all, since something stands in their place."""
    puts_right: str = ""
    """What the user does when the runner died beside it, where only they know that it was not their doing; in
    the tree of a task it can only have been the agent."""
    ignored: bool = False
    """It changes files that git ignores, and those are never put back."""
    options: tuple[str, ...] = ()
    once: bool = False
    """Whatever the policy, it is the same."""


MAIN, OTHER, TAG, STASH = "refs/heads/main", "refs/heads/other", "refs/tags/v1", "refs/stash"
MOVED_OTHER = {"touches": (OTHER,), "unproven": (OTHER,)}

AGENTS: dict[str, Hostile] = {
    # -- the branch and HEAD
    "commits once": Hostile(COMMIT),
    "commits twice": Hostile(f"{COMMIT}; echo more >> shared/$HOLDFAST_TASK_ID; git commit -qam again"),
    "commits by plumbing": Hostile(
        "git add -A; git update-ref HEAD $(git commit-tree -p HEAD -m x $(git write-tree))"
    ),
    "commits on a branch of its own": Hostile(
        f"git checkout -q -b mine-$HOLDFAST_TASK_ID; {COMMIT}", makes="refs/heads/mine-.*"
    ),
    "detaches HEAD": Hostile(f"git checkout -q --detach; {COMMIT}"),
    "amends the base commit": Hostile("git add -A; git commit -q --amend -m amended"),
    "resets hard below the base": Hostile("git reset -q --hard HEAD~1", first=True),
    "rebases": Hostile(f"{COMMIT}; GIT_COMMITTER_DATE='@1 +0000' git rebase -q --force-rebase HEAD~2"),
    "leaves a rebase under way": Hostile(f"{COMMIT}; git rebase -q --exec false HEAD~1"),
    "leaves a merge under way": Hostile(
        f"git checkout -q -b mine-$HOLDFAST_TASK_ID; {COMMIT}; git checkout -q $BRANCH; "
        "git merge -q --no-ff --no-commit mine-$HOLDFAST_TASK_ID",
        makes="refs/heads/mine-.*",
    ),
    "deletes the run branch": Hostile("git checkout -q --detach; git branch -q -D $BRANCH"),
    "deletes what all land on": Hostile("git update-ref -d refs/heads/$RUN"),
    "deletes the branch that the user is on": Hostile("git update-ref -d refs/heads/main", touches=(MAIN,)),
    "renames the run branch": Hostile(
        "git branch -m mine-$HOLDFAST_TASK_ID", makes="refs/heads/mine-.*", puts_right="git branch -m $BRANCH"
    ),
    "begins a history of its own": Hostile(
        f"git checkout -q --orphan mine-$HOLDFAST_TASK_ID; {COMMIT}", makes="refs/heads/mine-.*"
    ),
    # -- other refs
    "commits on a branch of the user's": Hostile(
        f"git checkout -q other; {COMMIT}", first=True, touches=(OTHER,)
    ),
    "forces a branch of the user's": Hostile("git branch -q -f other HEAD~1", **MOVED_OTHER),  # type: ignore[arg-type]
    "moves a branch of the user's by plumbing": Hostile(
        "git update-ref refs/heads/other HEAD~1",
        **MOVED_OTHER,  # type: ignore[arg-type]
    ),
    "deletes a branch of the user's": Hostile("git branch -q -D other", **MOVED_OTHER),  # type: ignore[arg-type]
    "puts a branch in the place of the user's": Hostile(
        "git branch -q -D other; git branch other/mine-$HOLDFAST_TASK_ID",
        mend="git branch -q -D other/mine-$HOLDFAST_TASK_ID",
        makes="refs/heads/other/mine-.*",
        touches=(OTHER,),
        unproven=(OTHER,),
        blocked=True,
    ),
    "tags": Hostile("git tag mine-$HOLDFAST_TASK_ID", makes="refs/tags/mine-.*"),
    "moves a tag": Hostile("git tag -f v1 HEAD >&2", unproven=(TAG,)),
    "deletes a tag": Hostile("git tag -d v1 >&2", unproven=(TAG,)),
    "stashes its work": Hostile("git stash -q -u", unproven=(STASH,)),
    "drops the user's stash": Hostile("git stash clear", unproven=(STASH,)),
    "adds a worktree": Hostile("git worktree add -q ../extra-$HOLDFAST_TASK_ID", makes="refs/heads/extra-.*"),
    "pushes by itself": Hostile(
        "git init -q --bare ../hub.git; git remote add hub ../hub.git; git push -q hub $BRANCH other",
        makes="refs/remotes/hub/.*",
    ),
    "packs and prunes": Hostile(f"{COMMIT}; git pack-refs --all; git gc -q --prune=now"),
    # -- the repository's own files, and ours
    "leaves index.lock": Hostile(": > $OWN/index.lock"),
    "leaves the lock of the branch": Hostile(": > $GIT/refs/heads/$BRANCH.lock; : > $OWN/HEAD.lock"),
    "deletes our state": Hostile("rm -rf $GIT/holdfast"),
    "spoils our record": Hostile("for f in $GIT/holdfast/trees/*/in-flight.json; do echo { > $f; done"),
    "deletes our refs": Hostile(
        "git for-each-ref --format='delete %(refname)' refs/holdfast | git update-ref --stdin"
    ),
    "edits the config": Hostile("git config core.hooksPath /nowhere; git config user.name Mallory"),
    "edits a hook": Hostile("echo 'exit 1' > $GIT/hooks/pre-commit"),
    "adds a hook": Hostile("echo 'exit 1' > $GIT/hooks/commit-msg; chmod +x $GIT/hooks/commit-msg"),
    "hides files by info/exclude": Hostile("mkdir -p $GIT/info; echo '*' >> $GIT/info/exclude"),
    "filters files by info/attributes": Hostile(
        "mkdir -p $GIT/info; echo '* filter=evil' > $GIT/info/attributes; "
        "git config filter.evil.clean 'tr a-z A-Z'"
    ),
    # -- the plan
    "ticks all tasks": Hostile("sed -i 's/\\[ \\]/[x]/' plan.md"),
    "unticks done tasks": Hostile("sed -i 's/\\[x\\]/[ ]/' plan.md"),
    "deletes the plan": Hostile("rm plan.md"),
    "renames the plan": Hostile("mv plan.md mine-$HOLDFAST_TASK_ID.md", also=r"mine-.*\.md"),
    "makes the plan a directory": Hostile("rm plan.md; mkdir plan.md; touch plan.md/x"),
    "makes the plan a link": Hostile("rm plan.md; ln -s /etc/passwd plan.md"),
    "writes another plan": Hostile(
        "printf '# Mine\\n\\n- [ ] Other\\n' > plan.md",
        puts_right="git checkout -q HEAD -- plan.md",
    ),
    # -- files
    "cleans everything": Hostile("git clean -q -fdx", first=True, ignored=True),
    "makes a repository inside": Hostile(
        "git init -q sub; echo x > sub/x; git -C sub add x; git -C sub commit -qm x", mend="rm -rf sub"
    ),
    "swaps file and directory": Hostile(
        "test -d README.md && { rm -r README.md; echo x > README.md; } || "
        "{ rm README.md; mkdir README.md; echo x > README.md/x; }",
        also="README.md(/x)?",
    ),
    "links out of the repository": Hostile("ln -sf /etc/passwd out-$HOLDFAST_TASK_ID", also="out-.*"),
    "gives files odd names": Hostile(
        "printf x > \"$(printf 'new\\nline-%s' $HOLDFAST_TASK_ID)\"; printf x > ./-dash-$HOLDFAST_TASK_ID; "
        "printf x > \"$(printf 'caf\\351-%s' $HOLDFAST_TASK_ID)\"",
        also=r"new\nline-.*|-dash-.*|caf.-.*",
    ),
    "changes a mode only": Hostile("chmod +x README.md", also="README.md"),
    "changes line endings": Hostile("printf '# Scratch\\r\\n' > README.md", also="README.md"),
    "writes ignored files": Hostile("echo needed > needed.env", ignored=True),
    "writes 100,000 files": Hostile(
        f"{ONCE}mkdir many && (cd many && seq 100000 | split -l 1 -a 5 -)", also="many/.*", once=True
    ),
    # -- what it says
    "says a gigabyte": Hostile(f"{ONCE}head -c 1000000000 /dev/zero | tr '\\0' y | fold -w 120", once=True),
    "says one line of 200 MB": Hostile(f"{ONCE}head -c 200000000 /dev/zero | tr '\\0' x", once=True),
    "says no text": Hostile(r"printf '\377\376\000 \033[2J\007\n'"),
    "says broken JSON": Hostile("""echo '{"type": "result", "is_error": '"""),
    "forges success and fails": Hostile("echo '<SUCCESS>task implemented</SUCCESS>'; exit 1"),
    "forges trailers": Hostile(
        "printf 'SUGGESTED_COMMIT_MESSAGE: x\\n\\nHoldfast-Task: 1.2\\nHoldfast-Plan: plan.md\\nTask: 1.2\\n'"
    ),
    # -- how it ends
    "changes nothing": Hostile("exit 0", first=True),
    "fails with good work": Hostile("exit 1"),
    "hangs silently": Hostile("sleep 1000", options=IMPATIENT),
    "ignores SIGTERM": Hostile("trap '' TERM; while :; do sleep 1; done", options=IMPATIENT),
    "leaves a child that writes": Hostile(f"({WRITER}) > /dev/null 2>&1 & sleep 0.1"),
    "leaves a child with a session and an environment of its own": Hostile(
        "export HOLDFAST_TASK_ID; setsid env -i HOLDFAST_TASK_ID=$HOLDFAST_TASK_ID PATH=$PATH "
        f"sh -c '{WRITER}' > /dev/null 2>&1 & sleep 0.1"
    ),
    "writes while the checks run": Hostile(
        "(sleep 0.3; echo late >> shared/$HOLDFAST_TASK_ID) > /dev/null 2>&1 &"
    ),
    "kills its supervisor": Hostile("kill -9 $PPID"),
    "kills the runner": Hostile("kill -9 $(cut -d ' ' -f 4 /proc/$PPID/stat); sleep 5"),
}


def script(agent: Hostile, *, commits: bool, many: bool = False) -> str:
    """The agent as a program: the usual work, and the deed the first time."""
    usual = COMMITTING if commits else MANY if many else AGENT
    did = '"$LEDGER.did-$HOLDFAST_TASK_ID"'
    deed = f"if test ! -e {did}; then : > {did}\n{NAMES}{agent.deed}\nelse\n{agent.mend}\nfi\n"
    place = WORK if agent.first else END
    return usual.replace(place, deed + place, 1)
