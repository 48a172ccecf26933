"""What Holdfast promises, checked from outside on the repository of the demo."""

import os
from collections.abc import Iterator

from holdfast.cli.demo_project import Project
from holdfast.errors import GitError
from holdfast.system import clock, leftovers

FILES = {
    "T1": ("test_words.py", "words.py"),
    "T2": ("counts.py", "test_counts.py"),
    "T3": ("common.py", "test_common.py"),
    "T4": ("test_wordcount.py", "wordcount.py"),
}
RESCUES = "refs/holdfast/rescue/"


def checks(project: Project, token_prefix: str, torn: str) -> Iterator[tuple[str, bool]]:
    """`torn` is what the killed agent had left in common.py."""
    commits = project.commits()
    yield "four tasks, four commits, in the order of the plan", [c.task for c in commits] == list(FILES)
    yield (
        "each commit has its own mark in the plan and its own files, nothing of another task",
        all(c.marks == (c.task,) and c.files == FILES.get(c.task) for c in commits),
    )
    yield "the half-written file is kept under rescue, to the byte", _rescued(project) == torn
    yield "the tree is clean and nothing is staged", not project.git("status", "--porcelain")
    yield "git fsck finds nothing wrong", _is_sound(project)
    yield "no process of the agent is left", not leftovers.end_leftovers(token_prefix)
    yield "once more changes nothing: same refs, same index, byte for byte", _is_idempotent(project)


def wait_for_death(pids: tuple[int, ...], seconds: float) -> bool:
    deadline = clock.monotonic() + seconds
    while any(map(_lives, pids)):
        if clock.monotonic() > deadline:
            return False
        clock.sleep(0.01)
    return True


def _lives(pid: int) -> bool:
    """A zombie is dead: it only waits for somebody to take note."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return not os.path.isdir("/proc/self") and clock.is_alive(pid)


def _rescued(project: Project) -> str:
    refs = project.git("for-each-ref", "--format=%(refname)", RESCUES).split()
    return project.git("show", f"{refs[0]}:work/common.py") if refs else ""


def _is_sound(project: Project) -> bool:
    try:
        return not project.git("fsck", "--strict", "--no-dangling", "--no-progress")
    except GitError:
        return False


def _is_idempotent(project: Project) -> bool:
    before = _fingerprint(project)
    with project.run() as again:
        while again.read(30.0):
            continue
        code = again.wait(30.0)
    return code == 0 and _fingerprint(project) == before


def _fingerprint(project: Project) -> tuple[str, str, bytes]:
    with open(os.path.join(project.root, ".git", "index"), "rb") as file:
        return project.git("rev-parse", "HEAD"), project.git("for-each-ref"), file.read()
