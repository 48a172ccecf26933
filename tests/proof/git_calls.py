"""The sweep over git calls: a `git` first on PATH that counts the runner's calls and spoils the Nth.

Portable: nothing but a POSIX shell. Agents, gates and hooks use git too; theirs are told by their token and
passed through.
"""

import os
import shutil
from pathlib import Path

from proof.scene import Scene
from proof.sweep import Struck
from scratch import Result

_BY_HAND = (
    '{git} -C "{repo}" update-ref -m "commit: By hand" HEAD '
    '$({git} -C "{repo}" commit-tree "HEAD^{{tree}}" -p HEAD -m "By hand") && : > "{by_hand}"; '
)
"""A commit of the user's own, of what HEAD holds already, so that neither index nor tree has to follow."""
DEATHS = {
    "kill before": "kill -9 $PPID; exit 1",
    "kill during": 'kill -9 $PPID; sleep 0.1; exec {git} "$@"',
    "kill after": '{git} "$@"; code=$?; kill -9 $PPID; exit $code',
    "fail": 'echo "fatal: spoilt by the test" >&2; exit 128',
}
WAYS = {**DEATHS, "a commit before": _BY_HAND + 'exec {git} "$@"'}
"""What becomes of the chosen call. `during`: the runner dies, its git lives on for a while."""

# Calls at the same moment must not get the same number: each adds a line, then sees which one it is.
_WRAPPER = """\
#!/bin/sh
test -z "$HOLDFAST_TOKEN" || exec {git} "$@"
echo $$ >> "{calls}"
lines=0
while read -r caller; do lines=$((lines + 1)); test $caller = $$ && count=$lines; done < "{calls}"
echo $count "$*" >> "{words}"
test $count = "$SPOILT_CALL" || exec {git} "$@"
echo "$*" > "{hit}"
{way}
"""


def count_calls(scene: Scene) -> int:
    result = _run(scene, 0, "fail")
    assert result.code == 0, result.out + result.err
    return len((scene.root / "git-calls").read_text().splitlines())


def calls_with(scene: Scene, *words: str) -> list[int]:
    """The numbers of those calls of a run to its end that have all these words."""
    result = _run(scene, 0, "fail")
    assert result.code == 0, result.out + result.err
    lines = (scene.root / "git-words").read_text().splitlines()
    return [int(line.split()[0]) for line in lines if set(words) <= set(line.split())]


def strike_call(way: str, scene: Scene, point: int) -> Struck:
    result = _run(scene, point, way)
    hit = scene.root / "git-hit"
    where = f"{way}: git {_without_options(hit.read_text())}" if hit.exists() else ""
    return Struck(result.code, result.out + result.err, where)


def _run(scene: Scene, point: int, way: str) -> Result:
    directory = scene.root / "bin"
    directory.mkdir(exist_ok=True)
    (scene.root / "git-calls").write_text("")
    _write_wrapper(directory / "git", scene, way)
    path = f"{directory}{os.pathsep}{scene.repo.env['PATH']}"
    result = scene.run(PATH=path, SPOILT_CALL=str(point))
    shutil.rmtree(directory)
    return result


def _write_wrapper(path: Path, scene: Scene, way: str) -> None:
    git = shutil.which("git")
    what = WAYS[way].format(git=git, repo=scene.repo.path, by_hand=scene.by_hand)
    files = {name: scene.root / f"git-{name}" for name in ("calls", "hit", "words")}
    path.write_text(_WRAPPER.format(git=git, way=what, **files))
    path.chmod(0o755)


def _without_options(words: str) -> str:
    return " ".join(w for w in words.split() if w != "-c" and "=" not in w)[:200].strip()
