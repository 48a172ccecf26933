from pathlib import Path

import pytest

from scratch import Cli, Repo, hermetic_environment, scratch_repo

pytest_plugins = ["compatibility"]


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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The figures of the sweeps, and which real agents were driven. Here because it is the only conftest that
    the main process of a parallel run reads."""
    from proof.table import table

    reports = [r for name in ("passed", "failed") for r in terminalreporter.stats.get(name, [])]
    rows = [value for r in reports for name, value in r.user_properties if name == "sweep"]
    controls = [value for r in reports for name, value in r.user_properties if name == "control"]
    driven = sorted({value for r in reports for name, value in r.user_properties if name == "driven"})
    for line in (*table(rows, controls), *(f"drove {program}" for program in driven)):
        terminalreporter.write_line(line)
