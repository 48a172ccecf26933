"""The states a working tree can be in when somebody pulls the plug: each function brings one about."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from scratch import Repo, run

State = Callable[[Repo], None]

LARGE = 100 << 20


def bytes_git(repo: Repo, *words: bytes) -> None:
    """For names that are no text."""
    subprocess.run([b"git", *words], cwd=repo.path, env=repo.env, check=True, capture_output=True)


def staged(repo: Repo) -> None:
    repo.write("README.md", "staged\n")
    repo.write("new.txt", "staged, then changed once more\n")
    repo.git("add", "--all")
    repo.write("new.txt", "the version in the tree\n")


def unstaged(repo: Repo) -> None:
    repo.write("README.md", "changed\n")


def untracked(repo: Repo) -> None:
    repo.write("a/b/c.txt", "new\n")
    repo.write(".env", "secret\n").chmod(0o600)
    (repo.path / "empty/below").mkdir(parents=True)


def deleted(repo: Repo) -> None:
    repo.write("dir/gone.txt", "1\n")
    repo.write("dir/staged.txt", "2\n")
    repo.commit("Two files")
    (repo.path / "dir/gone.txt").unlink()
    repo.git("rm", "--quiet", "dir/staged.txt")


def mode(repo: Repo) -> None:
    repo.write("script", "#!/bin/sh\n")
    repo.commit("A script")
    repo.git("config", "core.fileMode", "false")
    (repo.path / "script").chmod(0o755)


def symlink(repo: Repo) -> None:
    repo.write("target/file", "there\n")
    (repo.path / "link").symlink_to("target")
    repo.commit("A link")
    (repo.path / "link").unlink()
    (repo.path / "link").symlink_to("/nowhere at all")
    (repo.path / "README.md").unlink()
    (repo.path / "README.md").symlink_to("link")


def conflict(repo: Repo) -> None:
    diverge(repo)
    assert run(("git", "merge", "side"), cwd=repo.path, env=repo.env).code == 1
    repo.write("README.md", "half solved\n")


def rebase(repo: Repo) -> None:
    diverge(repo)
    repo.write("stashed.txt", "on main\n")
    repo.commit("Something to stash")
    repo.write("stashed.txt", "changed before the rebase\n")
    words = ("git", "-c", "rebase.autoStash=true", "rebase", "side")
    assert run(words, cwd=repo.path, env=repo.env).code == 1
    repo.git("branch", "--quiet", "-D", "side")
    repo.write("README.md", "half solved\n")


def line_endings(repo: Repo) -> None:
    repo.write(".gitattributes", "*.txt text eol=crlf\n")
    repo.write("unmodified.txt", "one\ntwo\n")
    repo.write("changed.txt", "one\ntwo\n")
    repo.commit("Line endings")
    for name in ("unmodified.txt", "changed.txt"):
        (repo.path / name).unlink()
    repo.git("checkout", "--", ".")
    assert (repo.path / "unmodified.txt").read_bytes() == b"one\r\ntwo\r\n"
    repo.write("changed.txt", b"one\r\nmixed\n")
    repo.write("unmodified-2.txt", "lf\n")
    repo.git("add", "unmodified-2.txt")


def attributes_gone(repo: Repo) -> None:
    """What made the bytes differ from the blob has been removed since."""
    line_endings(repo)
    (repo.path / ".gitattributes").unlink()


def filters(repo: Repo) -> None:
    """A filter that keeps the size, and that loses what it does not understand."""
    repo.git("config", "filter.turn.clean", "tr a-z b-za")
    repo.git("config", "filter.turn.smudge", "tr b-za a-z | tr c d")
    repo.git("config", "filter.turn.required", "true")
    repo.write(".gitattributes", "*.turned filter=turn\n*.id ident\n")
    repo.write("unmodified.turned", "abc\n")
    repo.write("version.id", "$Id$\n")
    for name in ("unmodified.turned", "version.id"):
        os.utime(repo.path / name, (1e9, 1e9))  # so old that git need not look into it again
    repo.commit("Filters")
    repo.write("changed.turned", "xyz\n")
    repo.git("config", "filter.turn.clean", "false")


def file_and_directory_swapped(repo: Repo) -> None:
    repo.write("was-file", "1\n")
    repo.write("was-directory/a", "2\n")
    repo.write("was-directory/b", "3\n")
    repo.commit("Both")
    (repo.path / "was-file").unlink()
    repo.write("was-file/inside", "4\n")
    for name in ("a", "b"):
        (repo.path / "was-directory" / name).unlink()
    (repo.path / "was-directory").rmdir()
    repo.write("was-directory", "5\n")


def exotic_names(repo: Repo) -> None:
    names = [
        b"new\nline",
        b"-rf",
        b"latin-\xe9",
        b'quo"te\\back',
        b"tab\t",
        b" ",
        b"end\r",
        b"%2Egit",
        "日本".encode(),
    ]
    names += [
        b".gitmodules",
        b".gitattributes",
        b"git~1",
        b"x\\.git",
        b"sub/-dash\n/deep\xff",
        b"%",
        b"*",
        b":(top)x",
    ]
    for number, name in enumerate(names):
        path = os.path.join(os.fsencode(repo.path), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(os.fsdecode(path)).write_bytes(b"[x\n%d" % number)
    bytes_git(repo, b"--literal-pathspecs", b"add", b"--", b"new\nline", b"latin-\xe9", b"%")
    os.symlink(b"to\n\xff", os.path.join(os.fsencode(repo.path), b"link\xfe"))


def unborn(repo: Repo) -> None:
    repo.git("checkout", "--quiet", "--orphan", "fresh")
    repo.git("rm", "--quiet", "-r", "--cached", ".")
    repo.write("first.txt", "staged\n")
    repo.git("add", "first.txt")
    repo.write("first.txt", "changed\n")


def sparse(repo: Repo) -> None:
    repo.write("inside/a", "1\n")
    repo.write("outside/b", "2\n")
    repo.commit("Two directories")
    repo.git("sparse-checkout", "set", "inside")
    assert not (repo.path / "outside").exists()
    repo.write("inside/a", "changed\n")


def detached(repo: Repo) -> None:
    first = repo.git("rev-parse", "HEAD")
    repo.write("second.txt", "2\n")
    repo.commit("Second")
    repo.git("checkout", "--quiet", first)
    repo.write("mine.txt", "on no branch\n")
    repo.commit("On no branch")
    repo.write("mine.txt", "and changed\n")


def ignored(repo: Repo) -> None:
    repo.write(".gitignore", "*.log\nbuild/\nlocal.env\n")
    repo.commit("Ignore")
    repo.write("trace.log", "a log\n")
    repo.write("build/out/result", b"\0\1\2")
    repo.write("local.env", "KEY=1\n").chmod(0o600)


def nested_repository(repo: Repo) -> None:
    for name in ("nested", "deep/er"):
        (repo.path / name).mkdir(parents=True)
        inner = Repo(repo.path / name, repo.env)
        inner.git("init", "--quiet", "--initial-branch=main")
        inner.write("committed", "in the nested repository\n")
        inner.commit("Inner")
        inner.write("committed", "changed there\n")
        inner.write("new", "new there\n")


def large_file(repo: Repo) -> None:
    block = bytes(range(256)) * 4096
    with open(repo.path / "large.bin", "wb") as f:
        for number in range(LARGE // len(block)):
            f.write(number.to_bytes(4) + block[4:])


# -- beyond the usual ones -----------------------------------------------------------------------------


def cherry_pick(repo: Repo) -> None:
    diverge(repo)
    assert run(("git", "cherry-pick", "side"), cwd=repo.path, env=repo.env).code == 1
    repo.git("branch", "--quiet", "-D", "side")


def revert(repo: Repo) -> None:
    repo.write("README.md", "2\n")
    repo.commit("Two")
    repo.write("README.md", "3\n")
    repo.commit("Three")
    assert run(("git", "revert", "HEAD^"), cwd=repo.path, env=repo.env).code == 1


def mail(repo: Repo) -> None:
    diverge(repo)
    patch = repo.git("format-patch", "--stdout", "-1", "side")
    result = run(("git", "am", "--3way"), cwd=repo.path, env=repo.env, input=patch + "\n")
    assert result.code != 0
    repo.git("branch", "--quiet", "-D", "side")


def bisect(repo: Repo) -> None:
    first = repo.git("rev-parse", "HEAD")
    for number in range(4):
        repo.write("n", f"{number}\n")
        repo.commit(f"Number {number}")
    repo.git("bisect", "start")
    repo.git("bisect", "bad")
    repo.git("bisect", "good", first)
    repo.write("n", "looked at\n")


def hidden_from_git(repo: Repo) -> None:
    """Changes that git was told not to look at, and one it has only heard of."""
    repo.write("assumed", "1\n")
    repo.write("skipped", "1\n")
    repo.commit("Two files")
    repo.git("update-index", "--assume-unchanged", "assumed")
    repo.git("update-index", "--skip-worktree", "skipped")
    repo.write("assumed", "2\n")
    repo.write("skipped", "2\n")
    repo.write("intended", "3\n")
    repo.git("add", "--intent-to-add", "intended")


def split_index(repo: Repo) -> None:
    repo.write("a", "1\n")
    repo.commit("A")
    repo.git("update-index", "--split-index")
    repo.write("b", "2\n")
    repo.git("add", "b")
    repo.write("a", "changed\n")


def many_files(repo: Repo) -> None:
    """More than are flushed one by one."""
    for number in range(400):
        repo.write(f"many/{number % 7}/{number}", f"{number}\n")


def diverge(repo: Repo) -> None:
    """Branch `side` and branch `main`, in conflict."""
    repo.git("checkout", "--quiet", "-b", "side")
    repo.write("README.md", "from side\n")
    repo.commit("Side")
    repo.git("checkout", "--quiet", "main")
    repo.write("README.md", "from main\n")
    repo.commit("Main")


STATES: list[State] = [
    staged,
    unstaged,
    untracked,
    deleted,
    mode,
    symlink,
    conflict,
    rebase,
    line_endings,
    attributes_gone,
    filters,
    file_and_directory_swapped,
    exotic_names,
    unborn,
    sparse,
    detached,
    ignored,
    nested_repository,
    large_file,
    cherry_pick,
    revert,
    mail,
    bisect,
    hidden_from_git,
    split_index,
    many_files,
]
