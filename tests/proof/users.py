"""The user's part in a story: edits of the plan, commits, dirt, accidents with our state."""

import shutil
from pathlib import Path

from proof.plan_text import DONE, OPEN, Item, without_marks
from proof.world import HOOK, PLAN, RECORD, STATE, World

# -- the plan ----------------------------------------------------------------------------------------


def retitle(world: World, number: str) -> None:
    if items := world.readable_items():
        at = int(number) % len(items)
        old, new = items[at].title, world.fresh("job")
        world.former[new] = {old, *world.former.get(old, ())}
        items[at] = items[at]._replace(title=new)
        world.write_plan(items)


def rebody(world: World, number: str) -> None:
    if items := world.readable_items():
        at = int(number) % len(items)
        items[at] = items[at]._replace(body=f"  {world.fresh('words')}\n")
        world.write_plan(items)


def add(world: World, number: str) -> None:
    if items := world.readable_items():
        new = Item(OPEN, world.next_id(items), world.fresh("job"), "")
        items.insert(int(number) % (len(items) + 1), new)
        world.write_plan(items)


def remove(world: World, number: str) -> None:
    """An open task; the last task of a plan stays."""
    items = world.readable_items()
    candidates = [item for item in items if item.mark == OPEN]
    if candidates and len(items) > 1:
        items.remove(candidates[int(number) % len(candidates)])
        world.write_plan(items)


def move(world: World, number: str) -> None:
    if items := world.readable_items():
        items.append(items.pop(int(number) % len(items)))
        world.write_plan(items)


def renumber(world: World, _: str) -> None:
    """Written ids follow the order again; without them, the order is turned round."""
    if items := world.readable_items():
        turned = items if world.numbered else items[::-1]
        ids = [f"T{n:03}" if world.numbered else "" for n in range(1, len(items) + 1)]
        world.write_plan([item._replace(id=i) for item, i in zip(turned, ids, strict=True)])


def tick(world: World, number: str) -> None:
    _turn(world, number, OPEN, DONE)


def untick(world: World, number: str) -> None:
    _turn(world, number, DONE, OPEN)


def _turn(world: World, number: str, old: str, new: str) -> None:
    items = world.readable_items()
    at = [n for n, item in enumerate(items) if item.mark == old]
    if at:
        chosen = at[int(number) % len(at)]
        title = items[chosen].title
        items[chosen] = items[chosen]._replace(mark=new)
        (world.ticks if new == DONE else world.unticks)[title] += 1
        world.write_plan(items)


def edit_for_nothing(world: World) -> None:
    """While an agent works only Holdfast marks and edits the plan: the edit is kept, the file put back."""
    if world.readable_items() and not world.agent_commits:
        line = world.fresh("an edit while the agent works, number ")
        world.kept.add(line)
        world.repo.write(PLAN, f"{world.plan_in_tree()}  {line}\n")


# -- git ---------------------------------------------------------------------------------------------


def commit(world: World, what: str) -> None:
    if what == "file":
        name = f"{world.fresh('note')}.txt"
        _write_line(world, name)
        world.user_git("add", name)
        world.user_commit("-m", f"Add {name}", "--", name)
    elif what == "plan":
        world.user_git("add", PLAN)
        world.user_commit("-m", "Edit the plan", "--", PLAN)
    else:
        if world.user_git("add", "--all"):  # which lets go of what was staged before
            world.kept -= set(world.staged.values())
        world.user_commit("-m", "Everything")


def dirt(world: World, kind: str) -> None:
    if kind == "tracked":
        _write_line(world, "README.md")
        return
    name = f"{world.fresh('draft')}.txt"
    _write_line(world, name)
    if kind != "untracked" and world.user_git("add", name) and kind == "twice":
        world.staged[name] = (world.repo.path / name).read_text().rstrip(".\n")
        (world.repo.path / name).unlink()
        _write_line(world, name)


def _write_line(world: World, name: str) -> None:
    line = world.fresh("a line of the user's, number ")
    world.kept.add(line)
    path = world.repo.path / name
    path.write_text((path.read_text() if path.exists() else "") + f"{line}.\n")


def clean(world: World, how: str) -> None:
    if how == "commit":
        commit(world, "all")
    elif how == "stash":
        _stash(world)
    else:
        _delete_own(world)


def put_right(world: World) -> None:
    """What a refusal asks for: no git is at work, so its lock can go; what is there becomes a commit."""
    for name in ("index.lock", "HEAD.lock", "refs/heads/main.lock"):
        (world.repo.path / ".git" / name).unlink(missing_ok=True)
    commit(world, "all")


def _stash(world: World) -> None:
    """Edits of the plan go with the rest; a plan that git does not know would go altogether."""
    if world.plan_at("HEAD") and world.user_git("stash", "--include-untracked"):
        world.words = without_marks(world.plan_in_tree())


def _delete_own(world: World) -> None:
    """Drafts that no commit holds."""
    for path in world.repo.path.glob("draft*.txt"):
        known = world.user_git("cat-file", "-e", f"HEAD:{path.name}")
        if not known and world.user_git("rm", "--quiet", "--cached", "--ignore-unmatch", "--", path.name):
            lines = {line.rstrip(".") for line in path.read_text().splitlines()}
            world.kept -= {*lines, world.staged.get(path.name, "")}
            path.unlink()


# -- accidents ---------------------------------------------------------------------------------------


def lose(world: World, what: str) -> None:
    if what == "state":
        shutil.rmtree(world.repo.path / STATE, ignore_errors=True)
    else:
        _path_of(world, what).unlink(missing_ok=True)


def spoil(world: World, what: str) -> None:
    path = _path_of(world, what)
    if path.exists():
        path.write_bytes(path.read_bytes()[:40] + b"\0spoilt")


def _path_of(world: World, what: str) -> Path:
    return world.repo.path / (RECORD if what == "record" else f"{STATE}/journal.db")


def hook(world: World, what: str) -> None:
    """After a run that was killed a changed hook is taken for the agent's doing, so the user waits."""
    if world.ended_by_itself or not world.look().in_flight:
        world.hook_refuses = what == "refuses"
        path = world.repo.write(HOOK, f"#!/bin/sh\nexit {int(world.hook_refuses)}\n")
        path.chmod(0o755)


def fail(world: World, times: str) -> None:
    (world.scene.root / "fail").write_text("once\n" * int(times))
