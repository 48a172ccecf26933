"""Text that came from somewhere else, made fit for a terminal."""

import re

# Left to `re` to compile and keep, because most screens never meet one and compiling takes a while.
# Whole escape sequences, so that no half of one is left behind as text: a title or a link with its
# terminator, a colour or a movement, then whatever else starts with ESC. The 8-bit forms are listed too.
_ESCAPES = (
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-~]"
)


def plain(text: str) -> str:
    """One line without control characters, escape sequences or marks that reorder what is read."""
    if text.isprintable():
        return text
    return "".join(map(_printable, re.sub(_ESCAPES, "", text))).rstrip()


def duration(seconds: float) -> str:
    if not 0 <= seconds < 1e9:  # only a damaged journal says so
        return "?"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes:02}m"
    return f"{minutes}m {rest:02}s" if minutes else f"{rest}s"


def shorten(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: max(width - 1, 0)].rstrip()}…"


def last_line(text: str) -> str:
    """The last line that says something: where most tools put their verdict."""
    return next((line for line in reversed([plain(t) for t in text[-4000:].splitlines()]) if line), "")


def _printable(character: str) -> str:
    if character.isprintable():
        return character
    if character.isspace():
        return "    " if character == "\t" else " "
    return "�" if "\ud800" <= character <= "\udfff" else ""
