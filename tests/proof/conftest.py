"""Where sweeps take place, and how their figures get into the table at the end."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proof import disk
from proof.sweep import Tally, Verdict

Settle = Callable[[str, str, list[Verdict]], None]


@pytest.fixture
def arena() -> Iterator[Path]:
    """In memory where there is such a place: a sweep asks for the disk some hundred thousand times."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="sweep-", dir=memory) as directory:
        try:
            yield Path(directory)
        finally:
            disk.eject(Path(directory))


@pytest.fixture
def settle(record_property: Callable[[str, object], None]) -> Settle:
    """Note the figures for the table, then fail if any point failed."""

    def note(sweep: str, mode: str, verdicts: list[Verdict]) -> None:
        failed = [v for v in verdicts if v.problems]
        most = max((v.reruns for v in verdicts), default=0)
        record_property("sweep", list(Tally(sweep, mode, len(verdicts), len(failed), most)))
        assert not failed, "\n\n".join(_words(v) for v in failed)

    return note


def _words(verdict: Verdict) -> str:
    problems = "\n  ".join(verdict.problems)
    return f"point {verdict.point}: {verdict.where}\n  {problems}"
