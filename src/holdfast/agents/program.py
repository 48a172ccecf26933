"""What agents that are a program of a known name have in common before they start."""

from collections.abc import Mapping

from holdfast.errors import AgentUnavailable, UsageError


def require_program(name: str, environment: Mapping[str, str], install: str) -> None:
    from shutil import which  # slow to load, and only a run needs it

    if not which(name, path=environment.get("PATH")):
        place = "does not exist, or may not be executed" if "/" in name else "is not on PATH"
        raise AgentUnavailable(
            f"the agent {name} {place}", fix=f"{install}\nor name another agent: holdfast doctor"
        )


def require_mode(name: str, mode: str, modes: tuple[str, ...]) -> None:
    if mode not in modes:
        raise UsageError(
            f'{name} has no permission mode "{mode}"',
            fix=f"set permission_mode to one of: {', '.join(modes)}",
        )
