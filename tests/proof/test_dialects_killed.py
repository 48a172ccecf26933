"""Every dialect, killed at every fault point once: the tool's own files then agree with git."""

import shutil
from pathlib import Path

import pytest

from proof.conftest import Settle
from proof.dialect_scenes import KINDS, PlanScene, make
from proof.sweep import KILLED, Verdict
from scratch import Repo

SAMPLE = 9


@pytest.mark.crash
@pytest.mark.parametrize("kind", KINDS)
def test_every_fault_point_of_every_dialect(kind: str, arena: Path, settle: Settle) -> None:
    settle("fault points, dialects", kind, _swept(kind, arena, 1))


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_of_the_fault_points_of_every_dialect(kind: str, arena: Path, settle: Settle) -> None:
    settle("fault points, dialects", "a sample", _swept(kind, arena, SAMPLE))


def _swept(kind: str, arena: Path, stride: int) -> list[Verdict]:
    template = make(kind, arena / "template")
    points = _points(template.copy(arena / "counted"))
    first = list(KINDS).index(kind) % stride  # of a sample each begins at another place
    chosen = list(enumerate(points))[first::stride]
    return [_judge(template.copy(arena / f"at-{n}"), point, n) for n, point in chosen]


def _points(scene: PlanScene) -> list[str]:
    log = scene.root / "points"
    result = scene.run(HOLDFAST_FAULT_LOG=str(log))
    assert result.code == 0, result.out + result.err
    assert _problems(scene) == []
    return log.read_text().split()


def _judge(scene: PlanScene, point: str, number: int) -> Verdict:
    killed = scene.run(HOLDFAST_FAULT=point)
    problems = [] if killed.code == KILLED else [f"exit {killed.code} instead of a kill: {killed.err}"]
    again = scene.run()
    problems += [f"exit {again.code}: {again.out}{again.err}"] if again.code else _problems(scene)
    if not problems:
        shutil.rmtree(scene.root)
    return Verdict(number, point, 1, tuple(problems))


def _problems(scene: PlanScene) -> list[str]:
    """One commit per task, a sound and clean repository, files that agree, and a rerun that does nothing."""
    repo = scene.repo
    commits = _commits(repo)
    problems = []
    if tuple(commits) != scene.kind.tasks:
        problems.append(f"I1: commits for {list(commits)}")
    if dirt := repo.git("status", "--porcelain"):
        problems.append(f"I7: not clean: {dirt}")
    repo.git("fsck", "--strict", "--no-dangling")
    try:
        scene.kind.agrees(repo, commits)
    except (AssertionError, KeyError, TypeError, IndexError) as error:
        problems.append(f"the tool's files do not agree with git: {type(error).__name__} {error}")
    before = repo.git("rev-parse", "HEAD"), _files(repo)
    again = scene.run()
    if again.code or before != (repo.git("rev-parse", "HEAD"), _files(repo)):
        problems.append(f"I8: one more run changes something: {again.out}{again.err}")
    return problems


def _commits(repo: Repo) -> dict[str, str]:
    rows = repo.git(
        "log", "--reverse", "--format=%H %(trailers:key=Holdfast-Task,valueonly,separator=%x2C)"
    ).splitlines()
    return {task: commit for commit, _, task in (row.partition(" ") for row in rows) if task}


def _files(repo: Repo) -> dict[str, bytes]:
    found = (p for p in repo.path.rglob("*") if p.is_file() and ".git" not in p.relative_to(repo.path).parts)
    return {str(p): p.read_bytes() for p in found}
