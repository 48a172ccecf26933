"""SQLite files that may be damaged, deleted or newer than we are, opened without making it worse."""

import os
import sqlite3

from holdfast.errors import Refused

_BUSY_SECONDS = 5.0
_MAGIC = b"SQLite format 3\0"
_SIDE_FILES = ("", "-wal", "-shm")
# Damaged, or not a table of ours; the last two when a flipped bit made the highest row number absurd.
_DAMAGE = (
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_CONSTRAINT,
)


# sqlite3 trips over its own message when that quotes a damaged schema.
ERRORS = (sqlite3.Error, UnicodeDecodeError)


class NotADatabase(sqlite3.DatabaseError):
    """A directory, a pipe, a dangling link or another file stands where the database should be."""


def connect(path: str, *, schema: str, version: int) -> sqlite3.Connection:
    """For writing, each statement its own transaction. `schema` runs where `version` is not reached yet."""
    refuse_newer(path, version)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    _require_database(path)
    if not os.path.lexists(path):
        # Another process may still be writing to the side files of a deleted database: not into ours.
        move_aside(path)
    # Agent output is read in a thread of its own, which may report; SQLite itself serialises the calls.
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        return _prepared(connection, schema, version)
    except ERRORS:
        connection.close()
        raise


def connect_read_only(path: str) -> sqlite3.Connection:
    """Neither creates nor changes a file, not even the side files SQLite likes to make."""
    _require_database(path)
    in_use = all(os.path.exists(path + suffix) for suffix in _SIDE_FILES)
    options = "mode=ro&readonly_shm=1" if in_use else "mode=ro&immutable=1"
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(f"file:{quoted}?{options}", uri=True, timeout=_BUSY_SECONDS)
    connection.text_factory = _text
    return connection


def refuse_newer(path: str, version: int) -> None:
    """Looks without writing: a newer Holdfast must find its file as it left it."""
    if not os.path.isfile(path):
        return
    connection = None
    try:
        connection = connect_read_only(path)
        refuse_newer_version(connection, path, version)
    except (*ERRORS, OSError):
        return  # damage is found, and dealt with, by whoever opens it for writing
    finally:
        if connection is not None:
            connection.close()


def refuse_newer_version(connection: sqlite3.Connection, path: str, version: int) -> None:
    found = _version(connection)
    if found > version:
        message = f"{path} has version {found}, this Holdfast knows version {version}"
        raise Refused(message, fix="upgrade Holdfast")


def is_damage(error: Exception) -> bool:
    """Damaged or not ours, as opposed to a disk that is full, slow, locked or not to be written."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF
    return isinstance(error, (NotADatabase, UnicodeDecodeError)) or code in _DAMAGE


def move_aside(path: str) -> str:
    number = 1
    while any(os.path.lexists(f"{path}.damaged-{number}{suffix}") for suffix in _SIDE_FILES):
        number += 1
    aside = f"{path}.damaged-{number}"
    for suffix in _SIDE_FILES:
        if os.path.lexists(path + suffix):
            os.replace(path + suffix, aside + suffix)
    return aside


def identity(path: str) -> tuple[int, int] | None:
    """Which file this is; None when there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def storable(text: str) -> str:
    """SQLite takes no lone surrogates."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _prepared(connection: sqlite3.Connection, schema: str, version: int) -> sqlite3.Connection:
    connection.text_factory = _text
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    if _version(connection) != version:
        connection.executescript(f"BEGIN IMMEDIATE; {schema}; PRAGMA user_version = {version}; COMMIT")
    return connection


def _require_database(path: str) -> None:
    """SQLite finds this out as well, but on closing writes its log into whatever file that is."""
    if not os.path.lexists(path):
        return
    if not os.path.isfile(path):
        raise NotADatabase("not a file")
    with open(path, "rb") as file:
        if file.read(len(_MAGIC)) not in (b"", _MAGIC):
            raise NotADatabase("not a database")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
