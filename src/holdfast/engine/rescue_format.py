"""What a rescue snapshot looks like inside git.

A snapshot is a commit whose tree holds
    work/         the working tree as raw bytes, no filter applied
    index         the index file itself
    objects/ID    what that index names and nothing else here would keep
    state/        a merge, rebase, cherry-pick, revert, am or bisect under way
    rescue.json   what a tree cannot say (the `Note`)
Its parents are HEAD and the commits the state files name, so that `gc` keeps those too. Nothing in the tree
depends on the time or the reason: the same state taken twice is the same tree.
"""

import json
import re
from typing import NamedTuple

PREFIX = "refs/holdfast/rescue/"
SUBJECT = "holdfast rescue: "
NOTE = "rescue.json"
FORMAT = 1

_STAMPED = r"(\d{8}-\d{6})-(.+)"


class LeftOut(NamedTuple):
    """Something that was there and is not in the snapshot. A path that ends in "/" is a whole directory."""

    path: str
    why: str


class Note(NamedTuple):
    root: str
    """The working tree it was taken in."""
    branch: str
    """Full name of the branch HEAD was on; "" when it was detached."""
    head: str
    """"" when that branch had no commit yet."""
    operation: str
    """ "merge", "rebase"… that was under way, else ""."""
    files: int
    """Files stored with their bytes, or gone: what git alone would not give back."""
    size: int
    """Bytes of those files."""
    deleted: tuple[str, ...]
    """Tracked and not in the tree: a restore deletes them again."""
    empty_directories: tuple[str, ...]
    permissions: tuple[tuple[str, int], ...]
    """Of stored files that are neither 644 nor 755, which is all a tree can say."""
    refs: tuple[tuple[str, str], ...]
    """What a bisect or a rebase keeps under `refs/bisect/` and `refs/rewritten/`."""
    left_out: tuple[LeftOut, ...]


def note_bytes(note: Note) -> bytes:
    return json.dumps({"format": FORMAT, **note._asdict()}, indent=1).encode("ascii")


def read_note(data: bytes) -> Note | None:
    """None for what was not written by `note_bytes`."""
    try:
        fields = json.loads(data)
        if fields.pop("format") != FORMAT:
            return None
        lists = {name: tuple(fields[name]) for name in ("deleted", "empty_directories")}
        pairs = {name: tuple((str(a), b) for a, b in fields[name]) for name in ("permissions", "refs")}
        left_out = tuple(LeftOut(str(path), str(why)) for path, why in fields["left_out"])
        return Note(**{**fields, **lists, **pairs, "left_out": left_out})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def stamp_and_label(ref: str) -> tuple[str, str]:
    """The two halves of a ref's last part; no stamp, "", in a name that was not given by us."""
    found = re.fullmatch(_STAMPED, ref.rsplit("/", 1)[-1])
    return (found[1], found[2]) if found else ("", "")


def run_of(ref: str) -> str:
    return ref.removeprefix(PREFIX).rpartition("/")[0]


# -- names that git does not take ----------------------------------------------------------------------

# What git refuses or fsck complains of: `.git` and its look-alikes on other file systems, and the files
# whose content git itself reads.
_REFUSED = r"\.git(?!(ignore|keep|hub|lab|lab-ci\.yml)$)|git~|git(mod|att|ign)~|gi7|\.mailmap"


def encode(path: str) -> str:
    """The path's name in the tree: parts that git would refuse are written in %XX and begin with one."""
    if path.isascii() and not re.search(r"git|gi7|%|\\|mailmap", path, re.I):
        return path
    return "/".join(_escape(part) if _needs_escape(part) else part for part in path.split("/"))


def encode_tracked(path: str) -> str:
    """A name that is in the index has been accepted by git; it only must not look encoded."""
    if "%" not in path:
        return path
    return "/".join(_escape(part) if part.startswith("%") else part for part in path.split("/"))


def decode(name: str) -> str:
    if "%" not in name:
        return name
    return "/".join(_unescape(part) if part.startswith("%") else part for part in name.split("/"))


def _needs_escape(part: str) -> bool:
    # HFS ignores some characters in names; none of them is ASCII.
    bare = "".join(c for c in part if c.isascii())
    return "\\" in part or part.startswith("%") or re.match(_REFUSED, bare, re.IGNORECASE) is not None


def _escape(part: str) -> str:
    rest = part[1:].replace("%", "%25").replace("\\", "%5C")
    first = part[0] if ord(part[0]) > 127 else f"%{ord(part[0]):02X}"
    return (first if first.startswith("%") else f"%00{first}") + rest


def _unescape(part: str) -> str:
    return re.sub(r"%([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), part).replace("\0", "")
