"""A disk that fails is nobody's fault: no attempt is used up, and the run ends with what to do about it."""

import os
import shutil
from pathlib import Path

from invariants import AGENT, Expectation, agent_starts, broken_invariants
from scratch import Cli, Repo, Result

WRAPPER = """\
#!/bin/sh
case "$*" in
  *" add --all"*) echo "error: unable to write file: No space left on device" >&2; exit 128 ;;
esac
exec {git} "$@"
"""


def test_a_full_disk_uses_up_no_attempt_of_the_agents(repo: Repo, cli: Cli, tmp_path: Path) -> None:
    repo.write("plan.md", "- [ ] One\n")
    base = repo.commit("plan")
    ledger = tmp_path / "ledger"

    def run(**env: str) -> Result:
        command = ("run", "plan.md", "--trunk", "--agent-cmd", AGENT)
        return cli(*command, env={"LEDGER": str(ledger), **env})

    full = run(PATH=f"{_full_disk(tmp_path / 'bin')}{os.pathsep}{repo.env['PATH']}")
    assert full.code == 1
    assert "holdfast: git add failed (128): error: unable to write file: No space left" in full.err
    assert "run the same command again" in full.err
    assert agent_starts(ledger) == {"1": 1}
    again = run()
    assert again.code == 0, again.out + again.err
    assert "attempt 1 of 3" in again.out
    assert broken_invariants(repo, Expectation("plan.md", ("1",), base, ledger)) == []


def _full_disk(directory: Path) -> Path:
    directory.mkdir()
    git = directory / "git"
    git.write_text(WRAPPER.format(git=shutil.which("git")))
    git.chmod(0o755)
    return directory
