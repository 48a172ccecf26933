"""A shell command that must exit 0."""

from holdfast.gates.base import Inspection, Verdict
from holdfast.system.process import Limits, Program, supervise
from holdfast.system.text import Tail


class CommandGate:
    def __init__(self, command: str) -> None:
        self.name = command

    def check(self, inspection: Inspection) -> Verdict:
        said = Tail()
        program = Program(
            ("/bin/sh", "-c", self.name),
            inspection.workspace,
            inspection.environment,
            lock=inspection.lock,
        )
        limits = Limits(inspection.timeout)
        ended = supervise(program, limits, inspection.stops, lambda stream, chunk: said.add(chunk))
        output = said.text()
        if ended.why == "timeout":
            output += f"\n(killed: not finished after {inspection.timeout:.0f} s)"
        elif ended.signal is not None:
            output += f"\n(killed by signal {ended.signal})"
        return Verdict(self.name, ended.exit_code == 0 and not ended.why, output.strip(), ended.seconds)
