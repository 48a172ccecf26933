"""`holdfast doctor`: look at everything a run depends on, and say what to do about what is wrong."""

import json
import os
import shutil
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from holdfast.cli.checkup import Finding, Level, check_machine, check_repository

_UNSOUND = 3


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object per check")


def execute(args: Namespace) -> int:
    findings = list(_checkup())
    for finding in findings:
        print(json.dumps(finding._asdict()) if args.json else _line(finding))
    failed = sum(finding.level is Level.FAIL for finding in findings)
    if not args.json:
        print(_summary(failed, sum(finding.level is Level.WARN for finding in findings)))
    return _UNSOUND if failed else 0


def _checkup() -> Iterator[Finding]:
    yield from check_machine(os.environ)
    if shutil.which("git"):
        yield from check_repository(os.environ)


def _line(finding: Finding) -> str:
    line = f"{finding.level.value:<4}  {finding.check:<11} {finding.found}"
    return f"{line}\n{'':18}fix: {finding.fix}" if finding.fix else line


def _summary(failed: int, warned: int) -> str:
    if failed:
        return f"\n{failed} to fix before a run can start"
    return f"\nready to run, {warned} to look at" if warned else "\nready to run"
