"""A power cut while an agent used git: its objects are torn, and git cannot read the repository any more."""

import json
import os
from pathlib import Path

import pytest

from invariants import AGENT, Expectation, broken_invariants
from scratch import Cli, Repo, Result

COMMITS = AGENT.replace("<SUCCESS>", "$(git add -A && git commit -qm mine)<SUCCESS>")


class Cut:
    """A run that was killed right after its agent's own commit, and then lost its power."""

    def __init__(self, repo: Repo, cli: Cli, tmp_path: Path, agent: str) -> None:
        self.repo, self._cli, self._ledger, self._agent = repo, cli, tmp_path / "ledger", agent
        repo.write("plan.md", "- [ ] One\n- [ ] Two\n")
        self.base = repo.commit("plan")
        before = self.loose_objects()
        assert self.run(HOLDFAST_FAULT="agent.after").code == -9
        self.made = self.loose_objects() - before
        assert self.made
        self._restart_machine()

    def run(self, **env: str) -> Result:
        command = ("run", "plan.md", "--trunk", "--agent-cmd", self._agent)
        return self._cli(*command, env={"LEDGER": str(self._ledger), **env})

    def loose_objects(self) -> set[Path]:
        return set((self.repo.path / ".git/objects").glob("??/*"))

    def _restart_machine(self) -> None:
        record = next((self.repo.path / ".git/holdfast").rglob("in-flight.json"))
        record.write_text(json.dumps({**json.loads(record.read_text()), "boot": "before the power cut"}))

    def tear(self, *paths: Path) -> None:
        for path in paths:
            path.chmod(0o644)
            os.truncate(path, 0)

    def problems(self) -> list[str]:
        """What the agent had not flushed is lost, and nobody had said that it was kept."""
        lines = self._ledger.read_text().splitlines(keepends=True)
        self._ledger.write_text("".join(line for line in lines if not line.startswith("wrote 1 by")))
        expected = Expectation("plan.md", ("1", "2"), self.base, self._ledger)
        return broken_invariants(self.repo, expected)


@pytest.fixture
def cut(repo: Repo, cli: Cli, tmp_path: Path) -> Cut:
    return Cut(repo, cli, tmp_path, COMMITS)


def test_torn_objects_are_removed_and_the_branch_goes_back_to_the_base(cut: Cut) -> None:
    cut.tear(*cut.made)
    result = cut.run()
    assert result.code == 0, result.out + result.err
    assert "that a power cut tore; removed" in result.out
    assert "put back; the files are in the tree" in result.out
    assert cut.problems() == []


def test_one_torn_blob_is_enough_to_take_the_commit_off_the_branch(cut: Cut) -> None:
    cut.tear(next(path for path in cut.made if cut.repo.git("cat-file", "-t", _name(path)) == "blob"))
    result = cut.run()
    assert result.code == 0, result.out + result.err
    assert cut.problems() == []


def test_an_index_that_cannot_be_read_is_made_anew(cut: Cut) -> None:
    (cut.repo.path / ".git/index").write_bytes(b"")
    result = cut.run()
    assert result.code == 0, result.out + result.err
    assert cut.problems() == []


def test_a_commit_whose_entry_in_the_reflog_is_lost_is_still_the_agents(cut: Cut) -> None:
    log = cut.repo.path / ".git/logs/refs/heads/main"
    kept, _, lost = log.read_bytes().removesuffix(b"\n").rpartition(b"\n")
    log.write_bytes(kept + b"\n" + b"\0" * (len(lost) + 1))
    result = cut.run()
    assert result.code == 0, result.out + result.err
    assert cut.problems() == []


def test_without_a_power_cut_nothing_is_removed(repo: Repo, cli: Cli, tmp_path: Path) -> None:
    cut = Cut(repo, cli, tmp_path, COMMITS)
    result = cut.run()
    assert result.code == 0, result.out + result.err
    assert "power cut tore" not in result.out
    assert cut.problems() == []


def _name(path: Path) -> str:
    return path.parent.name + path.name
