"""Programs that stand in for the real agents and print what those once printed."""

from pathlib import Path

RECORDED = Path(__file__).parent / "agents" / "recorded"


def stand_in(name: str, body: str, directory: Path, path: str) -> str:
    """Makes a program of that name; returns the PATH on which it is found. `{scene}` in its body, a piece of
    shell, is the file with the events of that recording."""
    directory.mkdir(exist_ok=True)
    for recording in (RECORDED / name).iterdir():
        events = directory / recording.name
        events.write_text("".join(recording.read_text().splitlines(keepends=True)[1:]))
        body = body.replace(f"{{{recording.stem}}}", f"'{events}'")
    program = directory / name
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    return f"{directory}:{path}"
