from pathlib import Path

from scratch import Cli, run

PROMISES = (
    "the agent and its server are gone too",
    "four tasks, four commits, in the order of the plan",
    "each commit has its own mark in the plan and its own files",
    "the half-written file is kept under rescue, to the byte",
    "the tree is clean and nothing is staged",
    "git fsck finds nothing wrong",
    "no process of the agent is left",
    "once more changes nothing",
)


def test_the_demo_keeps_every_promise_it_shows(cli: Cli, tmp_path: Path) -> None:
    # What would spoil it, were it not cut off from the user's own settings.
    spoilers = {"GIT_DIR": "/nowhere", "HOLDFAST_MAX_ATTEMPTS": "7", "HOLDFAST_AGENT_CMD": "false"}
    result = cli("demo", "--keep", str(tmp_path / "kept"), env=spoilers, cwd=tmp_path)
    assert (result.code, result.err) == (0, "")
    ticked = [line for line in result.out.splitlines() if line.startswith("   ✓ ")]
    assert len(ticked) == len(PROMISES)
    assert all(promise in line for promise, line in zip(PROMISES, ticked, strict=True))
    assert "✗" not in result.out and "\x1b" not in result.out
    assert "recovered: task T3: " in result.out
    assert f"cd {tmp_path}/kept/wordcount" in result.out
    log = run(("git", "log", "--format=%s"), cwd=tmp_path / "kept" / "wordcount", env=cli.env)
    assert len(log.out.splitlines()) == 5


def test_the_demo_makes_nothing_in_a_directory_that_is_in_use(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").touch()
    result = cli("demo", "--keep", str(tmp_path / "full"))
    assert (result.code, "is not empty" in result.err) == (2, True)
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["thesis.txt"]


def test_a_place_that_cannot_be_used_is_said(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = cli("demo", "--keep", str(tmp_path / "file" / "below"))
    assert result.code == 2
    assert result.err.endswith("below cannot be used: Not a directory\n  fix: name a new directory\n")
