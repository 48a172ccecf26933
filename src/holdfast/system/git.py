"""The only place that calls git. Plumbing, argument lists, bytes in and bytes out."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from holdfast.errors import AGAIN, GitError, Refused, UsageError
from holdfast.system import faults, files
from holdfast.system.process import capture

# Git's defaults fsync nothing: a power cut then leaves an empty object behind a moved branch. The fsmonitor
# daemon would inherit our lock and keep it for ever; automatic gc has no business in the middle of a run.
# Tasks that are worked on at once move refs at the same time: each waits a while for the lock of another.
SETTINGS = (
    "core.fsync=all",
    "core.fsyncMethod=batch",
    "core.fsyncObjectFiles=true",
    "gc.auto=0",
    "maintenance.auto=false",
    "core.fsmonitor=false",
    "core.packedRefsTimeout=5000",
    "core.filesRefLockTimeout=2000",
    "advice.addEmbeddedRepo=false",
    "core.quotePath=false",
)
_OPTIONS = tuple(word for setting in SETTINGS for word in ("-c", setting))

# Variables that point git at another repository or index than the one we were asked to work in.
_MISLEADING = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CEILING_DIRECTORIES",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_EXTERNAL_DIFF",
    "GIT_TRACE",
)

_FSCK = f"mend what `git fsck` complains of, {AGAIN}"
_NO_FILE = ("040000", "160000")
"""A directory, and a repository in the repository."""
_FIX = f"mend what git complains of (room on the disk? a permission?), {AGAIN}"

ABSENT = ""
"""As the old value of a ref: it must not exist yet."""


class RefMoved(GitError):
    """A compare-and-swap found another value than the one we last saw."""


class GitKilled(GitError):
    """A git call was killed, which says nothing of what it did, and its lock files may still be there."""


class Unreadable(GitError):
    """A commit has the file, and git cannot read it."""


class Change(NamedTuple):
    """One path that differs between a commit and an index."""

    path: str
    old_mode: str
    new_mode: str
    old_blob: str
    new_blob: str
    letter: str


class Dirt(NamedTuple):
    """What a working tree holds beyond its commit."""

    staged: tuple[str, ...] = ()
    unstaged: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    conflicted: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        return not (self.staged or self.unstaged or self.untracked or self.conflicted)

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(sorted({*self.staged, *self.unstaged, *self.untracked, *self.conflicted}))


class Git:
    """A repository seen from one of its working trees."""

    def __init__(self, root: str, git_dir: str, common_dir: str) -> None:
        self.root = root
        self.git_dir = git_dir
        self.common_dir = common_dir
        self._environment = _environment()
        self._settings: dict[tuple[str, ...], str] = {}

    # -- running -------------------------------------------------------------------------------------

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        index: str = "",
        expect: tuple[int, ...] = (0,),
        terminal: bool = False,
    ) -> bytes:
        return self.answer(*arguments, stdin=stdin, index=index, expect=expect, terminal=terminal)[1]

    def answer(
        self,
        *arguments: str,
        stdin: bytes = b"",
        index: str = "",
        expect: tuple[int, ...] = (0,),
        terminal: bool = False,
    ) -> tuple[int, bytes]:
        """Exit code and output; a code that is not expected is a GitError with git's own words.

        `index` is the index file to use instead of the user's. `terminal` leaves the call in our process
        group, for a signing program that asks for a passphrase.
        """
        environment = {**self._environment, "GIT_INDEX_FILE": index} if index else self._environment
        argv = ["git", "-C", self.root, "--no-optional-locks", *_OPTIONS, *arguments]
        done = capture(argv, env=environment, stdin=stdin, own_group=not terminal)
        if done.code < 0:
            raise GitKilled(f"git {arguments[0]} was killed by signal {-done.code}", fix=_FIX)
        if done.code not in expect:
            words = _words(done.err)
            last = words.rpartition("\n")[2]
            raise GitError(f"git {arguments[0]} failed ({done.code}): {last}", stderr=words, fix=_FIX)
        return done.code, done.out

    def text(self, *arguments: str, expect: tuple[int, ...] = (0,), index: str = "") -> str:
        return os.fsdecode(self.run(*arguments, expect=expect, index=index)).rstrip("\n")

    # -- looking -------------------------------------------------------------------------------------

    def resolve(self, revision: str) -> str | None:
        return self.text("rev-parse", "--verify", "--quiet", revision, expect=(0, 1)) or None

    def current_branch(self) -> str | None:
        """Full name of the branch HEAD is on (which may have no commit yet); None when detached."""
        return self.text("symbolic-ref", "--quiet", "HEAD", expect=(0, 1)) or None

    def refs(self, *patterns: str) -> dict[str, str]:
        listing = self.text("for-each-ref", "--format=%(refname) %(objectname)", *patterns)
        return dict(line.split(" ", 1) for line in listing.splitlines())

    def blob(self, revision_and_path: str) -> bytes | None:
        """None for what is not there or is damaged."""
        code, out = self.answer("cat-file", "blob", revision_and_path, expect=(0, 128))
        return out if code == 0 else None

    def objects(self, names: Sequence[str]) -> list[bytes | None]:
        """The contents of several objects by one call, None for what is not there, damaged or a directory.

        A name with a newline cannot be asked for in this way, and is asked for by itself.
        """
        asked = b"".join(b"\n" if "\n" in name else os.fsencode(name) + b"\n" for name in names)
        code, answer = self.answer("cat-file", "--batch", stdin=asked, expect=(0, 128))
        found = _parse_batch(answer) if code == 0 else (self.blob(name) for name in names)
        return [self.blob(name) if "\n" in name else data for name, data in zip(names, found, strict=True)]

    def files_in(self, commit: str, paths: Sequence[str]) -> dict[str, bytes | None]:
        """None for what the commit does not have. What it has and git cannot read is an error: who took it
        for absent would do again what is done."""
        found = dict(zip(paths, self.objects([f"{commit}:{path}" for path in paths]), strict=True))
        absent = [path for path, data in found.items() if data is None]
        if absent and (lost := self._listed(commit, absent)):
            known = self.resolve(commit) or commit
            raise Unreadable(f"git cannot read {', '.join(lost)} at {known[:12]}", fix=_FSCK)
        return found

    def file_in(self, commit: str, path: str) -> bytes | None:
        return self.files_in(commit, [path])[path]

    def _listed(self, commit: str, paths: Sequence[str]) -> list[str]:
        """Those that are files there; all of them where the commit or a directory of it is damaged."""
        code, rows = self.answer("ls-tree", "-z", "--full-tree", commit, "--", *paths, expect=(0, 1, 128))
        if code:
            known, _ = self.answer(
                "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}", expect=(0, 1, 128)
            )
            return [] if known == 1 else list(paths)
        return [path for path, (mode, _) in _parse_tree(rows) if mode not in _NO_FILE]

    def entry(self, commit: str, path: str) -> tuple[str, str] | None:
        """(mode, blob) of a path in a commit."""
        rows = self.run("ls-tree", "-z", "--full-tree", commit, "--", path)
        return dict(_parse_tree(rows)).get(path)

    def is_ancestor(self, older: str, newer: str) -> bool:
        return self.answer("merge-base", "--is-ancestor", older, newer, expect=(0, 1))[0] == 0

    def dirt(self) -> Dirt:
        return _parse_status(self.run("status", "--porcelain=v2", "-z", "--untracked-files=all"))

    def ignored(self, paths: Sequence[str]) -> list[str]:
        """Those of the paths that git would not add."""
        if not paths:
            return []
        asked = b"\0".join(map(os.fsencode, paths))
        _, out = self.answer("check-ignore", "-z", "--stdin", stdin=asked, expect=(0, 1))
        found = set(map(os.fsdecode, out.split(b"\0")))
        return [path for path in paths if path in found]

    def version(self) -> tuple[int, int]:
        import re  # only those ask who want something that not every git can do

        found = re.search(r"(\d+)\.(\d+)", self._setting("version"))
        return (int(found[1]), int(found[2])) if found else (0, 0)

    def config(self, key: str, *, kind: str = "") -> str:
        typed = (f"--type={kind}",) if kind else ()
        return self._setting("config", *typed, "--get", key, expect=(0, 1))

    def git_path(self, name: str) -> str:
        path = self._setting("rev-parse", "--git-path", name)
        return os.path.normpath(os.path.join(self.root, path))

    def _setting(self, *question: str, expect: tuple[int, ...] = (0,)) -> str:
        """Asked once: a run goes by the configuration it first saw. A change takes effect with the next."""
        if question not in self._settings:
            self._settings[question] = self.text(*question, expect=expect)
        return self._settings[question]

    # -- writing objects -----------------------------------------------------------------------------

    def write_blob(self, data: bytes) -> str:
        return self.run("hash-object", "-w", "--stdin", stdin=data).decode("ascii").strip()

    def set_entries(self, index: str, rows: Iterable[tuple[str, str, str]]) -> None:
        """Put (mode, blob, path) into an index; a mode of 0 removes the path."""
        lines = b"".join(
            f"{mode} {blob}\t".encode("ascii") + os.fsencode(p) + b"\0" for mode, blob, p in rows
        )
        self.run("update-index", "-z", "--index-info", stdin=lines, index=index)

    def changes(self, commit: str, index: str) -> tuple[Change, ...]:
        raw = self.run(
            "diff-index", "--cached", "--raw", "-z", "--no-renames", "--abbrev=64", commit, index=index
        )
        return tuple(_parse_raw(raw))

    def changes_between(self, old: str, new: str) -> tuple[Change, ...]:
        raw = self.run("diff-tree", "-r", "--raw", "-z", "--no-renames", "--abbrev=64", old, new)
        return tuple(_parse_raw(raw))

    def write_tree(self, index: str) -> str:
        return self.text("write-tree", index=index)

    # -- moving refs ---------------------------------------------------------------------------------

    def move_ref(
        self, ref: str, new: str, old: str, reason: str, *, fault: str, log: bool = True, along: str = ""
    ) -> None:
        """Compare-and-swap, durable on return. `old` is what we last saw; `log` sees to it that the ref has a
        reflog, whatever the user's settings. The ref `along` is set to the same, by the same transaction."""
        faults.point(f"{fault}.before")
        order = ("update-ref", "-m", f"holdfast: {reason}", *(("--create-reflog",) if log else ()))
        try:
            if along:
                both = f"update {ref} {new} {old}\nupdate {along} {new}\n"
                self.run(*order, "--stdin", stdin=both.encode())
            else:
                self.run(*order, ref, new, old)
        except GitKilled:
            raise
        except GitError as error:
            found = self.resolve(ref) or ABSENT
            if found not in (old, new):
                raise RefMoved(f"{ref} is at {found[:12]}, not at {old[:12]} as expected") from error
            if found != new:
                raise
        self._fsync_ref(ref)
        faults.point(f"{fault}.after")

    def delete_refs(self, refs: Mapping[str, str], *, fault: str) -> None:
        if not refs:
            return
        faults.point(f"{fault}.before")
        orders = b"".join(f"delete {ref} {old}\n".encode() for ref, old in refs.items())
        self.run("update-ref", "--stdin", stdin=orders)
        faults.point(f"{fault}.after")

    def _fsync_ref(self, ref: str) -> None:
        directory = os.path.dirname(os.path.join(self.common_dir, ref))
        if os.path.isdir(directory):
            files.fsync_directory(directory)


def find_repository(path: str) -> Git:
    """The repository whose working tree holds `path`, or an error that says why there is none."""
    environment = _environment()
    directory = path if os.path.isdir(path) else os.path.dirname(path) or "."
    try:
        questions = ("--is-bare-repository", "--git-dir", "--git-common-dir", "--show-toplevel")
        argv = ("git", "-C", directory, "rev-parse", "--path-format=absolute", *questions)
        done = capture(argv, env=environment)
    except FileNotFoundError as error:
        raise UsageError("git is not installed", fix="install git 2.34 or newer") from error
    lines = os.fsdecode(done.out).splitlines()
    if lines and lines[0] == "true":
        raise Refused(
            f"{directory} is a bare repository: there is no working tree to run in",
            fix="clone it and run there",
        )
    if done.code != 0:
        words = done.err.decode("utf-8", "replace").strip().splitlines()
        raise Refused(
            f"{directory} is not in a git working tree ({words[0] if words else 'git does not say why'})",
            fix="cd into the repository, or make one: git init && git add -A && git commit -m 'Start'",
        )
    return Git(lines[3], lines[1], lines[2])


def _words(stderr: bytes) -> str:
    """What git said, without its remark on a setting that only older ones need."""
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    return "\n".join(line for line in lines if "core.fsyncObjectFiles is deprecated" not in line)


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
    return kept | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": ":"}


def _parse_status(raw: bytes) -> Dirt:
    staged, unstaged, untracked, conflicted = [], [], [], []
    rows = iter(os.fsdecode(raw).split("\0"))
    for row in rows:
        kind = row[:1]
        if kind == "?":
            untracked.append(row[2:])
        elif kind == "u":
            conflicted.append(row.split(" ", 10)[10])
        elif kind in ("1", "2"):
            path = row.split(" ", 8)[8] if kind == "1" else row.split(" ", 9)[9]
            if kind == "2":
                next(rows)  # the name it was renamed from
            if row[2] != ".":
                staged.append(path)
            if row[3] != ".":
                unstaged.append(path)
    return Dirt(tuple(staged), tuple(unstaged), tuple(untracked), tuple(conflicted))


def _parse_batch(answer: bytes) -> Iterator[bytes | None]:
    at = 0
    while at < len(answer):
        end = answer.index(b"\n", at)
        _, kind, size = (b"  " + answer[at:end]).rsplit(b" ", 2)
        at = end + 1
        if size.isdigit():
            yield None if kind == b"tree" else answer[at : at + int(size)]
            at += int(size) + 1
        else:  # "… missing", "… ambiguous"
            yield None


def _parse_tree(rows: bytes) -> Iterator[tuple[str, tuple[str, str]]]:
    for row in filter(None, rows.split(b"\0")):
        head, _, name = row.partition(b"\t")
        mode, _, blob = head.decode("ascii").split()
        yield os.fsdecode(name), (mode, blob)


def _parse_raw(raw: bytes) -> Iterator[Change]:
    fields = iter(os.fsdecode(raw).split("\0"))
    for head in fields:
        if not head:
            return
        old_mode, new_mode, old_blob, new_blob, letter = head[1:].split(" ")
        yield Change(next(fields), old_mode, new_mode, old_blob, new_blob, letter)
