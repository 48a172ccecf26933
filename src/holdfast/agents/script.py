"""The script of the scripted agent: what it can do, and when it does it.

    [tasks."1.2"]                        one task, by its id
    message = "Add the parser"           printed as the suggested commit message
    actions = [
      { write = "src/{id}.txt", text = "made for {title}\\n" },
      { say = "still working", repeat = 3 },
    ]

    [[tasks."2.1".attempts]]             one table per attempt; the last one repeats
    failure = "the tests are red"
    [[tasks."2.1".attempts]]
    actions = [{ write = "fixed.txt" }]

    [default]                            every task without a table of its own
    actions = [{ write = "{id}.txt", text = "{title}\\n" }]

A part (a task, an attempt or the default) may have: `actions`; `message`; `success`, the text of the
success tag; `failure`, a failure tag instead of it; `tag = false`, no tag at all; `silent = true`, prints
nothing but what its actions say. An attempt inherits the keys of its task.

An action is a table with one verb, that verb's options, and `repeat`. The verbs and their options are the
value classes below. Texts and paths may hold {id}, {title}, {attempt}, {n} (which repetition this is, from
1) and {here} (the script's directory); other braces stay as they are. docs/SCRIPTED_AGENT.md has examples.
"""

from signal import Signals
from typing import NamedTuple

from holdfast.errors import ConfigError


class Write(NamedTuple):
    path: str
    text: str = ""
    append: bool = False


class Delete(NamedTuple):
    """A file, a link or a whole directory; one that is already gone is fine."""

    path: str


class Mkdir(NamedTuple):
    path: str


class Say(NamedTuple):
    text: str


class Complain(NamedTuple):
    text: str


class Sleep(NamedTuple):
    seconds: float


class Run(NamedTuple):
    """Starts a program and waits for it. Ends the attempt with status 1 when it fails, unless it may."""

    argv: tuple[str, ...]
    may_fail: bool = False


class SignalFile(NamedTuple):
    """Creates a file, to tell whoever waits for it that this point is reached."""

    path: str


class WaitForFile(NamedTuple):
    path: str
    timeout: float = 30.0


class IgnoreSignal(NamedTuple):
    signal: Signals


class KillSelf(NamedTuple):
    signal: Signals


class Exit(NamedTuple):
    """Ends at once: no message, no tag."""

    code: int


class Hang(NamedTuple):
    forever: bool


Action = (
    Write
    | Delete
    | Mkdir
    | Say
    | Complain
    | Sleep
    | Run
    | SignalFile
    | WaitForFile
    | IgnoreSignal
    | KillSelf
    | Exit
    | Hang
)

VERBS: dict[str, type[Action]] = {
    "write": Write,
    "delete": Delete,
    "mkdir": Mkdir,
    "say": Say,
    "complain": Complain,
    "sleep": Sleep,
    "run": Run,
    "signal_file": SignalFile,
    "wait_for_file": WaitForFile,
    "ignore_signal": IgnoreSignal,
    "kill_self": KillSelf,
    "exit": Exit,
    "hang": Hang,
}


class Turn(NamedTuple):
    action: Action
    repeat: int


class Part(NamedTuple):
    """What to do for one attempt at one task."""

    actions: tuple[Turn, ...] = ()
    message: str = ""
    success: str = "task implemented: {title}"
    failure: str = ""
    tag: bool = True
    silent: bool = False


class Script(NamedTuple):
    path: str
    tasks: dict[str, tuple[Part, ...]]
    """The attempts at each task, never empty."""
    default: tuple[Part, ...]

    def part(self, task_id: str, attempt: int) -> Part:
        parts = self.tasks.get(task_id, self.default)
        if not parts:
            fix = f'Add [tasks."{task_id}"] or [default] to the script.'
            raise ConfigError(f'{self.path}: nothing is written for task "{task_id}"', fix=fix)
        return parts[min(max(attempt, 1), len(parts)) - 1]
