"""What can happen to a plan: a story is a manner and some steps, all of them words that can be typed again.

`executor/resume/positional/tracked fault:commit.after@2 retitle:0 run`: who commits, what becomes of partial
work, whether the plan writes ids, whether git knows it at the start; then one step after the other.
"""

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from proof.git_calls import DEATHS
from proof.system_calls import VICTIMS

Story = tuple[str, ...]

MANNERS = (("executor", "agent"), ("resume", "rollback"), ("positional", "numbered"), ("tracked", "new"))
FAULTS = (
    *("base.before", "base.after", "flight.written", "flight.durable", "agent.before", "agent.after"),
    *("gate.before", "sealed", "candidate.before", "candidate.after", "commit.before", "commit.after"),
    *("plan.synced", "index.before", "index.linked", "index.renamed", "index.after", "helpers.before"),
    *("helpers.after", "flight.removed", "entry.before", "entry.after", "plan.put_back", "plan.edit.written"),
    *("plan.edit.durable", "edit.before", "edit.after", "plan.carried.written", "plan.carried.durable"),
    *("candidate.drop.before", "candidate.drop.after", "rescue.begin", "rescue.tree", "rescue.before"),
    *("rescue.after", "restore.before", "restore.after"),
)
COMMAND_FAULTS = ("", "candidate.after", "commit.before", "commit.after", "entry.after", "restore.before")
"""Where `skip` and `reset` may die; "" is nowhere."""


def stories(chapters: int) -> SearchStrategy[Story]:
    """Each chapter is a run, which mostly dies, and what the user does after it."""
    manner = st.tuples(*map(st.sampled_from, MANNERS)).map("/".join)
    deeds = st.lists(st.one_of(_edits(), _deeds()), min_size=1, max_size=3)
    chapter = st.builds(lambda end, after: (end, *after), st.one_of(_deaths(), _runs()), deeds)
    many = st.lists(chapter, min_size=chapters, max_size=chapters)
    return st.builds(lambda first, rest: (first, *(step for steps in rest for step in steps)), manner, many)


def _deaths() -> SearchStrategy[str]:
    return st.one_of(
        _at("fault", FAULTS, 2),
        _at("git", tuple(DEATHS), 60),
        _at("calls", VICTIMS, 400),
        _words("signal", ("KILL", "INT", "TERM")),
    )


def _runs() -> SearchStrategy[str]:
    return st.one_of(st.just("run"), _words("amid", ("commit", "edit")))


def _edits() -> SearchStrategy[str]:
    return st.one_of(
        *(_numbered(name) for name in ("retitle", "rebody", "add", "remove", "move", "tick", "untick")),
        st.just("renumber"),
        _words("commit", ("file", "plan", "all")),
    )


def _deeds() -> SearchStrategy[str]:
    return st.one_of(
        _words("dirt", ("untracked", "tracked", "staged", "twice")),
        _words("clean", ("commit", "stash", "delete")),
        _words("lose", ("state", "journal", "record")),
        _words("spoil", ("journal", "record")),
        _at_all("skip", COMMAND_FAULTS),
        _at_all("reset", COMMAND_FAULTS),
        _numbered("retry"),
        _words("hook", ("refuses", "mended")),
        _words("fail", ("1", "2", "3")),
        st.sampled_from(("visit", "rescues")),
    )


def _words(name: str, words: tuple[str, ...]) -> SearchStrategy[str]:
    return st.sampled_from(words).map(lambda word: f"{name}:{word}")


def _numbered(name: str) -> SearchStrategy[str]:
    """The number chooses a task, whatever tasks there are by then."""
    return st.integers(0, 4).map(lambda number: f"{name}:{number}")


def _at(name: str, places: tuple[str, ...], most: int) -> SearchStrategy[str]:
    return st.builds(f"{name}:{{}}@{{}}".format, st.sampled_from(places), st.integers(1, most))


def _at_all(name: str, faults: tuple[str, ...]) -> SearchStrategy[str]:
    return st.builds(f"{name}:{{}}@{{}}".format, st.integers(0, 4), st.sampled_from(faults))
