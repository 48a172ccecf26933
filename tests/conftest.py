from pathlib import Path

import pytest

from scratch import Cli, Repo, hermetic_environment, scratch_repo


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return hermetic_environment(tmp_path / "home")


@pytest.fixture
def repo(tmp_path: Path, environment: dict[str, str]) -> Repo:
    return scratch_repo(tmp_path / "repo", environment)


@pytest.fixture
def cli(repo: Repo) -> Cli:
    """`holdfast` in the scratch repository, unless told another directory."""
    return Cli(repo.path, repo.env)
