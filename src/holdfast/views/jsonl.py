"""One JSON object per event, for programs."""

import json
from typing import TextIO

from holdfast.model.codec import kind_of
from holdfast.model.events import Entry


class JsonView:
    def __init__(self, stream: TextIO) -> None:
        self._stream: TextIO | None = stream

    def show(self, entry: Entry) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(f"{json_line(entry)}\n")
            self._stream.flush()
        except OSError:
            self._stream = None  # the reader has gone; the run goes on without being watched

    def close(self) -> None:
        self._stream = None


def json_line(entry: Entry) -> str:
    """ASCII only: it must survive any encoding, and escapes every control character."""
    head = {"seq": entry.seq, "at": entry.at, "run": entry.run, "event": kind_of(entry.event)}
    return json.dumps(head | entry.event._asdict(), ensure_ascii=True)
