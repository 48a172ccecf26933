"""JSON written in every manner there is: indents, line ends, escapes, a byte order mark."""

import json
from typing import NamedTuple

from hypothesis import strategies as st

BOM = b"\xef\xbb\xbf"

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
unknown = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-9, 99), st.floats(allow_nan=False, allow_infinity=False), texts
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(texts, inner, max_size=2)),
    max_leaves=4,
)


class Manner(NamedTuple):
    """How somebody writes JSON."""

    indent: int | str | None = 2
    compact: bool = False
    ascii: bool = False
    go: bool = False
    crlf: bool = False
    bom: bool = False
    final_newline: bool = False

    def write(self, plan: object) -> bytes:
        separators = (",", ":") if self.compact else None
        text = json.dumps(plan, indent=self.indent, separators=separators, ensure_ascii=self.ascii)
        for char in "<>&" if self.go else "":
            text = text.replace(char, f"\\u{ord(char):04x}")
        text = f"{text}\n" if self.final_newline else text
        text = text.replace("\n", "\r\n") if self.crlf else text
        return (BOM if self.bom else b"") + text.encode()


manners = st.builds(
    Manner,
    indent=st.sampled_from([None, 0, 1, 2, 4, "\t"]),
    compact=st.booleans(),
    ascii=st.booleans(),
    go=st.booleans(),
    crlf=st.booleans(),
    bom=st.booleans(),
    final_newline=st.booleans(),
)
