"""Output of any size, cut into lines; what is kept never grows with it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.system.text import CUT, Lines, Tail, last_lines


@settings(derandomize=True, deadline=None)
@given(st.lists(st.binary(max_size=30)), st.integers(1, 40))
def test_lines_are_those_of_the_whole_however_it_is_cut_into_chunks(
    chunks: list[bytes], longest: int
) -> None:
    lines = Lines(longest)
    got = [line for chunk in chunks for line in lines.feed(chunk)] + list(lines.finish())
    whole = b"".join(chunks).split(b"\n")
    whole = whole if whole[-1] else whole[:-1]
    assert got == [_expected(line, longest) for line in whole]


def _expected(line: bytes, longest: int) -> bytes:
    cut = line[:longest] + CUT if len(line) > longest else line
    return cut.removesuffix(b"\r")


@settings(derandomize=True, deadline=None)
@given(st.lists(st.binary(max_size=50)), st.integers(1, 64))
def test_a_tail_never_keeps_more_than_its_limit(chunks: list[bytes], limit: int) -> None:
    tail = Tail(limit)
    for chunk in chunks:
        tail.add(chunk)
    whole = b"".join(chunks)
    text = tail.text()
    assert len(text) <= limit + len("[...]")
    if len(whole) <= limit:
        assert text == whole.decode("utf-8", "replace")
    else:
        assert text.startswith("[...]")


def test_last_lines_of_a_chunk() -> None:
    assert last_lines(b"a\nb\nc\nd", 2) == b"c\nd"
    assert last_lines(b"a\nb", 5) == b"a\nb"
