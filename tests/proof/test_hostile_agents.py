"""Every agent that misbehaves, under every policy: the same command ends with one clean commit per task."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from invariants import belongings
from proof.conftest import Settle
from proof.hostile import AGENTS, Hostile, script
from proof.scene import Scene, make_scene, make_scene_beside_a_checkout, make_scene_side_by_side
from proof.sweep import Struck, Verdict, judge
from scratch import HOLDFAST, run

PARTS = 8
SAMPLE = 71
KILLED = {"HOLDFAST_FAULT": "agent.after"}
"""The runner dies right after the agent, before anything could be put back."""


class Policy(NamedTuple):
    commits: str
    on_interrupt: str
    fault: Mapping[str, str]
    scene: str = "plain"


POLICIES = {
    "executor": Policy("executor", "resume", {}),
    "agent": Policy("agent", "resume", {}),
    "executor, killed, resume": Policy("executor", "resume", KILLED),
    "executor, killed, rollback": Policy("executor", "rollback", KILLED),
    "agent, killed, resume": Policy("agent", "resume", KILLED),
    "agent, killed, rollback": Policy("agent", "rollback", KILLED),
    "beside a checkout": Policy("executor", "resume", {}, "beside a checkout"),
    "beside a checkout, agent": Policy("agent", "resume", {}, "beside a checkout"),
    "beside a checkout, killed, resume": Policy("executor", "resume", KILLED, "beside a checkout"),
    "beside a checkout, killed, rollback": Policy("executor", "rollback", KILLED, "beside a checkout"),
    "side by side": Policy("executor", "resume", {}, "side by side"),
    "side by side, killed, resume": Policy("executor", "resume", KILLED, "side by side"),
    "side by side, killed, rollback": Policy("executor", "rollback", KILLED, "side by side"),
}
PLACES: dict[str, tuple[Callable[[Path, tuple[str, ...]], Scene], tuple[str, ...]]] = {
    "plain": (make_scene, ("--trunk",)),
    "beside a checkout": (make_scene_beside_a_checkout, ("--worktree",)),
    "side by side": (make_scene_side_by_side, ("--worktree", "--jobs", "3")),
}
ROWS = [
    (name, policy)
    for name, agent in AGENTS.items()
    for policy in POLICIES
    if policy == "executor" or not agent.once
]


@pytest.mark.crash
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("policy", POLICIES)
def test_every_hostile_agent_under_every_policy(policy: str, part: int, arena: Path, settle: Settle) -> None:
    rows = [row for row in enumerate(ROWS) if row[1][1] == policy][part::PARTS]
    settle("hostile agents", policy, [judged(number, arena) for number, _ in rows])


def test_a_sample_of_hostile_agents(arena: Path, settle: Settle) -> None:
    settle("hostile agents", "a sample", [judged(number, arena) for number in range(5, len(ROWS), SAMPLE)])


def judged(number: int, arena: Path) -> Verdict:
    name, policy = ROWS[number]
    agent = AGENTS[name]
    fault, many = POLICIES[policy].fault, POLICIES[policy].scene == "side by side"

    def strike(scene: Scene, _: int) -> Struck:
        result = scene.run(**fault)
        if fault and agent.puts_right and not many:
            named = {**scene.repo.env, "BRANCH": scene.branch.removeprefix("refs/heads/")}
            done = run(("sh", "-c", agent.puts_right), cwd=scene.seen.path, env=named)
            assert done.code == 0, done.err
        return Struck(result.code, result.out + result.err, f"{name} ({policy})")

    template = _scene(agent, policy, arena / f"template-{number}")
    verdict = judge(template._replace(belongings=None), strike, number, arena, keep=True)
    scene = template._replace(root=arena / f"point-{number}")
    problems = [*verdict.problems, *_taken_from_the_user(scene, agent, killed=bool(fault))]
    if not problems:
        scene.discard()
    return verdict._replace(problems=tuple(problems))


def _scene(agent: Hostile, policy: str, root: Path) -> Scene:
    commits, on_interrupt, _, place = POLICIES[policy]
    make, where = PLACES[place]
    program = script(agent, commits=commits == "agent", many=place == "side by side")
    policies = ("--commits", commits, "--on-interrupt", on_interrupt, *agent.options)
    words = ("run", "plan.md", *where, "--agent-cmd", program, "--verify", "test -d shared", *policies)
    scene = make(root, (*HOLDFAST, *words))
    return scene._replace(also=agent.also, trailer="Task" if commits == "agent" else scene.trailer)


def _taken_from_the_user(scene: Scene, agent: Hostile, *, killed: bool) -> list[str]:
    """I9, apart from what the row names."""
    assert scene.belongings is not None
    before, after = scene.belongings, belongings(scene.repo, scene.branch)
    parts = ("head", "files", *(() if agent.ignored else ("ignored",)))
    problems = [f"I9: the user's {part} changed" for part in parts if before[part] != after[part]]
    kept = agent.unproven if killed or agent.blocked else ()
    problems += _logs(before["logs"], after["logs"], (*agent.touches, *kept))
    return problems + _refs(scene, _values(before), _values(after), agent.makes, kept)


def _values(side: Mapping[str, object]) -> dict[str, str]:
    refs = side["refs"]
    assert isinstance(refs, list)
    return dict(line.split(" ") for line in refs)


def _refs(
    scene: Scene, old: dict[str, str], new: dict[str, str], makes: str, kept: tuple[str, ...]
) -> list[str]:
    """`kept`: as it was, or what it was is under rescue."""
    changed = [name for name in old if new.get(name) != old[name]]
    problems = [f"I9: {name} is not where it was" for name in changed if name not in kept]
    problems += [f"I3: {name} is lost" for name in changed if not _is_kept(scene, old[name])]
    made = [name for name in new if name not in old and not re.fullmatch(makes, name)]
    return problems + [f"I9: there is a new {name}" for name in made]


def _is_kept(scene: Scene, value: str) -> bool:
    """Under rescue, or as an entry of the stash."""
    commit = scene.repo.git("rev-parse", f"{value}^{{commit}}")
    refs = scene.repo.git("for-each-ref", f"--contains={commit}", "refs/holdfast/rescue")
    return bool(refs) or commit in scene.repo.git("stash", "list", "--format=%H")


def _logs(before: object, after: object, spared: tuple[str, ...]) -> list[str]:
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    names = [name for name in before if name.removeprefix("logs/") not in spared]
    return [f"I9: the reflog {name} changed" for name in names if after.get(name) != before[name]]
