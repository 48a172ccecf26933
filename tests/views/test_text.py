import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.views.text import duration, last_line, plain, shorten


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("just text — with ünïcode ✓", "just text — with ünïcode ✓"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[38;5;196mred\x1b[m", "red"),
        ("a\x1b[2K\x1b[1Gb", "ab"),
        ("\x1b]0;stolen title\x07text", "text"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;cm0gLXJm\x07", ""),
        ("\x1bPq#0;2\x1b\\sixel", "sixel"),
        ("\x1bcreset", "reset"),
        ("\x1b(0box", "box"),
        ("\x9b31mred", "red"),
        ("\x9d0;title\x9ctext", "text"),
        ("half \x1b[", "half"),
        ("half \x1b]0;title", "half 0;title"),
        ("bell\x07 back\x08\x08 nul\0 del\x7f", "bell back nul del"),
        ("10%\r20%\n", "10% 20%"),
        ("\tindented", "    indented"),
        ("safe\u202egnp.exe", "safegnp.exe"),
        ("zero\u200bwidth\u2028line", "zerowidth line"),
        ("na\udcffme", "na\ufffdme"),
    ],
)
def test_what_would_reach_the_terminal_is_only_text(dirty: str, clean: str) -> None:
    assert plain(dirty) == clean


@given(st.text(st.sampled_from("\x1b\x9b\x9d]P[0;31m\\\x07 ~a\r\n\x08\u202e\ud800"), max_size=40))
def test_nothing_unprintable_gets_through(text: str) -> None:
    assert plain(text).isprintable()


def test_a_flood_of_half_sequences_is_dealt_with_in_linear_time() -> None:
    assert plain("\x1b]a" * 200_000) == "a" * 200_000


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0s"),
        (59.9, "59s"),
        (60, "1m 00s"),
        (3599, "59m 59s"),
        (3600, "1h 00m"),
        (90_000, "25h 00m"),
        (-1, "?"),
        (float("nan"), "?"),
        (float("inf"), "?"),
    ],
)
def test_durations_read_well(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_the_last_line_that_says_something_is_the_verdict() -> None:
    assert last_line("one\n\x1b[31mtwo failed\x1b[0m\n\n \x1b[0m\n") == "two failed"
    assert last_line("") == ""


def test_shortened_text_ends_in_an_ellipsis() -> None:
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abcdef", 4) == "abc…"
    assert shorten("ab  ef", 5) == "ab…"
