import re
from pathlib import Path

from holdfast.cli.init import template
from holdfast.config import load_config
from holdfast.model.settings import SETTINGS
from scratch import Cli, Repo


def test_the_file_is_written_at_the_root_and_changes_nothing_yet(cli: Cli, repo: Repo) -> None:
    (repo.path / "deep").mkdir()
    result = cli("init", cwd=repo.path / "deep")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("wrote ../holdfast.toml: ")
    config = load_config(str(repo.path), {}, {})
    assert set(config.origin.values()) == {"default"}


def test_taking_away_the_comment_signs_gives_every_setting_its_default(tmp_path: Path) -> None:
    text = re.sub(r"^# (\w+ = )", r"\1", template(), flags=re.MULTILINE)
    (tmp_path / "holdfast.toml").write_text(text, encoding="utf-8")
    config, bare = load_config(str(tmp_path), {}, {}), load_config("", {}, {})
    assert set(config.origin) == {setting.key for setting in SETTINGS}
    assert all(re.fullmatch(r"holdfast\.toml:\d+", origin) for origin in config.origin.values())
    shown = config.policy._replace(verify=(), extra_prompt="", agent_env=(), max_cost=0.0)
    assert shown._replace(worktrees="", copied=(), setup="", setup_inputs=(), task_branch="") == bare.policy


def test_an_existing_file_is_kept(cli: Cli, repo: Repo) -> None:
    mine = repo.write("holdfast.toml", "max_attempts = 2\n")
    result = cli("init")
    assert result.code == 3
    assert "holdfast.toml is there already" in result.err and "--force" in result.err
    assert mine.read_text() == "max_attempts = 2\n"


def test_force_replaces_it_and_leaves_nothing_beside_it(cli: Cli, repo: Repo) -> None:
    mine = repo.write("holdfast.toml", "max_attempts = 2\n")
    assert cli("init", "--force").code == 0
    assert mine.read_text() == template()
    assert repo.git("status", "--porcelain") == "?? holdfast.toml"


def test_a_project_configured_elsewhere_gets_no_second_file(cli: Cli, repo: Repo) -> None:
    repo.write("pyproject.toml", "[tool.holdfast]\n")
    result = cli("init", "--force")
    assert result.code == 3
    assert "this project is configured in pyproject.toml" in result.err
    assert not (repo.path / "holdfast.toml").exists()


def test_outside_a_repository_it_says_where_to_go(cli: Cli, tmp_path: Path) -> None:
    result = cli("init", cwd=tmp_path)
    assert result.code == 3
    assert "not in a git working tree" in result.err and "git init" in result.err
