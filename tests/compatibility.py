"""What docs/COMPATIBILITY.md promises is held to the tests it names: as a plugin, when the whole suite runs.

Only a session that would end well is looked at: one with failures has said enough. With several workers this
happens in the main process, which gets the reports of all.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

DOCUMENT = "docs/COMPATIBILITY.md"
TABLE_ROW = re.compile(r"^\| ([A-Z])(\d+) \| (.+) \| (.+) \| (.*) \|$", re.MULTILINE)
NAMED_TEST = re.compile(r"`(tests/[\w/]+\.py::test_\w+)`")
WHOLE = ("", "not crash")
"""What `make test` selects: everything but the long sweeps."""
NARROWING = ("keyword", "deselect", "ignore", "ignore_glob", "lf", "stepwise", "collectonly")
NOT_SHOWN = pytest.StashKey[list[str]]()


class Row(NamedTuple):
    letter: str
    number: int
    asked: str
    status: str
    tests: tuple[str, ...]


def rows(root: Path) -> list[Row]:
    text = (root / DOCUMENT).read_text(encoding="utf-8")
    return [
        Row(letter, int(number), asked, status, tuple(NAMED_TEST.findall(tests)))
        for letter, number, asked, status, tests in TABLE_ROW.findall(text)
    ]


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or exitstatus != pytest.ExitCode.OK or not _is_whole(session.config):
        return
    missing = _not_passed(rows(session.config.rootpath), reporter.stats.get("passed", []))
    if missing:
        session.config.stash[NOT_SHOWN] = missing
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    missing = terminalreporter.config.stash.get(NOT_SHOWN, [])
    if missing:
        terminalreporter.section(f"named in {DOCUMENT}, but not run or skipped", red=True)
    for test in missing:
        terminalreporter.write_line(test)


def _is_whole(config: pytest.Config) -> bool:
    """Neither files nor names nor marks were chosen, but those that `make test` leaves out."""
    narrowed = any(config.getoption(name, None) for name in NARROWING)
    everywhere = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return everywhere and not narrowed and config.getoption("markexpr") in WHOLE


def _not_passed(named: Iterable[Row], passed: Iterable[pytest.TestReport]) -> list[str]:
    shown = {report.nodeid.partition("[")[0] for report in passed}
    return sorted({test for row in named for test in row.tests} - shown)
