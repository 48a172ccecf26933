"""A working tree of the run's own, made fit to begin in: its files whole, on the newest start there is, with
what git ignores copied in and the set-up command run."""

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator

from holdfast.engine.flight import Flight, read_flight
from holdfast.engine.guard import clear_tree_locks, put_files_back
from holdfast.engine.leftover import end_leftovers
from holdfast.engine.raw_bytes import blob_ids
from holdfast.engine.rescue import pin, restore_start, snapshot
from holdfast.engine.site import Site, stopped
from holdfast.engine.source import kept_files
from holdfast.errors import ConfigError, Refused, TaskFailure
from holdfast.model.events import Noticed, Recovered, Rescued
from holdfast.system import faults, files
from holdfast.system.git import Dirt, Git
from holdfast.system.leftovers import TOKEN_VARIABLE
from holdfast.system.process import Limits, Program, supervise

MADE, MOVING = b"", b"moving"
"""What the mark of a tree says; of one that is moving also between what: commits, or a tree."""
UNFINISHED = "found in a working tree without a record of how it was made"
BESIDE = "found in a working tree that was on its way to another commit"
WORDS_KEPT = 4000
"""Of what a failing set-up command says."""


def make_ready(site: Site, checkout: Git) -> None:
    """Before recovery looks. `checkout` is where the user stands."""
    if not site.workspace.own:
        return
    end_leftovers(site)
    _put_files_back(site)
    _clear_locks(site)
    settle(site)
    _attach(site)
    if checkout.git_dir != site.git.git_dir:
        _catch_up(site, checkout)
        _bring_ignored_plan(site, checkout)


def _clear_locks(site: Site) -> None:
    """Of git calls that died with an earlier run while the tree was not in anybody's hands."""
    moving = files.read_if_there(site.workspace.made_mark) != MADE or site.git.current_branch() is None
    begun = moving or any(slot.branch for slot in (site.crew.trees() if site.crew else ()))
    for notice in clear_tree_locks(site, [site.branch], begun=begun):
        site.record(Recovered("a git call died", notice))


def _put_files_back(site: Site) -> None:
    """Of agents that were at work beside each other: the filters of one disguise every tree."""
    for slot in site.crew.trees() if site.crew else ():
        end_leftovers(site, slot)
        flight = read_flight(os.path.join(site.workspace.state, "trees", slot.tree))
        if isinstance(flight, Flight) and flight.run == site.run and not flight.by_hand:
            for notice in put_files_back(site, flight):
                site.record(Recovered("an interrupted attempt", notice, flight.task))


def set_up(site: Site, checkout: Git) -> None:
    if not site.workspace.own:
        return
    if checkout.git_dir != site.git.git_dir:
        _copy_files(site, checkout)
    _run_setup(site)


# -- files as they should be ---------------------------------------------------------------------------


def settle(site: Site) -> None:
    """A tree that was on its way is put where HEAD is. One without a mark may be half made, or our state was
    lost, and nothing tells whose work it holds: that is kept first."""
    mark = files.read_if_there(site.workspace.made_mark)
    if mark == MADE:
        return
    _require_head(site)
    dirt = site.git.dirt()
    if _nothing_begun(site) and not dirt.clean:
        word, _, between = (mark or b"").partition(b" ")
        if word != MOVING or not _all_in(site.git, dirt, os.fsdecode(between).split()):
            reason = BESIDE if word == MOVING else UNFINISHED
            ref = snapshot(site.workspace, site.run, "unfinished-tree", reason)
            site.record(Rescued(ref, reason))
            site.record(Recovered(f"changes {reason}", "kept under rescue, tree put back", rescue=ref))
        restore_start(site.workspace, "HEAD")
    files.write_durably(site.workspace.made_mark, MADE, fault="tree.made")


def _all_in(git: Git, dirt: Dirt, commits: list[str]) -> bool:
    """Is every changed file as one of the commits has it? Else git died over it, or somebody put it there."""
    there = [path for path in dirt.paths if os.path.lexists(os.path.join(git.root, path))]
    if not all(stat.S_ISREG(os.lstat(os.path.join(git.root, path)).st_mode) for path in there):
        return False
    known = {row for commit in commits for row in _rows(git, commit)}
    return known.issuperset(zip(blob_ids(git, there), there, strict=True))


def _rows(git: Git, commit: str) -> Iterator[tuple[str, str]]:
    """(blob, path) of all it holds; of one that a power cut took, nothing."""
    _, listing = git.answer("ls-tree", "-r", "-z", "--full-tree", commit, expect=(0, 128))
    for row in listing.split(b"\0")[:-1]:
        head, _, path = row.partition(b"\t")
        yield head.split()[2].decode("ascii"), os.fsdecode(path)


def _require_head(site: Site) -> None:
    """The branch of a tree that was being freed is gone already."""
    if site.git.resolve("HEAD") is None:
        detach_at(site, site.git.resolve(site.lands_on) or "")


@contextlib.contextmanager
def moving(site: Site, onto: str) -> Iterator[None]:
    """Inside, a tree that holds nobody's work is on its way from one commit to another."""
    between = (site.git.resolve("HEAD"), onto)
    mark = b" ".join((MOVING, *(commit.encode("ascii") for commit in between if commit)))
    files.write_durably(site.workspace.made_mark, mark + b"\n", fault="tree.moving")
    yield
    files.write_durably(site.workspace.made_mark, MADE, fault="tree.made")


def detach_at(site: Site, commit: str) -> None:
    faults.point("tree.detach.before")
    site.git.run("update-ref", "--no-deref", "-m", "holdfast: on no branch", "HEAD", commit)
    faults.point("tree.detach.after")


def detach(site: Site) -> None:
    """While tasks have trees of their own the run branch moves without this one."""
    tip = site.git.resolve(site.branch)
    if tip and site.git.current_branch() == site.branch:
        detach_at(site, tip)


def attach(site: Site) -> None:
    """On the run branch again, with the files of its tip."""
    tip = site.git.resolve(site.branch)
    if tip is None or site.git.current_branch() == site.branch:
        return
    with moving(site, tip):
        site.git.run("symbolic-ref", "-m", "holdfast: back to the run branch", "HEAD", site.branch)
        faults.point("tree.attached")
        restore_start(site.workspace, tip)


def _attach(site: Site) -> None:
    """Where a task is in flight, it was its agent that led HEAD away, and recovery knows about that."""
    here = site.git.current_branch()
    flight = read_flight(site.workspace.tree_state)
    if here == site.branch or (isinstance(flight, Flight) and flight.branch == site.branch):
        return
    tree = site.git.root
    if here is not None:
        short, other = (name.removeprefix("refs/heads/") for name in (site.branch, here))
        raise Refused(
            f"{tree} is the run's working tree, and it is on {other}, not on {short}",
            fix=f"git -C {tree} switch {short}, then run again",
        )
    if not site.git.dirt().clean:
        raise Refused(
            f"{tree} has changes that are not Holdfast's",
            fix=f"keep what you need of it, then: git -C {tree} reset --hard",
        )
    keep_detached(site, site.branch)
    attach(site)


def keep_detached(site: Site, onto: str) -> None:
    """Commits that somebody made in this tree on no branch, and that `onto` does not hold."""
    head = site.git.resolve("HEAD")
    if head and site.git.current_branch() is None and not site.git.is_ancestor(head, onto):
        reason = "committed in a tree of the run's, on no branch"
        site.record(Rescued(pin(site.git, site.run, "detached", head, reason), reason))


def _nothing_begun(site: Site) -> bool:
    return read_flight(site.workspace.tree_state) is None and not site.git.refs(site.candidate_prefix)


def _catch_up(site: Site, checkout: Git) -> None:
    """Nothing was done here yet, or all of it was merged: begin from where the user is now."""
    tip, head = site.git.resolve(site.branch), checkout.resolve("HEAD")
    if not tip or not head or tip == head or not site.git.is_ancestor(tip, head):
        return
    if not _nothing_begun(site) or not site.git.dirt().clean:
        return
    with moving(site, head):
        site.git.move_ref(site.branch, head, tip, "on to where the checkout is", fault="tree.forward")
        restore_start(site.workspace, head)
    site.record(Noticed(f"the branch goes on from {head[:12]}, where your checkout is"))


def _bring_ignored_plan(site: Site, checkout: Git) -> None:
    """A plan that git ignores is in no commit: the tree's copy counts, and begins as the user's."""
    for path in site.git.ignored((*kept_files(site.plan), *site.plan.companions)):
        there, theirs = (os.path.join(git.root, path) for git in (site.git, checkout))
        if not os.path.lexists(there) and os.path.isfile(theirs):
            with open(theirs, "rb") as f:
                files.write_durably(there, f.read(), fault="tree.plan")


# -- set-up ----------------------------------------------------------------------------------------------


def _copy_files(site: Site, checkout: Git) -> None:
    """Copied again when the user's file changes, not when the copy does."""
    known = _known(site)
    for path in site.policy.copied:
        source = os.path.join(checkout.root, path)
        if not os.path.isfile(source):
            raise ConfigError(
                f"worktree.copy names {path}, which is not a file in {checkout.root}",
                fix="correct the name, or take it out",
            )
        if not site.git.ignored([path]):
            raise ConfigError(
                f"worktree.copy names {path}, which git does not ignore: the copy would become "
                "part of the commits",
                fix=f"add {path} to .gitignore, or take it out",
            )
        digest = _digest(source)
        target = os.path.join(site.git.root, path)
        if known.get(path) != digest or not os.path.lexists(target):
            files.make_directory(os.path.dirname(target))
            shutil.copy2(source, target)
            faults.point("setup.copied")
            known = {**known, path: digest}
            _remember(site, known)


def _run_setup(site: Site) -> None:
    command = site.policy.setup
    if not command:
        return
    known = _known(site)
    inputs = {path: _digest(os.path.join(site.git.root, path)) for path in site.policy.setup_inputs}
    fingerprint = json.dumps([command, sorted(inputs.items())])
    if known.get("setup") == fingerprint:
        return
    before = set(site.git.dirt().paths)
    site.record(Noticed(f"sets the working tree up: {command}"))
    _supervised(site, command)
    left = sorted(set(site.git.dirt().paths) - before)
    if left:
        raise Refused(
            f"the set-up command `{command}` left changes that would become part of a task's commit: "
            + ", ".join(left[:8]),
            fix="let git ignore what it makes, or let it leave tracked files alone; "
            f"then undo them in {site.git.root} and run again",
        )
    _remember(site, {**_known(site), "setup": fingerprint})


def _supervised(site: Site, command: str) -> None:
    said = bytearray()

    def heard(_: int, chunk: bytes) -> None:
        said.extend(chunk)
        del said[:-WORDS_KEPT]

    token = site.token_prefix + secrets.token_hex(8)
    environment = {**os.environ, **site.policy.added_environment, TOKEN_VARIABLE: token}
    program = Program(("sh", "-c", command), site.git.root, environment, lock=site.lock)
    faults.point("setup.before")
    ended = supervise(program, Limits(site.policy.task_timeout), site.stops, heard)
    faults.point("setup.after")
    if site.stops.requested:
        raise stopped(site, "during set-up")
    if ended.exit_code != 0:
        words = site.tools.secrets.redacted(bytes(said).decode("utf-8", "replace").strip())
        how = ended.why or (f"exit {ended.exit_code}" if ended.signal is None else f"signal {ended.signal}")
        raise TaskFailure(
            f"the set-up command `{command}` failed ({how}):\n{words}",
            fix=f"try it in {site.git.root}; `worktree.setup` in holdfast.toml says what is run",
        )


def _known(site: Site) -> dict[str, str]:
    """What was done for this tree, by digest. Lost, it is done again."""
    data = files.read_if_there(_setup_file(site))
    try:
        known = json.loads(data) if data else {}
    except ValueError:
        return {}
    return known if isinstance(known, dict) else {}


def _remember(site: Site, known: dict[str, str]) -> None:
    files.write_durably(_setup_file(site), json.dumps(known).encode(), fault="setup.known")


def _setup_file(site: Site) -> str:
    return os.path.join(site.workspace.tree_state, "setup.json")


def _digest(path: str) -> str:
    data = files.read_if_there(path)
    return "" if data is None else hashlib.sha256(data).hexdigest()
