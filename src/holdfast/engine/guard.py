"""What an agent must leave alone, as it was before, and how it is put back.

The branch and HEAD belong to the run: commits an agent made are pinned under rescue, their bytes stay in the
tree as its work. Config, hooks and excludes belong to the user: they get their bytes back.
"""

import os
from collections.abc import Iterable
from typing import NamedTuple

from holdfast.engine import rescue
from holdfast.engine.flight import Flight
from holdfast.engine.observe import moved_by_agent_alone
from holdfast.engine.site import Site
from holdfast.engine.stale_locks import locks_below, move_aside, packed_refs_lock, still_there
from holdfast.model.events import Rescued
from holdfast.system import clock, faults, files
from holdfast.system.git import ABSENT, Git, RefMoved

PROTECTED = ("config", "config.worktree", os.path.join("info", "exclude"), os.path.join("info", "attributes"))
LARGEST_PROTECTED = 1 << 20


class Findings(NamedTuple):
    notices: tuple[str, ...]
    strayed: bool
    """The tree no longer stood on the base: what differed from it was not (only) this task's work, so it
    is kept under rescue and the tree is the base's again."""


def protected_files(git: Git) -> dict[str, bytes | None]:
    """Small files of the repository's own; None for one that is not there."""
    found: dict[str, bytes | None] = {}
    for name in (*PROTECTED, *_hooks(git)):
        path = os.path.join(git.common_dir, name)
        too_large = os.path.isfile(path) and os.path.getsize(path) > LARGEST_PROTECTED
        if not too_large:
            found[name] = files.read_if_there(path)
    return found


def _hooks(git: Git) -> list[str]:
    directory = os.path.join(git.common_dir, "hooks")
    if not os.path.isdir(directory):
        return []
    names = (n for n in os.listdir(directory) if not n.endswith(".sample"))
    return sorted(os.path.join("hooks", n) for n in names if os.path.isfile(os.path.join(directory, n)))


def put_back(site: Site, flight: Flight) -> Findings:
    """After the agent's tree is dead (or was found dead): everything that is not its work, as it was.

    RefMoved when somebody else has moved the branch, up to the last moment: that stays.
    """
    notices = [*clear_locks(site), *put_files_back(site, flight), *_end_operation(site)]
    head = site.git.resolve("HEAD")
    tip = site.git.resolve(flight.branch)
    if tip and tip != flight.base and not moved_by_agent_alone(site.git, flight):
        raise RefMoved(f"{flight.branch} is at {tip[:12]}, and it was not the agent who moved it there")
    moved = {commit for commit in (head, tip) if commit and commit != flight.base}
    for commit in moved:
        ref = rescue.pin(site.git, flight.run, f"{flight.key}-commits", commit, f"made during {flight.task}")
        notices.append(f"the agent moved the branch or HEAD to {commit[:12]}; kept as {ref}, put back")
    strayed = tip is None or not all(site.git.is_ancestor(flight.base, commit) for commit in moved)
    if strayed:
        _restore_tree(site, flight)
    if _put_head_back(site, flight) and not moved:
        notices.append("the agent switched away from the branch; HEAD is put back")
    if tip != flight.base:
        reason = "agent commits kept as rescue"
        site.git.move_ref(flight.branch, flight.base, tip or ABSENT, reason, fault="branch.back")
    return Findings(tuple(notices), strayed)


def _restore_tree(site: Site, flight: Flight) -> None:
    """Before the branch goes back: after that, nothing would tell that the tree stands on something else."""
    reason = "the agent moved the branch away from where the task started"
    ref = rescue.snapshot(site.workspace, flight.run, f"{flight.key}-strayed", reason)
    site.record(Rescued(ref, reason, flight.task))
    rescue.restore_start(site.workspace, flight.base)


def _put_head_back(site: Site, flight: Flight) -> bool:
    if site.git.current_branch() == flight.branch:
        return False
    faults.point("head.before")
    site.git.run("symbolic-ref", "-m", "holdfast: back to the run branch", "HEAD", flight.branch)
    faults.point("head.after")
    return True


def clear_locks(site: Site, *, ours_alone: bool = False) -> list[str]:
    """Lock files in a tree that is ours, with every process of ours dead: nobody will finish those.

    `ours_alone` leaves those that a git call of the user's could have made.
    """
    ours = [*_own_ref_locks(site), *_own_index_locks(site)]
    if ours_alone:
        return _moved_aside(site, [*ours, *_packed_lock(site, begun=False)])
    return _moved_aside(site, [*ours, *_shared_locks(site), *_stash_locks(site), _maintenance_lock(site)])


def clear_tree_locks(site: Site, branches: Iterable[str], *, begun: bool) -> list[str]:
    """In a tree of our own, with every process of ours dead: those on its HEAD and index, on refs of ours and
    on these branches; where something of ours had `begun`, on git's packed refs too."""
    own = [os.path.join(site.git.git_dir, name) for name in ("index.lock", "HEAD.lock")]
    refs = [os.path.join(site.git.common_dir, f"{branch}.lock") for branch in branches if branch]
    paths = [*own, *_stash_locks(site), *refs, *_packed_lock(site, begun=begun), *_own_ref_locks(site)]
    return _moved_aside(site, [path for path in paths if not _is_index_on_its_way(site, path)])


def _moved_aside(site: Site, paths: list[str]) -> list[str]:
    return move_aside(paths, site.workspace.tree_state)


def locks_of_others(site: Site) -> list[str]:
    """Before anything of ours has begun: a git call of the user's is at work, or died."""
    return still_there(_shared_locks(site))


def _own_ref_locks(site: Site) -> list[str]:
    """All below refs/holdfast; in a slot only those of its own helpers, for others are at work beside it."""
    locks = locks_below(site.git, "refs/holdfast")
    if not site.slot:
        return locks
    own = tuple(
        os.path.join(site.git.common_dir, ref) for ref in (f"{site.base_ref}.", site.candidate_prefix)
    )
    return [path for path in locks if path.startswith(own)]


def _packed_lock(site: Site, *, begun: bool) -> list[str]:
    """Where nothing of ours had begun, it is ours if one on a ref of ours is there as well."""
    return [packed_refs_lock(site.git)] if not site.slot and (begun or _own_ref_locks(site)) else []


def _own_index_locks(site: Site) -> list[str]:
    """Of the private index and of the one that rescue builds its tree in."""
    state = site.workspace.tree_state
    names = os.listdir(state) if os.path.isdir(state) else []
    return [os.path.join(state, name) for name in names if name.endswith(".lock")]


def _shared_locks(site: Site) -> list[str]:
    """Not those on index and HEAD of another working tree, such as the user's checkout: they are not in the
    way, and a `git commit` of the user's holds one for as long as its editor is open."""
    of_tree = [os.path.join(site.git.git_dir, name) for name in ("index.lock", "HEAD.lock")]
    shared = () if site.slot else ("packed-refs.lock", "config.lock")
    of_all = (*shared, f"{site.branch}.lock")
    paths = of_tree + [os.path.join(site.git.common_dir, name) for name in of_all]
    return [path for path in paths if not _is_index_on_its_way(site, path)]


def _stash_locks(site: Site) -> list[str]:
    """`git stash` has an index of its own, named after its process: nobody else's way is barred by it."""
    names = (name for name in os.listdir(site.git.git_dir) if name != "index.lock")
    found = (name for name in names if name.startswith("index.") and name.endswith(".lock"))
    return [os.path.join(site.git.git_dir, name) for name in found]


def _maintenance_lock(site: Site) -> str:
    """Git tidies up after a commit, an agent's too. It stands in nobody's way but that of the next tidying,
    so where nothing of ours had begun it is no reason to refuse."""
    return os.path.join(site.git.common_dir, "objects", "maintenance.lock")


def _is_index_on_its_way(site: Site, path: str) -> bool:
    """The lock we make ourselves while we replace the index: `land.finish` completes that."""
    both = os.path.exists(path) and os.path.exists(site.private_index)
    return both and os.path.samefile(path, site.private_index)


def put_files_back(site: Site, flight: Flight) -> list[str]:
    """Config, hooks and excludes alone; returns what was done."""
    if not flight.protected:  # the agent is long dead and all was put back: what differs now is the user's
        return []
    with site.alone:
        return _put_files_back(site, flight)


def _put_files_back(site: Site, flight: Flight) -> list[str]:
    notices = []
    now = protected_files(site.git)
    for name in sorted({*now, *flight.protected}):
        before, after = flight.protected.get(name), now.get(name)
        if before == after:
            continue
        path = os.path.join(site.git.common_dir, name)
        kept = os.path.join(
            site.workspace.tree_state, "changed-by-agent", f"{clock.stamp()}-{name.replace('/', '-')}"
        )
        if after is not None:
            files.write_durably(kept, after, fault="protected.kept")
        if before is None:
            files.remove_durably(path, fault="protected")
        else:
            _replace_keeping_mode(path, before)
        notices.append(f"the agent changed {path}; put back" + (f", its version is {kept}" if after else ""))
    if notices:
        _look_at_contents_again(site)
    return notices


def _look_at_contents_again(site: Site) -> None:
    """What is in the index may have gone there through a filter of the agent's, and git would go by the file
    times noted beside it. An index older than every file makes it compare contents."""
    slots = site.crew.trees() if site.crew else ()
    trees = [site.git.git_dir, *(os.path.join(site.git.common_dir, "worktrees", s.tree) for s in slots)]
    for index in (os.path.join(tree, "index") for tree in trees):
        if os.path.exists(index):
            os.utime(index, (1, 1))


def _replace_keeping_mode(path: str, data: bytes) -> None:
    there = os.path.exists(path)
    files.write_durably(path, data, fault="protected")
    if not there:
        os.chmod(path, 0o755 if os.path.basename(os.path.dirname(path)) == "hooks" else 0o644)


def _end_operation(site: Site) -> list[str]:
    """A merge or rebase the agent began: let go of it, keep HEAD and the tree as they are."""
    operation = site.workspace.operation_under_way()
    if not operation:
        return []
    ref = rescue.snapshot(site.workspace, site.run, f"unfinished-{operation}", f"a {operation} was under way")
    site.git.run(operation, "--quit")
    return [f"the agent left a {operation} unfinished; kept as {ref}, ended"]
