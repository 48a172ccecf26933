"""docs/COMPATIBILITY.md names tests that exist, and a run of the whole suite fails when one did not run."""

import ast
import os
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from compatibility import rows
from scratch import Result, run

ROOT = Path(__file__).resolve().parent.parent
STATUSES = ("yes", "partly: ", "differently: ", "no: ")


def test_rows_are_numbered_and_have_a_status() -> None:
    found = rows(ROOT)
    for letter, of_one_tool in groupby(found, key=lambda row: row.letter):
        numbers = [row.number for row in of_one_tool]
        assert numbers == list(range(1, len(numbers) + 1)), letter
    assert "".join(dict.fromkeys(row.letter for row in found)) == "FIARB"
    odd = [f"{row.letter}{row.number}" for row in found if not row.status.startswith(STATUSES)]
    assert not odd, f"the status of these rows does not begin with one of {STATUSES}: {odd}"


def test_what_is_there_is_shown_by_a_test() -> None:
    unshown = [
        f"{row.letter}{row.number}: {row.asked}"
        for row in rows(ROOT)
        if row.status.startswith(("yes", "partly")) and not row.tests
    ]
    assert not unshown, "name a test that shows it, or call it `no`:\n" + "\n".join(unshown)


def test_every_test_named_exists() -> None:
    named = {test for row in rows(ROOT) for test in row.tests}
    assert len(named) > 50, "the pattern that finds tests no longer fits the document"
    files = {test.partition("::")[0] for test in named}
    there_are = {f"{file}::{name}" for file in files for name in _functions(ROOT / file)}
    assert not named - there_are, f"correct in docs/COMPATIBILITY.md: {sorted(named - there_are)}"


def _functions(file: Path) -> Iterator[str]:
    if file.exists():
        tree = ast.parse(file.read_text(encoding="utf-8"))
        yield from (node.name for node in tree.body if isinstance(node, ast.FunctionDef))


# -- the plugin, on a small project ------------------------------------------------------------------

TESTS = """\
import pytest

def test_passes(): pass

@pytest.mark.parametrize("n", [1, 2])
def test_several(n): pass

@pytest.mark.skip(reason="not here")
def test_skipped(): pass

@pytest.mark.crash
def test_sweep(): pass
"""
NAMED = ("passes", "several", "skipped", "sweep", "gone")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    settings = "[pytest]\ntestpaths = tests\nmarkers = crash: long\naddopts = -p compatibility\n"
    (tmp_path / "pytest.ini").write_text(settings)
    for folder in ("docs", "tests"):
        (tmp_path / folder).mkdir()
    (tmp_path / "tests/test_it.py").write_text(TESTS)
    return tmp_path


def _document(project: Path, *names: str) -> None:
    lines = [f"| X{n} | this | yes | `tests/test_it.py::test_{name}` |" for n, name in enumerate(names, 1)]
    (project / "docs/COMPATIBILITY.md").write_text("\n".join(lines))


def _pytest(project: Path, *options: str) -> Result:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "tests"), "PYTHONDONTWRITEBYTECODE": "1"}
    return run((sys.executable, "-m", "pytest", *options), cwd=project, env=env)


@pytest.mark.parametrize("options", [(), ("-n", "1")])
def test_a_whole_run_fails_with_the_names_of_tests_that_did_not_pass(
    project: Path, options: tuple[str, ...]
) -> None:
    _document(project, *NAMED)
    result = _pytest(project, "-m", "not crash", *options)
    assert result.code == 1, result.out + result.err
    listed = result.out.partition("but not run or skipped")[2]
    assert [name for name in NAMED if f"tests/test_it.py::test_{name}\n" in listed] == [
        "skipped",
        "sweep",
        "gone",
    ]


def test_a_whole_run_in_which_every_named_test_passed_ends_well(project: Path) -> None:
    _document(project, "passes", "several", "sweep")
    result = _pytest(project)
    assert result.code == 0, result.out + result.err


@pytest.mark.parametrize(
    "options",
    [("-k", "several"), ("-m", "crash"), ("tests/test_it.py",), ("--deselect", "tests/test_it.py::x")],
)
def test_of_a_part_of_the_suite_nothing_is_demanded(project: Path, options: tuple[str, ...]) -> None:
    _document(project, *NAMED)
    result = _pytest(project, *options)
    assert result.code == 0, result.out + result.err
