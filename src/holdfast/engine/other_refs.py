"""Refs that are not the run's branch: others, tags, notes, rescues and the stash, as they were when it began.

While the run lives, what became of them happened beside the agent: they are put back, what they were moved to
is pinned under rescue first, and a move that git's reflog shows to be somebody else's stays. After a crash
there was time for the user's own hand too: then only what the reflog shows to be the agent's is put back, and
what else is lost from sight is pinned.
"""

import os
from typing import NamedTuple

from holdfast.engine import rescue
from holdfast.engine.flight import Flight, Others, flight_file
from holdfast.engine.observe import AGENT_ACTION, moved_by_agent_alone
from holdfast.engine.site import Site
from holdfast.errors import GitError
from holdfast.system import files, reflog
from holdfast.system.git import ABSENT, Git, GitKilled
from holdfast.workspaces.trees import linked_trees, main_branch, tree_on

GUARDED = ("refs/heads", "refs/tags", "refs/notes", "refs/stash", "refs/holdfast/rescue")
STASH = "refs/stash"
MOST_NAMED = 5
_OURS = ("refs/holdfast/", STASH)


class Found(NamedTuple):
    notices: tuple[str, ...]
    """What was done, in words."""
    stashed: bool
    """The agent put something on the stash, which is no longer in the tree."""


def other_refs(site: Site, branch: str) -> Others:
    """All but `branch` and those of tasks that are worked on beside this one, which are the run's."""
    return Others(_now(site, branch)[0], files.read_if_there(_stash_log(site.git)))


def _now(site: Site, branch: str) -> tuple[dict[str, str], set[str]]:
    """Every ref, and which of them are checked out in another working tree: who works there moves those. A
    branch of another run at work is left out."""
    git = site.git
    shape = "--format=%(objectname) %(refname) %(symref) %(worktreepath)"
    listing = git.text("for-each-ref", shape, *GUARDED, site.seen_ref)
    rows = [line.split(" ", 3) for line in listing.splitlines()]
    ours = (f"{branch} ", *site.beside)
    theirs = [(v, n, w) for v, n, symbolic, w in rows if not symbolic and not f"{n} ".startswith(ours)]
    here, at_work = os.path.realpath(git.root), _trees_at_work(site)
    refs = {name: value for value, name, where in theirs if where == here or where not in at_work}
    return refs, {name for _, name, where in theirs if where not in ("", here)}


def _trees_at_work(site: Site) -> set[str]:
    trees = {os.path.basename(tree.admin): tree.root for tree in linked_trees(site.git.common_dir)}
    trees["main"] = os.path.dirname(os.path.realpath(site.git.common_dir))
    home = os.path.join(site.workspace.state, "trees")
    return {trees[name] for name in trees if os.path.exists(flight_file(os.path.join(home, name)))}


def put_others_back(site: Site, flight: Flight) -> Found:
    if flight.others is None:
        return Found((), False)
    with site.alone:
        return _put_others_back(site, flight, flight.others)


def _put_others_back(site: Site, flight: Flight, others: Others) -> Found:
    refs, elsewhere = _now(site, flight.branch)
    log, before = files.read_if_there(_stash_log(site.git)), others.refs
    differing = [name for name in _differing(site.git, before, refs) if name != STASH]
    notices = [_put_back(site, flight, name, refs.get(name), name in elsewhere) for name in differing]
    stash = refs.get(STASH)
    if (stash, log) != (before.get(STASH), others.stash_log):
        notices.append(_put_stash_back(site, flight, stash))
    made = sorted(name for name in refs if name not in before and not name.startswith(_OURS))
    notices += _named("made while the agent worked, left as they are", made)
    stashed = stash is not None and (log or b"").startswith(others.stash_log or b"")
    return Found(tuple(filter(None, notices)), stashed and stash != before.get(STASH))


def keep_others(site: Site, flight: Flight) -> list[str]:
    """After a crash: what a ref no longer shows is kept. Returns what was done, in words."""
    if flight.others is None:
        return []
    now, elsewhere = _now(site, flight.branch)
    before = flight.others.refs
    theirs = [name for name in before if not name.startswith("refs/holdfast/")]  # ours they may have dropped
    differing = [name for name in _differing(site.git, before, now) if name in theirs]
    kept = (_keep(site, flight, name, now.get(name), name in elsewhere) for name in differing)
    return [*filter(None, kept)]


def _differing(git: Git, before: dict[str, str], now: dict[str, str]) -> list[str]:
    """A branch that another run works on meanwhile is there, and no longer guarded."""
    differing = [name for name in before if now.get(name) != before[name]]
    return [name for name in differing if name in now or git.resolve(name) is None]


def stash_changed(site: Site, flight: Flight) -> bool:
    if flight.others is None:
        return False
    return site.git.resolve(STASH) != flight.others.refs.get(STASH)


def pushed_since(git: Git, began: float) -> list[str]:
    """Remote branches that somebody pushed to: it cannot be taken back, only said."""
    logs = os.path.join(git.common_dir, "logs", "refs", "remotes")
    paths = [os.path.join(d, n) for d, _, names in os.walk(logs) for n in names]
    recent = [path for path in paths if os.path.getmtime(path) >= began]
    refs = sorted(os.path.relpath(path, os.path.join(git.common_dir, "logs")) for path in recent)
    pushed = [ref for ref in refs if next(reflog.moves(git, ref), _NOWHERE).action == "update by push"]
    return _named("pushed to while the agent worked", pushed)


_NOWHERE = reflog.Move("", "", "")


def _keep(site: Site, flight: Flight, name: str, now: str | None, elsewhere: bool) -> str:
    assert flight.others is not None
    before = flight.others.refs[name]
    if _marked_as_agents(site.git, name, before) if now else _is_on(site.git, name):
        return _put_back(site, flight, name, now, elsewhere)
    if now and _still_leads_to(site.git, name, now, before):
        return ""
    kept = _pin(site, flight, name, before)
    return f"{name} is not where it was when the task began; that is kept as {kept}" if kept else ""


def _is_on(git: Git, name: str) -> bool:
    """Some tree is on that branch still, though it is gone: git lets nobody delete such a one by accident."""
    return main_branch(git.common_dir) == name or tree_on(git.common_dir, name) is not None


def _marked_as_agents(git: Git, name: str, before: str) -> bool:
    """Every move since bears the agent's mark, and nothing is left to belief."""
    for move in reflog.moves(git, name):
        if not move.action.startswith(AGENT_ACTION):
            return False
        if move.old == before:
            return True
    return False


def _put_back(site: Site, flight: Flight, name: str, now: str | None, elsewhere: bool) -> str:
    assert flight.others is not None
    before = flight.others.refs[name]
    if now and not _moved_by_agent(site.git, flight._replace(branch=name, base=before), elsewhere):
        return ""
    kept = _pin(site, flight, name, now) if now else ""
    try:
        site.git.move_ref(name, before, now or ABSENT, "put back", fault="ref.back", log=False)
    except GitKilled:
        raise
    except GitError as error:  # another ref may be in its way by now
        old = _pin(site, flight, name, before)
        return f"the agent changed {name}, which cannot be put back ({error.message}); kept as {old}"
    return f"the agent changed {name}; put back" + (f", its version is {kept}" if kept else "")


def _moved_by_agent(git: Git, flight: Flight, elsewhere: bool) -> bool:
    """Of a branch that somebody works on it takes proof."""
    if elsewhere:
        return _marked_as_agents(git, flight.branch, flight.base)
    return moved_by_agent_alone(git, flight)


def _put_stash_back(site: Site, flight: Flight, now: str | None) -> str:
    """The stash is its reflog; moving the ref adds to that, so its bytes come last."""
    assert flight.others is not None
    before, log = flight.others.refs.get(STASH), flight.others.stash_log
    kept = [_pin(site, flight, STASH, entry) for entry in _stashed_since(site.git, now, flight.others)]
    if before is None and now is not None:
        site.git.delete_refs({STASH: now}, fault="ref.back")
    elif before is not None and now != before:
        site.git.move_ref(STASH, before, now or ABSENT, "put back", fault="ref.back", log=True)
    if before is not None and log is not None:
        files.write_durably(_stash_log(site.git), log, fault="stash")
    told = f", what it stashed is {', '.join(kept)}" if kept else ""
    return f"the agent changed the stash; put back{told}"


def _stashed_since(git: Git, now: str | None, before: Others) -> list[str]:
    """Only the last entry is a ref; those below it are known to its reflog alone."""
    known = {move.new for move in reflog.entries(before.stash_log or b"")} | {before.refs.get(STASH)}
    found = [now, *(move.new for move in reflog.moves(git, STASH))] if now else []
    return [entry for entry in dict.fromkeys(found) if entry not in known]


def _still_leads_to(git: Git, name: str, now: str, before: str) -> bool:
    """A stash is pushed on top of those before it, and its reflog leads to them."""
    if name == STASH:
        return any(before in (move.old, move.new) for move in reflog.moves(git, name))
    commit, older = (git.resolve(f"{value}^{{commit}}") for value in (now, before))
    return bool(commit and older and git.is_ancestor(older, commit))


def _pin(site: Site, flight: Flight, name: str, value: str) -> str:
    """ "" for a tag of something that is no commit: there is nothing to bring back from it."""
    commit = site.git.resolve(f"{value}^{{commit}}")
    label = f"{flight.key}-{name.removeprefix('refs/').replace('/', '-')}"
    return rescue.pin(site.git, flight.run, label, commit, f"{name} during {flight.task}") if commit else ""


def _named(what: str, refs: list[str]) -> list[str]:
    if not refs:
        return []
    more = f" and {len(refs) - MOST_NAMED} more" if len(refs) > MOST_NAMED else ""
    return [f"{what}: {', '.join(refs[:MOST_NAMED])}{more}"]


def _stash_log(git: Git) -> str:
    return os.path.join(git.common_dir, "logs", "refs", "stash")
