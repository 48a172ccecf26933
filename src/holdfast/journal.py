"""Append-only facts in SQLite. History, never truth: losing this file changes no commit.

So nothing that befalls it may stop a run. A damaged file is moved aside and a fresh one started, a deleted
one is started again, and a write that cannot be made is counted and dropped.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from typing import TypeVar

from holdfast.errors import Refused
from holdfast.model.codec import decode, encode, kind_of
from holdfast.model.events import STORED, VERSION, Entry, Event
from holdfast.system import database

_T = TypeVar("_T")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
  seq INTEGER PRIMARY KEY, at REAL NOT NULL, run TEXT NOT NULL, kind TEXT NOT NULL, task TEXT NOT NULL,
  data TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS entries_by_task ON entries (run, task);
CREATE INDEX IF NOT EXISTS entries_by_kind ON entries (run, kind)
"""
# A fresh file goes on counting where the lost one stopped, so that whoever follows misses nothing.
_INSERT = """
INSERT INTO entries (seq, at, run, kind, task, data)
VALUES ((SELECT max(coalesce(max(seq), 0), ?) + 1 FROM entries), ?, ?, ?, ?, ?)
"""


class Journal:
    """Writes a run's events. Use `Journal.open`."""

    def __init__(self, path: str, now: Callable[[], float]) -> None:
        self.path = path
        self.set_aside: str | None = None
        """Where the last damaged file went."""
        self.failed_writes = 0
        self._now = now
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._last_seq = 0

    @classmethod
    def open(cls, path: str, *, now: Callable[[], float]) -> "Journal":
        """Raises Refused, having written nothing, when a newer Holdfast wrote the file."""
        database.refuse_newer(path, VERSION)
        journal = cls(path, now)
        journal._try(lambda connection: connection.execute("SELECT max(seq) FROM entries").fetchone())
        return journal

    def record(self, run: str, event: Event) -> Entry:
        """Never raises for the disk's sake; an entry that was not stored has seq 0."""
        at, kind = self._now(), kind_of(event)
        if kind not in STORED:
            return Entry(0, at, run, event)
        task = database.storable(getattr(event, "task", ""))
        row = (at, database.storable(run), kind, task, encode(event))
        seq = self._try(lambda connection: connection.execute(_INSERT, (self._last_seq, *row)).lastrowid)
        if seq is None:
            self.failed_writes += 1
            return Entry(0, at, run, event)
        self._last_seq = seq
        return Entry(seq, at, run, event)

    def entries(
        self, run: str = "", after: int = 0, kinds: tuple[str, ...] = (), task: str = ""
    ) -> Iterator[Entry]:
        """In order, as they are read; those of all runs, kinds or tasks where none is named."""
        rows = self._try(lambda connection: _select(connection, run, after, kinds, task))
        try:
            yield from _decoded(rows or iter(()))
        except database.ERRORS as error:
            self._recover(error)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = self._file = None

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _try(self, action: Callable[[sqlite3.Connection], _T]) -> _T | None:
        """None when it cannot be done. Twice, because a damaged file gives way to a fresh one."""
        for _ in range(2):
            try:
                return action(self._connected())
            except (*database.ERRORS, OSError, Refused) as error:
                if not self._recover(error):
                    break
        return None

    def _connected(self) -> sqlite3.Connection:
        if self._connection is not None and database.identity(self.path) != self._file:
            self.close()  # deleted or replaced under us
        if self._connection is None:
            self._connection = database.connect(self.path, schema=_SCHEMA, version=VERSION)
            self._file = database.identity(self.path)
        return self._connection

    def _recover(self, error: Exception) -> bool:
        """Whether trying again can help."""
        if not database.is_damage(error):
            return False
        self.close()
        try:
            self.set_aside = database.move_aside(self.path)
        except OSError:
            return False
        return True


class Reader:
    """Looks at a journal without ever creating or changing a file; use `read_only`.

    Each reading opens the file anew, so it sees what a run under way has written since.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.problem = ""
        """A sentence about why history is missing, "" when none is."""

    def entries(
        self, run: str = "", after: int = 0, kinds: tuple[str, ...] = (), task: str = ""
    ) -> Iterator[Entry]:
        self.problem = ""
        if not os.path.lexists(self.path):
            return
        connection = None
        try:
            connection = database.connect_read_only(self.path)
            database.refuse_newer_version(connection, self.path, VERSION)
            yield from _decoded(_select(connection, run, after, kinds, task))
        except (*database.ERRORS, OSError) as error:
            self.problem = f"the journal {self.path} cannot be read ({error}); commits are not affected"
        except Refused as error:
            self.problem = f"{error.message}; {error.fix}"
        finally:
            if connection is not None:
                connection.close()


def read_only(path: str) -> Reader:
    """A missing or unreadable journal reads as empty; `problem` says why it could not be read."""
    reader = Reader(path)
    for _ in reader.entries(kinds=("run_started",)):
        break
    return reader


def _select(
    connection: sqlite3.Connection, run: str, after: int, kinds: tuple[str, ...], task: str
) -> Iterator[tuple[object, ...]]:
    conditions = {"run": (run,) if run else (), "kind": kinds, "task": (task,) if task else ()}
    where = ["seq > ?"]
    arguments: list[int | str] = [after]
    for column, wanted in conditions.items():
        if wanted:
            where.append(f"{column} IN ({','.join('?' * len(wanted))})")
            arguments += map(database.storable, wanted)
    query = f"SELECT seq, at, run, kind, data FROM entries WHERE {' AND '.join(where)} ORDER BY seq"
    return connection.execute(query, arguments)


def _decoded(rows: Iterator[tuple[object, ...]]) -> Iterator[Entry]:
    for seq, at, run, kind, data in rows:
        # A flipped bit can turn any column into any type.
        if not (isinstance(seq, int) and isinstance(at, float) and isinstance(run, str)):
            continue
        event = decode(kind, data) if isinstance(kind, str) and isinstance(data, str) else None
        if event is not None:
            yield Entry(seq, at, run, event)
