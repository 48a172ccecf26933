"""argv → command → exit code. Every error of the project becomes words and a number here, nowhere else.

`holdfast --help` loads this module and nothing more, so imports stand inside the functions that need them
(`typing` alone costs as much as starting the interpreter).
"""

import sys

from holdfast import __version__
from holdfast.errors import GitError, HoldfastError, UsageError, machine_trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from types import ModuleType

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Run": {
        "run": ("Start or resume a plan: the same command for both", "holdfast.cli.run"),
        "status": ("Show what is done, what is next and what was recovered", "holdfast.cli.status"),
        "log": ("Show what happened, and the agent's output", "holdfast.cli.log"),
    },
    "Finish": {
        "review": ("Show what was built: commits, changes, criteria, cost", "holdfast.cli.review"),
        "merge": ("Merge what was built into your branch, beside your own work", "holdfast.cli.merge"),
        "discard": (
            "Remove branch and tree of a build; its work is kept under rescue",
            "holdfast.cli.discard",
        ),
    },
    "Plan": {
        "plan": ("Read and explain a plan: check, next, list", "holdfast.cli.plan"),
    },
    "Tasks": {
        "retry": ("Give a failed task its attempts back", "holdfast.cli.tasks"),
        "skip": ("Mark a task as not to be done", "holdfast.cli.tasks"),
        "reset": ("Mark a finished or skipped task as open again", "holdfast.cli.tasks"),
    },
    "Safety": {
        "rescue": ("List, show, restore or drop what was kept from being lost", "holdfast.cli.rescue"),
    },
    "Setup": {
        "init": ("Write a commented holdfast.toml", "holdfast.cli.init"),
        "doctor": ("Check git, the repository and the agents, each with its fix", "holdfast.cli.doctor"),
        "demo": ("Watch a real kill -9 and its recovery; needs no keys", "holdfast.cli.demo"),
        "completion": ("Print a completion script for bash, zsh or fish", "holdfast.cli.completion"),
    },
}
COMMANDS = {name: entry for group in GROUPS.values() for name, entry in group.items()}
"""Name → (one-line help, module). The module has `configure(parser)` and `execute(args) -> int`.

One that must be quick also has `read_simply(words)`: its arguments without argparse, which takes as long to
load as all of `status`, or None where argparse is needed after all.
"""

USAGE_CODE = 2
CRASH_CODE = 70
INTERRUPT_CODE = 130
BROKEN_PIPE_CODE = 141
"""What a shell reports for a program that a closed pipe ended."""

EXIT_CODES = """\
  0 all done · 1 a task failed · 2 bad usage, configuration or plan · 3 not safe to touch
  4 waiting on someone · 5 limit reached · 69 agent unusable · 70 a bug in Holdfast
  75 another run is active · 130 interrupted · 143 terminated"""


def main(argv: list[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    _accept_any_character()
    try:
        code = _dispatch(words)
        _flush()
    except HoldfastError as error:
        return _explain(error)
    except BrokenPipeError:
        return _hang_up(BROKEN_PIPE_CODE)
    except OSError as error:
        trouble = machine_trouble(error)
        return _explain(trouble) if trouble else _report_crash(error, words)
    except KeyboardInterrupt:
        sys.stderr.write("holdfast: interrupted\n")
        return INTERRUPT_CODE
    except Exception as error:  # noqa: BLE001 - the only one: a bug ends as a report, not as a stack trace
        return _report_crash(error, words)
    return code


def _accept_any_character() -> None:
    """A file name or a title that the terminal's encoding lacks must not end a run."""
    from io import TextIOWrapper

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _dispatch(words: list[str]) -> int:
    first = words[0] if words else ""
    if first in ("-h", "--help"):
        print(_overview())
        return 0
    if first in ("-V", "--version"):
        print(f"holdfast {__version__}")
        return 0
    if first not in COMMANDS:
        raise _not_a_command(first)
    return _run_command(first, words[1:])


def _overview() -> str:
    lines = ["usage: holdfast COMMAND [ARGUMENTS]", ""]
    lines += ["Runs a plan of coding tasks through a coding agent: one commit per task, whatever dies.", ""]
    for group, commands in GROUPS.items():
        lines += [f"{group}:", *(f"  {name:<12}{text}" for name, (text, _) in commands.items()), ""]
    lines += ["Options:", "  -h, --help     Show this help", "  -V, --version  Show the version", ""]
    lines += ["Exit codes:", EXIT_CODES, "", "`holdfast COMMAND --help` explains one command."]
    return "\n".join(lines)


def _not_a_command(word: str) -> UsageError:
    from holdfast.model.spelling import nearest

    if not word:
        return UsageError("no command given", fix="`holdfast --help` lists the commands")
    kind, known = ("option", ["--help", "--version"]) if word.startswith("-") else ("command", list(COMMANDS))
    near = nearest(word, known)
    fix = f"did you mean `holdfast {near}`?" if near else "`holdfast --help` lists the commands"
    return UsageError(f"there is no {kind} {word!r}", fix=fix)


def _run_command(name: str, words: list[str]) -> int:
    from importlib import import_module

    module = import_module(COMMANDS[name][1])
    args = module.read_simply(words) if hasattr(module, "read_simply") else None
    if args is None:
        args = _parse(name, module, words)
    return 0 if args is None else int(module.execute(args))


def _parse(name: str, module: "ModuleType", words: list[str]) -> "Namespace | None":
    """None when `--help` has been answered."""
    from holdfast.cli.parser import Parser

    parser = Parser(prog=f"holdfast {name}", description=f"{COMMANDS[name][0]}.")
    parser.set_defaults(command=name)
    module.configure(parser)
    try:
        return parser.parse_args(words)
    except SystemExit:  # only `--help` leaves this way: Parser raises its errors
        return None


def _flush() -> None:
    try:
        if sys.stdout is not None:  # None when it was closed before we started
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _hang_up(1)
        raise HoldfastError(
            f"cannot write to standard output: {error.strerror}", fix="send the output somewhere else"
        ) from None


def _hang_up(code: int) -> int:
    """Point standard output at nothing, so that the interpreter's own last flush cannot complain."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _explain(error: HoldfastError) -> int:
    lines = [f"holdfast: {error.message}"]
    if isinstance(error, GitError):
        lines += [f"  git: {line}" for line in error.stderr.splitlines() if line not in error.message]
    for number, line in enumerate(error.fix.splitlines()):
        lines.append(f"  {'fix: ' if number == 0 else '     '}{line}")
    sys.stderr.write("\n".join(lines) + "\n")
    return error.exit_code


def _report_crash(error: Exception, words: list[str]) -> int:
    from holdfast.cli.crash import write_report

    path = write_report(error, words)
    sys.stderr.write(
        f"holdfast: internal error: {type(error).__name__}: {error}\n"
        f"  This is a bug in Holdfast, not in your plan. What is committed stays committed.\n"
        f"  report: {path}\n"
        f"  fix: run the same command again, it resumes; if this comes back, open an issue with that report\n"
        f"       (read it first: it holds the command line and paths of this machine)\n"
    )
    return CRASH_CODE
