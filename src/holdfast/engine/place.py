"""What names a run: the place of its plan and its branch. Light, for those who only look."""

import os
from binascii import crc32
from functools import lru_cache
from typing import NamedTuple

from holdfast.model.plan import Document
from holdfast.plans.base import Dialect


class PlanPlace(NamedTuple):
    """Where the plan is and who can read it."""

    dialect: Dialect
    path: str
    """Relative to the repository's root, forward slashes."""
    name: str
    companions: tuple[str, ...] = ()
    """Files beside the plan that belong to it, such as an idea's specification."""
    must_be_committed: bool = False
    """The dialect wants plan and companions committed by the user; otherwise we take edits in ourselves."""

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.path, *self.companions)))


@lru_cache(maxsize=2)
def read_plan(place: PlanPlace, data: bytes, beside: tuple[tuple[str, bytes], ...] = ()) -> Document:
    """Remembered: a run looks at the same bytes in the tree, at the tip and when it ends, and ten thousand
    tasks take a while to parse."""
    return place.dialect.read(data, place.path, place.name, dict(beside))


def run_id(plan_path: str, branch: str) -> str:
    """The same plan on the same branch is the same run, whoever starts it and however often."""
    name = os.path.splitext(os.path.basename(plan_path))[0]
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in name).strip("-")[:40] or "plan"
    told_apart = crc32(f"{plan_path}|{branch}".encode("utf-8", "surrogateescape"))
    return f"{slug}-{told_apart:08x}"
