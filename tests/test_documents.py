"""The documents say what the code does: whoever changes one is told which line of the other to change."""

import re
import signal
from pathlib import Path

from holdfast import errors
from holdfast.cli.main import COMMANDS, CRASH_CODE
from holdfast.engine.recover import Action

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src/holdfast"
README = ROOT / "README.md"
ARCHITECTURE = ROOT / "docs/ARCHITECTURE.md"
DOCUMENTS = [README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]

FAULT = re.compile(r'\bfault="([^"]+)"|\bfaults\.point\("([^"]+)"\)')
MODULE_ROW = re.compile(r"^\| `([\w/]+\.py)` \|", re.MULTILINE)
EXIT_CODE_ROW = re.compile(r"^\| (\d+)(?: / (\d+))? \|", re.MULTILINE)
RELATIVE_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]+)?\)")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def modules() -> set[str]:
    """Every module by its path, without the empty ones that only make a package."""
    paths = (path for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
    return {path.relative_to(SOURCE).as_posix() for path in paths}


def test_every_module_has_its_line_in_the_architecture() -> None:
    listed = set(MODULE_ROW.findall(ARCHITECTURE.read_text(encoding="utf-8")))
    missing = [f"| `{name}` | what it does |" for name in sorted(modules() - listed)]
    assert not missing, "add to the tables of `Modules` in docs/ARCHITECTURE.md:\n" + "\n".join(missing)


def test_the_architecture_lists_no_module_that_is_gone() -> None:
    listed = set(MODULE_ROW.findall(ARCHITECTURE.read_text(encoding="utf-8")))
    commands = {f"{path.removeprefix('holdfast.').replace('.', '/')}.py" for _, path in COMMANDS.values()}
    gone = sorted(listed - modules() - commands)
    assert not gone, f"remove from the tables of `Modules` in docs/ARCHITECTURE.md: {gone}"


def test_every_fault_point_has_its_step_in_the_architecture() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    names = {
        found[1] or found[2]
        for path in sorted(SOURCE.rglob("*.py"))
        for found in FAULT.finditer(path.read_text(encoding="utf-8"))
    }
    assert len(names) > 20, "the pattern that finds fault points no longer fits the source"
    missing = sorted(name for name in names if not re.search(rf"`{re.escape(name)}[`.]", text))
    assert not missing, (
        "name in the step they belong to, in `One task, step by step` or `Recovery` of docs/ARCHITECTURE.md "
        f"(with their endings, such as `x.before` and `x.after`): {missing}"
    )


def test_every_answer_of_recovery_is_in_its_table() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    missing = [f"| found | `{a.name}` | {a.value} |" for a in Action if f"`{a.name}`" not in text]
    assert not missing, "add to the table of `Recovery` in docs/ARCHITECTURE.md:\n" + "\n".join(missing)


def test_every_command_is_in_the_readme() -> None:
    text = README.read_text(encoding="utf-8")
    missing = [
        f"| `holdfast {name}` | {line[0].lower()}{line[1:]} |"
        for name, (line, _) in COMMANDS.items()
        if not re.search(rf"^\| `holdfast {re.escape(name)}\b", text, re.MULTILINE)
    ]
    assert not missing, "add to the table of commands in `Quick start` of README.md:\n" + "\n".join(missing)


def test_the_readme_shows_no_command_that_does_not_exist() -> None:
    text = README.read_text(encoding="utf-8")
    shown = set(re.findall(r"(?:`|^|\$ )holdfast ([a-z]+)\b", text, re.MULTILINE))
    assert shown, "the pattern that finds commands no longer fits the text"
    unknown = sorted(shown - set(COMMANDS))
    assert not unknown, f"remove from README.md, or add to the table in cli/main.py: {unknown}"


def test_the_readme_lists_exactly_the_exit_codes_there_are() -> None:
    section = README.read_text(encoding="utf-8").partition("\n## Exit codes\n")[2].partition("\n## ")[0]
    listed = {int(code) for row in EXIT_CODE_ROW.findall(section) for code in row if code}
    raised = {
        kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.HoldfastError)
    }
    there_are = {0, CRASH_CODE, 128 + signal.SIGTERM, *raised}
    assert listed == there_are, (
        f"in the table of `Exit codes` of README.md add {sorted(there_are - listed)} "
        f"and remove {sorted(listed - there_are)}"
    )


def test_every_relative_link_leads_somewhere() -> None:
    broken = [
        f"{document.relative_to(ROOT)}: ({target}{anchor})"
        for document in DOCUMENTS
        for target, anchor in RELATIVE_LINK.findall(_prose(document))
        if not _leads_somewhere(document, target, anchor)
    ]
    assert not broken, "correct these links, or the files and headings they name:\n" + "\n".join(broken)


def _prose(document: Path) -> str:
    return FENCED.sub("", document.read_text(encoding="utf-8"))


def _leads_somewhere(document: Path, target: str, anchor: str) -> bool:
    file = (document.parent / target).resolve() if target else document
    if not file.exists() or not file.is_relative_to(ROOT):
        return False
    return not anchor or anchor[1:] in _anchors(file)


def _anchors(document: Path) -> set[str]:
    """The names GitHub gives to headings."""
    headings = re.findall(r"^#+ (.+)$", _prose(document), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
