"""What an agent is seen doing while it works, in one form for every agent, and the words for it."""

from typing import NamedTuple

from holdfast.agents.printable import one_line, printable

LONGEST_DETAIL = 200


class Said(NamedTuple):
    """A message of its own, or a line of an agent that speaks plain text."""

    text: str


class Called(NamedTuple):
    tool: str
    detail: str
    """What the call is about: a file, a command."""


class CallFailed(NamedTuple):
    tool: str
    detail: str
    """What the tool said."""


class Waited(NamedTuple):
    """Something outside made it wait: an overloaded service, a limit."""

    why: str


class SessionKnown(NamedTuple):
    """The agent's own name for the conversation, with which it can be resumed."""

    session: str


Activity = Said | Called | CallFailed | Waited | SessionKnown


def readable(activity: Activity) -> list[str]:
    """The lines to show for it, without control characters."""
    match activity:
        case Said():
            return [line for line in printable(activity.text).rstrip().split("\n") if line.strip()]
        case Called():
            return [_line("→", activity.tool, activity.detail)]
        case CallFailed():
            return [_line("✗", activity.tool, activity.detail)]
        case Waited():
            return [_line("…", activity.why, "")]
    return []


def _line(mark: str, what: str, detail: str) -> str:
    return one_line(printable(f"{mark} {what}: {detail}" if detail else f"{mark} {what}"), LONGEST_DETAIL)
