import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from scratch import Cli, Repo, Result


def findings(result: Result) -> dict[str, dict[str, str]]:
    return {found["check"]: found for found in map(json.loads, result.out.splitlines())}


def levels(result: Result) -> dict[str, str]:
    return {check: found["level"] for check, found in findings(result).items()}


def test_a_sound_repository_is_ready_to_run(cli: Cli, repo: Repo) -> None:
    repo.write("holdfast.toml", "agent_cmd = 'true --fast'\n")
    result = cli("doctor")
    assert (result.code, result.err) == (0, "")
    assert "fail" not in result.out
    assert "ok    config      agent: true --fast (holdfast.toml:1)\n" in result.out
    assert "\nready to run" in result.out


def test_json_is_one_object_per_check_with_nothing_around_it(cli: Cli, repo: Repo) -> None:
    result = cli("doctor", "--json")
    checks = [
        "git",
        "supervisor",
        "agents",
        "repository",
        "branch",
        "identity",
        "config",
        "disk",
        "state",
        "locks",
    ]
    assert list(findings(result)) == checks
    assert findings(result)["branch"] == {"check": "branch", "level": "ok", "found": "main", "fix": ""}


def test_it_leaves_the_repository_as_it_was(cli: Cli, repo: Repo) -> None:
    before = sorted(repo.path.rglob("*")), (repo.path / ".git" / "index").stat().st_mtime_ns
    cli("doctor")
    assert (sorted(repo.path.rglob("*")), (repo.path / ".git" / "index").stat().st_mtime_ns) == before


def test_outside_a_repository_is_a_failure_with_its_fix(cli: Cli, tmp_path: Path) -> None:
    result = cli("doctor", cwd=tmp_path)
    assert result.code == 3
    assert "fail  repository  fatal: not a git repository" in result.out
    assert "fix: change to your project's directory" in result.out
    assert "1 to fix before a run can start" in result.out


def test_a_repository_without_commits_fails(cli: Cli, repo: Repo) -> None:
    repo.git("checkout", "--quiet", "--orphan", "empty")
    result = cli("doctor", "--json")
    assert (result.code, findings(result)["repository"]["found"]) == (3, "no commits yet")


def test_a_bare_repository_fails(cli: Cli, repo: Repo, tmp_path: Path) -> None:
    repo.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare"))
    assert levels(cli("doctor", "--json", cwd=tmp_path / "bare"))["repository"] == "fail"


def test_a_detached_head_fails(cli: Cli, repo: Repo) -> None:
    repo.git("checkout", "--quiet", "--detach")
    result = cli("doctor", "--json")
    assert (result.code, levels(result)["branch"]) == (3, "fail")


def test_an_unknown_committer_fails(cli: Cli, repo: Repo) -> None:
    nobody = {key: value for key, value in repo.env.items() if not key.endswith(("_NAME", "_EMAIL"))}
    result = Cli(repo.path, nobody)("doctor", "--json")
    assert (result.code, levels(result)["identity"]) == (3, "fail")
    repo.git("config", "user.name", "A")
    assert levels(Cli(repo.path, nobody)("doctor", "--json"))["identity"] == "fail"
    repo.git("config", "user.email", "a@example.com")
    assert findings(Cli(repo.path, nobody)("doctor", "--json"))["identity"]["found"] == "A <a@example.com>"


def test_a_bad_configuration_fails_with_the_words_of_its_error(cli: Cli, repo: Repo) -> None:
    repo.write("holdfast.toml", "max_attempts = 0\n")
    result = cli("doctor", "--json")
    assert result.code == 3
    config = findings(result)["config"]
    assert (config["level"], config["found"]) == ("fail", "holdfast.toml:1: max_attempts is 0")
    assert config["fix"] == "it takes a whole number from 1 to 100"


def test_left_over_locks_are_named_with_their_age(cli: Cli, repo: Repo) -> None:
    for name in ("index.lock", "refs/heads/main.lock"):
        lock = repo.write(f".git/{name}", "")
        os.utime(lock, (lock.stat().st_mtime - 3600,) * 2)
    result = cli("doctor")
    assert result.code == 0
    for name in ("index.lock", "refs/heads/main.lock"):
        assert f"warn  locks       {repo.path}/.git/{name} is 60 min old" in result.out
        assert f"rm {repo.path}/.git/{name}\n" in result.out


def test_locks_of_a_linked_worktree_are_found(cli: Cli, repo: Repo, tmp_path: Path) -> None:
    repo.git("worktree", "add", "--quiet", str(tmp_path / "linked"))
    repo.write(".git/worktrees/linked/index.lock", "")
    assert levels(cli("doctor", "--json", cwd=tmp_path / "linked"))["locks"] == "warn"


def programs(directory: Path, **scripts: str) -> dict[str, str]:
    """A PATH with these programs on it and no others."""
    directory.mkdir()
    for name, script in scripts.items():
        (directory / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (directory / name).chmod(0o755)
    return {"PATH": str(directory)}


def test_agents_on_the_path_are_listed(cli: Cli, tmp_path: Path) -> None:
    git = f'exec {shutil.which("git")} "$@"'
    path = programs(tmp_path / "bin", git=git, claude="", aider="")
    assert findings(cli("doctor", "--json", env=path))["agents"]["found"].startswith("claude, aider on PATH")


def test_no_agent_at_all_is_only_a_warning(cli: Cli, tmp_path: Path) -> None:
    path = programs(tmp_path / "bin", git=f'exec {shutil.which("git")} "$@"')
    result = cli("doctor", "--json", env=path)
    assert (result.code, levels(result)["agents"]) == (0, "warn")


def test_an_old_git_fails(cli: Cli, tmp_path: Path) -> None:
    path = programs(
        tmp_path / "bin",
        git=f'[ "$1" = --version ] && echo git version 2.33.8 || exec {shutil.which("git")} "$@"',
    )
    result = cli("doctor", "--json", env=path)
    assert (result.code, findings(result)["git"]["found"]) == (3, "git version 2.33.8 is too old")


def test_a_missing_git_fails_and_ends_the_checks(cli: Cli, tmp_path: Path) -> None:
    result = cli("doctor", "--json", env=programs(tmp_path / "bin"))
    assert result.code == 3
    assert list(findings(result)) == ["git", "supervisor", "agents"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_state_directory_we_may_not_write_fails(cli: Cli, repo: Repo) -> None:
    (repo.path / ".git" / "holdfast").mkdir(mode=0o555)
    result = cli("doctor", "--json")
    assert (result.code, levels(result)["state"]) == (3, "fail")


@pytest.mark.skipif(sys.platform != "linux", reason="the child subreaper is Linux's")
def test_linux_supports_the_supervisor(cli: Cli) -> None:
    assert levels(cli("doctor", "--json"))["supervisor"] == "ok"
