"""What the model is to answer, one value per request, in the order the requests come."""

from typing import Any, NamedTuple


class Say(NamedTuple):
    """A text, and the end of the turn."""

    text: str
    delay: float = 0.0
    """Seconds before it is answered."""


class Call(NamedTuple):
    """A tool call; the next request carries its result."""

    tool: str
    input: dict[str, Any]
    text: str = ""
    """Said before the call."""
    delay: float = 0.0
    namespace: str = ""
    """Of the tool, where the Responses API has one: that of an MCP server."""


class Refuse(NamedTuple):
    """An error status, with the headers a real server would send."""

    status: int
    kind: str = "api_error"
    message: str = "scripted error"
    headers: tuple[tuple[str, str], ...] = ()
    fields: tuple[tuple[str, Any], ...] = ()
    """More of what stands beside the message."""


class Hang(NamedTuple):
    """No answer until the server is closed."""


Turn = Say | Call | Refuse | Hang
