"""The terminal view: the plan with its ticks, the task at hand, and lines that stay above them.

Importing it loads rich, so that only a run on a terminal pays for it.
"""

from collections.abc import Callable

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from holdfast.model.events import (
    AgentSpoke,
    AttemptFailed,
    Entry,
    Event,
    Interrupted,
    Noticed,
    Recovered,
    Rescued,
    RunEnded,
    RunStarted,
    TaskChanged,
    TaskFailed,
    TaskLanded,
    Waiting,
)
from holdfast.model.plan import Plan
from holdfast.views.scene import Scene
from holdfast.views.screen import drawn
from holdfast.views.words import sentence

_REFRESHES_PER_SECOND = 4
_STAYS: dict[type[Event], tuple[str, str]] = {
    RunStarted: ("»", "bold"),
    Recovered: ("↻", "yellow"),
    Rescued: ("↻", "yellow"),
    Noticed: ("·", "dim"),
    Waiting: ("…", "yellow"),
    AttemptFailed: ("!", "yellow"),
    TaskLanded: ("✓", "green"),
    TaskFailed: ("✗", "bold red"),
    TaskChanged: ("·", "dim"),
    Interrupted: ("!", "yellow"),
    RunEnded: ("»", "bold"),
}


class LiveView:
    def __init__(
        self, plan: Plan, *, now: Callable[[], float], console: Console | None = None, ticking: bool = True
    ) -> None:
        """`now` is the clock of the entries. Without `ticking` the picture changes with events only."""
        self._console = console or Console(highlight=False)
        self._now = now
        self._scene = Scene.of(plan, now())
        self._ticking = ticking
        self._live: Live | None = None
        self._ended: RunEnded | None = None
        self._closed = False

    def show(self, entry: Entry) -> None:
        if self._closed:
            return
        try:
            self._scene = self._scene.after(entry)
            self._draw(entry)
        except OSError:
            self._closed = True  # the terminal has gone; the run goes on without being watched

    def close(self) -> None:
        self._closed = True
        self._scene = self._scene._replace(under_way=(), until=self._scene.until or self._now())
        live, self._live = self._live, None
        if live is not None:
            self._leave(live)

    def __enter__(self) -> "LiveView":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _draw(self, entry: Entry) -> None:
        if self._live is None:
            self._live = self._started()
        if not (self._ticking and isinstance(entry.event, AgentSpoke)):
            self._live.refresh()
        if isinstance(entry.event, RunEnded):
            self._ended = entry.event
        elif type(entry.event) in _STAYS:
            self._console.print(_staying(entry.event))

    def _started(self) -> Live:
        live = Live(
            console=self._console,
            get_renderable=self._picture,
            auto_refresh=self._ticking,
            refresh_per_second=_REFRESHES_PER_SECOND,
            vertical_overflow="crop",
        )
        live.start()
        # A run may be killed at any moment, and nobody would give the cursor back.
        self._console.show_cursor(True)
        return live

    def _leave(self, live: Live) -> None:
        """The picture stays, and how it ended stands below it, where the eye is."""
        try:
            live.stop()
            if self._ended is not None:
                self._console.print(_staying(self._ended))
        except OSError:
            return  # no terminal left to restore

    def _picture(self) -> Group:
        width, height = self._console.size
        return drawn(self._scene, width=width, height=height, now=self._now())


def _staying(event: Event) -> Text:
    mark, style = _STAYS[type(event)]
    return Text.assemble((f"{mark} ", style), (sentence(event), style if style != "green" else ""))
