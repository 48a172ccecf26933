"""The product's part in a story: every command, undisturbed or killed, and what must hold however it ends."""

import os
import signal
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from invariants import belongings, frozen
from proof import git_calls, system_calls
from proof.plan_text import ids_of
from proof.sweep import KILLED, Struck, rough_ending
from proof.truths import untruths
from proof.world import PLAN, Sight, World, ended, still_alive
from scratch import HOLDFAST, Result
from scratch import run as start

Act = Callable[[], Result]
BRANCH = "refs/heads/main"
ENDINGS = {"INT": 130, "TERM": 143, "KILL": KILLED}


def run(world: World, _: str = "") -> int:
    code = _conduct(world, world.scene.run, lambda sight: _endings(world, sight))
    world.ended_by_itself = True
    return code


def killed_at_fault(world: World, fault: str) -> None:
    _conduct(world, lambda: world.scene.run(HOLDFAST_FAULT=fault), _killed_or(world))
    world.ended_by_itself = False


def killed_at_git_call(world: World, where: str) -> None:
    way, _, number = where.partition("@")
    struck = _struck(lambda: git_calls.strike_call(way, world.scene, int(number)))
    _conduct(world, struck, lambda sight: {1, 3} | _killed_or(world)(sight))
    world.ended_by_itself = False


def killed_at_system_call(world: World, where: str) -> None:
    """What dies may be a part only, git for one: then the run fails, or gets over it."""
    victims, _, number = where.partition("@")
    if _untraceable():
        return
    world.unheard += victims == "caller"
    struck = _struck(lambda: system_calls.strike_call(victims, world.scene, int(number)))
    _conduct(world, struck, lambda sight: {1, 3} | _killed_or(world)(sight))
    world.ended_by_itself = False


def signalled(world: World, name: str) -> None:
    """While the agent works, if one is needed at all."""

    def act() -> Result:
        return _with_agent_held(world, lambda pid: os.kill(pid, signal.Signals[f"SIG{name}"]))

    code = _conduct(world, act, lambda sight: {ENDINGS[name]} | _endings(world, sight))
    world.ended_by_itself = code != KILLED


def amid(world: World, deed: Callable[[], None]) -> None:
    """The user does something while the agent works."""
    _conduct(world, lambda: _with_agent_held(world, lambda _: deed()), lambda s: _endings(world, s))
    world.ended_by_itself = True


def fate(world: World, command: str, where: str) -> None:
    """`skip`, `reset` or `retry` of the task with that number, killed at a fault point or not."""
    number, _, fault = where.partition("@")
    ids = ids_of(world.plan_at("HEAD"))
    if not ids:
        return
    chosen = list(ids.values())[int(number) % len(ids)]
    wishes = {"skip": world.skips, "reset": world.resets, "retry": Counter[str]()}[command]
    edited = ids_of(world.plan_in_tree())  # an edit is taken in first, and may give the id to another task
    wishes.update({title for plan in (ids, edited) for title in plan if plan[title] == chosen})
    argv = (*HOLDFAST, command, chosen, "--plan", PLAN)
    env = {**world.repo.env, "HOLDFAST_FAULT": fault}
    codes = {0, 3, *([1] if world.hook_refuses else []), *([KILLED] if fault else [])}
    codes |= set() if chosen in edited.values() else {2}
    _conduct(world, lambda: start(argv, cwd=world.repo.path, env=env), lambda _: codes, finishes=False)
    world.ended_by_itself = False


def visit(world: World, _: str) -> None:
    """To another branch and back; a run there finds a task of this one in flight, and refuses."""
    if not world.plan_at("elsewhere") or not world.user_git("switch", "--quiet", "elsewhere"):
        return
    if world.look().in_flight:
        _conduct(world, world.scene.run, lambda _: {3})
    if not world.user_git("switch", "--quiet", "main"):
        world.user_git("stash", "--include-untracked")
        assert world.user_git("switch", "--quiet", "main"), "the user cannot get back to main"


def rescues(world: World, _: str = "") -> None:
    for words in (("rescue", "list"), ("status", "plan.md", "--json")):
        result = world.scene.holdfast(*words)
        if result.code != 0:
            world.problems.append(f"I12: {' '.join(words)} exits {result.code}: {result.err}")
        names = world.repo.git("for-each-ref", "--format=%(refname:lstrip=-1)", "refs/holdfast/rescue")
        missing = [name for name in names.split() if name not in result.out]
        world.problems += [f"I12: {' '.join(words)} does not name {name}" for name in missing]


def _killed_or(world: World) -> Callable[[Sight], set[int]]:
    return lambda sight: {KILLED} | _endings(world, sight)


def _endings(world: World, sight: Sight) -> set[int]:
    """How an undisturbed run may end, told from what anybody can see beforehand."""
    failing = (world.scene.root / "fail").exists() and bool((world.scene.root / "fail").read_text())
    refused = {1} if world.hook_refuses or failing else set()
    if sight.at_rest and sight.dirt and not sight.adoptable:
        return {3}
    dirt = [path for path in sight.dirt if not path.startswith("work/")]
    blocked = (
        {3} if (sight.sealed and dirt) or (sight.locks and not (sight.in_flight or sight.lost)) else set()
    )
    return {0} | refused | blocked


def _conduct(world: World, act: Act, allowed: Callable[[Sight], set[int]], *, finishes: bool = True) -> int:
    sight = world.look()
    codes = allowed(sight)
    _share(world, sight)
    theirs, state = belongings(world.repo, BRANCH), frozen(world.repo)
    result = act()
    world.problems += still_alive(world.scene)
    said = result.out + result.err
    world.told.append(f"exit {result.code}, {sorted(codes)} expected\n{said}")
    world.problems += _ending_problems(result, codes)
    now = belongings(world.repo, BRANCH)
    world.problems += [f"I9: the user's {part} changed" for part in now if now[part] != theirs[part]]
    if codes == {3} and sight.at_rest:
        after = frozen(world.repo)
        world.problems += [f"I5: refused, and {part} changed" for part in after if after[part] != state[part]]
    if result.code == 0:
        world.problems += untruths(world, finished=finishes)
    return result.code


def _ending_problems(result: Result, codes: set[int]) -> list[str]:
    said = result.out + result.err
    problems = rough_ending(result.code, said)
    if result.code not in codes:
        problems.append(f"I11: exit {result.code}, expected one of {sorted(codes)}")
    return problems


def _share(world: World, sight: Sight) -> None:
    if sight.in_flight:
        world.shared |= {path for path in sight.dirt if not path.startswith("work/")}
    if sight.adoptable:
        world.shared |= sight.dirt
        world.adopted |= set(sight.ticked)


def _struck(strike: Callable[[], Struck]) -> Act:
    def act() -> Result:
        struck = strike()
        return Result(struck.code, struck.said, "")

    return act


def _with_agent_held(world: World, deed: Callable[[int], None]) -> Result:
    hold, held = world.scene.root / "hold", world.scene.root / "held"
    held.unlink(missing_ok=True)
    hold.touch()
    process = world.start()
    try:
        if world.wait_for(held, process):
            deed(process.pid)
    finally:
        hold.unlink()
    return ended(process)


@lru_cache
def _untraceable() -> str:
    return system_calls.why_not(Path.cwd())
