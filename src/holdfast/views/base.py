"""What shows a run must do: take each event as it happens, and leave the terminal as it found it."""

from typing import Protocol, TextIO

from holdfast.model.events import Entry


class View(Protocol):
    def show(self, entry: Entry) -> None:
        """Called once per event, in order; entries of what the agent said have seq 0."""
        ...

    def close(self) -> None:
        """Safe to call twice. Nothing is shown afterwards."""
        ...


def can_redraw(stream: TextIO, term: str) -> bool:
    """Whether the live view may have this stream; `term` is what the terminal says it is."""
    encoding = (stream.encoding or "").lower().replace("-", "")
    return stream.isatty() and term not in ("", "dumb") and encoding == "utf8"
