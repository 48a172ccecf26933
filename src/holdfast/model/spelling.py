"""The word a user most likely meant."""

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word most like this one, "" when none is near."""
    from difflib import get_close_matches  # only a mistake pays for it

    return next(iter(get_close_matches(word, list(known), n=1)), "")
