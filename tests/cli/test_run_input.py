"""Bad input to `run`: exit 2 or 3 with file, line and fix; never a traceback."""

import pytest

from scratch import Cli, Repo

AGENT = ("--agent-cmd", "true")


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (b"", 2, "plan.md"),
        (b"# Nothing to do\n", 2, "- [ ]"),
        (b"- [ ] T1 One\n- [ ] T1 Two\n", 2, "plan.md:2"),
        (b"- [ ] T1 One\n  depends: T9\n", 2, "T9"),
        (b"- [ ] T1 One\n  depends: T2\n- [ ] T2 Two\n  depends: T1\n", 2, "T1"),
        (b"- [ ] One\n<<<<<<< HEAD\n- [ ] Two\n=======\n- [ ] Three\n>>>>>>> x\n", 2, "plan.md:2"),
        (b"- [ ] One\n- [ ] caf\xe9\n", 2, "plan.md:2"),
    ],
)
def test_a_plan_that_does_not_parse_names_the_line_and_the_fix(
    repo: Repo, cli: Cli, text: bytes, code: int, words: str
) -> None:
    repo.write("plan.md", text)
    repo.commit("plan")
    result = cli("run", "plan.md", *AGENT)
    assert result.code == code, result.out + result.err
    assert words in result.err
    assert "fix:" in result.err
    assert "Traceback" not in result.err


def test_a_missing_plan_and_a_plain_directory_are_usage_errors(repo: Repo, cli: Cli) -> None:
    for wanted in ("no-such-plan.md", "."):
        result = cli("run", wanted, *AGENT)
        assert result.code == 2, wanted
        assert "fix:" in result.err


def test_no_plan_given_and_none_run_before(cli: Cli) -> None:
    result = cli("run", *AGENT)
    assert result.code == 2
    assert "holdfast run path/to/plan.md" in result.err


def test_a_plan_outside_the_repository_is_refused(repo: Repo, cli: Cli) -> None:
    (repo.path.parent / "plan.md").write_text("- [ ] One\n")
    result = cli("run", "../plan.md", *AGENT)
    assert result.code == 2
    assert "outside this repository" in result.err


def test_not_a_repository_a_bare_one_an_unborn_branch_and_a_detached_head(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", "- [ ] One\n")
    repo.commit("plan")
    outside = repo.path.parent / "outside"
    outside.mkdir()
    (outside / "plan.md").write_text("- [ ] One\n")
    assert "git init" in _refused(cli, outside)
    repo.git("clone", "--quiet", "--bare", ".", "../bare")
    assert "bare" in _refused(cli, repo.path.parent / "bare")
    unborn = repo.path.parent / "unborn"
    repo.git("init", "--quiet", str(unborn))
    (unborn / "plan.md").write_text("- [ ] One\n")
    assert "no commit yet" in _refused(cli, unborn)
    repo.git("checkout", "--quiet", "--detach")
    assert "detached" in _refused(cli, repo.path)


def _refused(cli: Cli, where: object) -> str:
    from pathlib import Path

    assert isinstance(where, Path)
    result = cli("run", "plan.md", *AGENT, cwd=where)
    assert result.code == 3, result.out + result.err
    assert "fix:" in result.err
    return result.err


def test_an_unknown_configuration_key_names_the_nearest_right_one(repo: Repo, cli: Cli) -> None:
    repo.write("holdfast.toml", "max_atempts = 2\n")
    repo.write("plan.md", "- [ ] One\n")
    repo.commit("plan")
    result = cli("run", "plan.md", *AGENT)
    assert result.code == 2
    assert "holdfast.toml" in result.err
    assert "max_attempts" in result.err


def test_no_agent_says_what_to_type(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", "- [ ] One\n")
    repo.commit("plan")
    result = cli("run", "plan.md")
    assert result.code == 2
    assert "--agent-cmd" in result.err


def test_an_unknown_task_names_near_ones(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", "- [ ] T001 One\n")
    repo.commit("plan")
    result = cli("run", "plan.md", *AGENT, "--only", "T01")
    assert result.code == 2
    assert "T001" in result.err


def test_no_identity_is_said_before_anything_happens(repo: Repo, cli: Cli) -> None:
    repo.write("plan.md", "- [ ] One\n")
    repo.commit("plan")
    nobody = {f"GIT_{role}_{what}": "" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    repo.git("config", "user.useConfigOnly", "true")
    result = cli("run", "plan.md", *AGENT, env=nobody)
    assert result.code == 3, result.out + result.err
    assert "git config user.name" in result.err
