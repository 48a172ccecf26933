import importlib.util
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.cli.completion import completion_script
from holdfast.cli.main import COMMANDS
from scratch import Cli, Repo, run

SAMPLE = """
def configure(parser):
    parser.add_argument("--hidden", help=__import__("argparse").SUPPRESS)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    for name in ("check", "next"):
        sub = actions.add_parser(name, help=f"it's {name}")
        sub.add_argument("plan", metavar="PLAN")
        sub.add_argument("--json", action="store_true")
        sub.add_argument("--agent", choices=("command", "scripted"))
        sub.add_argument("--limit", metavar="N", help="at most 100%%")
        sub.add_argument("--prompt", metavar="FILE")
"""


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, tuple[str, str]]]:
    """The real small commands, and one with all that a parser can have."""
    (tmp_path / "sample_command.py").write_text(SAMPLE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield {
        **{name: COMMANDS[name] for name in ("init", "doctor", "completion")},
        "plan": ("Plans", "sample_command"),
    }
    sys.modules.pop("sample_command", None)


@pytest.fixture
def bash(repo: Repo, commands: dict[str, tuple[str, str]]) -> Iterator["Bash"]:
    yield Bash(repo, completion_script("bash", commands))


class Bash:
    def __init__(self, repo: Repo, script: str) -> None:
        self.repo = repo
        self.script = script

    def complete(self, *words: str) -> list[str]:
        """What a real bash offers for the last of these words."""
        typed = f"COMP_WORDS=({shlex.join(['holdfast', *words])}); COMP_CWORD={len(words)}"
        code = f"{self.script}\n{typed}\n_holdfast\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
        result = run(("bash", "--norc", "-u", "-c", code), cwd=self.repo.path, env=self.repo.env)
        assert (result.code, result.err) == (0, "")
        return result.out.split("\n")[:-1] if result.out.strip() else []


def test_commands_and_subcommands_are_offered(bash: Bash) -> None:
    assert bash.complete("") == ["init", "doctor", "completion", "plan"]
    assert bash.complete("do") == ["doctor"]
    assert bash.complete("plan", "") == ["check", "next"]
    assert bash.complete("completion", "") == ["bash", "zsh", "fish"]


def test_options_of_the_place_are_offered(bash: Bash) -> None:
    assert bash.complete("--v") == ["--version"]
    assert bash.complete("init", "--") == ["--help", "--force"]
    assert bash.complete("plan", "check", "--j") == ["--json"]
    assert bash.complete("plan", "-") == ["-h", "--help"]


def test_plan_arguments_are_files_and_only_they(bash: Bash) -> None:
    bash.repo.write("my plan.md", "")
    assert bash.complete("plan", "check", "my") == ["my plan.md"]
    assert bash.complete("plan", "next", "READ") == ["README.md"]
    assert bash.complete("init", "") == []


def test_values_of_options_are_offered(bash: Bash) -> None:
    assert bash.complete("plan", "check", "--agent", "") == ["command", "scripted"]
    assert bash.complete("plan", "check", "--agent", "=", "s") == ["scripted"]
    assert bash.complete("plan", "check", "--agent", "=") == ["command", "scripted"]
    assert bash.complete("plan", "check", "--prompt", "REA") == ["README.md"]
    assert bash.complete("plan", "check", "--limit", "") == []


def test_the_value_of_an_option_is_not_taken_for_a_command(bash: Bash) -> None:
    assert bash.complete("plan", "check", "--limit", "next", "--js") == ["--json"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_accept_their_script(
    shell: str, repo: Repo, commands: dict[str, tuple[str, str]]
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    file = repo.write("script", completion_script(shell, commands))
    result = run((shell, "-n", str(file)), cwd=repo.path, env=repo.env)
    assert (result.code, result.err) == (0, "")


def test_fish_gets_descriptions_with_their_quotes(commands: dict[str, tuple[str, str]]) -> None:
    script = completion_script("fish", commands)
    assert "-a check -d 'it\\'s check'" in script
    assert "-l limit -r -f -d 'at most 100%'" in script
    assert '-l agent -r -f -a "command scripted"' in script


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_hidden_options_stay_hidden(shell: str, commands: dict[str, tuple[str, str]]) -> None:
    assert "hidden" not in completion_script(shell, commands)


MISSING = [name for name, (_, module) in COMMANDS.items() if importlib.util.find_spec(module) is None]


@pytest.mark.skipif(bool(MISSING), reason=f"no module for: {', '.join(MISSING)}")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_knows_every_command(shell: str, cli: Cli) -> None:
    result = cli("completion", shell)
    assert (result.code, result.err) == (0, "")
    assert all(name in result.out for name in COMMANDS)
