import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import __version__
from holdfast.cli.main import COMMANDS
from scratch import HOLDFAST, Cli, Repo, Result, run

HEAVY = ("rich", "jinja2", "subprocess", "dataclasses", "pathlib", "sqlite3", "argparse", "typing", "tomllib")
WITH_COMMAND = """
import sys
from holdfast.cli import main
main.COMMANDS["extra"] = ("A command of this test", "extra_command")
sys.exit(main.main(sys.argv[1:]))
"""


def with_command(repo: Repo, body: str, *words: str) -> Result:
    """Runs `holdfast extra`, a command whose execute() has this body."""
    module = "import os, sys\nfrom holdfast.errors import *\n"
    module += f"def configure(parser): parser.add_argument('--long-name')\ndef execute(args):\n    {body}\n"
    library = repo.path.parent / "library"
    library.mkdir()
    (library / "extra_command.py").write_text(module, encoding="utf-8")
    env = {**repo.env, "PYTHONPATH": str(library)}
    return run((sys.executable, "-c", WITH_COMMAND, "extra", *words), cwd=repo.path, env=env)


def test_help_lists_every_command_with_its_line(cli: Cli) -> None:
    result = cli("--help")
    assert (result.code, result.err) == (0, "")
    for name, (text, _) in COMMANDS.items():
        assert f"  {name:<12}{text}\n" in result.out
    assert result.out.index("Run:") < result.out.index("Plan:") < result.out.index("Setup:")
    assert max(map(len, result.out.splitlines())) <= 100


def test_help_loads_next_to_nothing(repo: Repo) -> None:
    code = "import sys; from holdfast.cli.main import main; main(['--help']); print(*sys.modules)"
    result = run((sys.executable, "-c", code), cwd=repo.path, env=repo.env)
    loaded = set(result.out.splitlines()[-1].split())
    assert not loaded.intersection(HEAVY)
    ours = {name for name in loaded if name.startswith("holdfast")}
    assert ours == {"holdfast", "holdfast.cli", "holdfast.cli.main", "holdfast.errors"}


def test_a_parser_is_built_without_the_heavy_modules(repo: Repo) -> None:
    code = "import sys; from holdfast.cli.parser import Parser; p = Parser(prog='x')\n"
    code += "p.add_argument('--json'); p.parse_args([]); print(*sys.modules)"
    result = run((sys.executable, "-c", code), cwd=repo.path, env=repo.env)
    assert not set(result.out.split()).intersection((*HEAVY[:6], "shutil", "difflib", "inspect"))


def test_the_installed_script_is_the_same_program(repo: Repo) -> None:
    script = os.path.join(os.path.dirname(sys.executable), "holdfast")
    assert run((script, "--version"), cwd=repo.path, env=repo.env) == (0, f"holdfast {__version__}\n", "")


def test_no_command_is_bad_usage(cli: Cli) -> None:
    result = cli()
    assert (result.code, result.out) == (2, "")
    assert result.err == "holdfast: no command given\n  fix: `holdfast --help` lists the commands\n"


@pytest.mark.parametrize(
    ("word", "kind", "fix"),
    [
        ("statsu", "command", "did you mean `holdfast status`?"),
        ("--verison", "option", "did you mean `holdfast --version`?"),
        ("xyzzy", "command", "`holdfast --help` lists the commands"),
    ],
)
def test_an_unknown_word_names_the_nearest_known_one(cli: Cli, word: str, kind: str, fix: str) -> None:
    assert cli(word) == (2, "", f"holdfast: there is no {kind} '{word}'\n  fix: {fix}\n")


def test_bad_arguments_exit_2_with_the_nearest_option(cli: Cli) -> None:
    result = cli("doctor", "--jsno")
    assert result.code == 2
    assert result.err.startswith(
        "holdfast: doctor: unrecognized arguments: --jsno\n  fix: did you mean `--json`?"
    )


def test_options_are_never_abbreviated(cli: Cli) -> None:
    assert cli("doctor", "--js").code == 2


def test_help_of_one_command_exits_0(cli: Cli) -> None:
    result = cli("init", "--help")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("usage: holdfast init [-h] [--force]\n")


def test_an_error_is_words_a_fix_and_its_own_exit_code(repo: Repo) -> None:
    result = with_command(repo, "raise LockHeld('busy', fix='wait\\nor stop it')")
    assert result == (75, "", "holdfast: busy\n  fix: wait\n       or stop it\n")


def test_the_words_of_git_are_shown(repo: Repo) -> None:
    result = with_command(repo, "raise GitError('cannot commit', stderr='fatal: a\\nhint: b\\n')")
    assert result == (1, "", "holdfast: cannot commit\n  git: fatal: a\n  git: hint: b\n")


def test_the_exit_code_of_a_command_is_passed_on(repo: Repo) -> None:
    assert with_command(repo, "return 5").code == 5


def test_an_interrupt_outside_a_run_exits_130(repo: Repo) -> None:
    assert with_command(repo, "raise KeyboardInterrupt") == (130, "", "holdfast: interrupted\n")


def test_a_full_disk_is_words_and_a_fix_not_a_bug(repo: Repo) -> None:
    result = with_command(repo, "import errno; raise OSError(errno.ENOSPC, 'No space left on device', '/x')")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(
        "holdfast: a file operation failed: No space left on device: /x\n  fix: make"
    )


def test_an_error_that_only_a_mistake_can_lead_to_is_a_bug(repo: Repo) -> None:
    assert with_command(repo, "open('/no/such/file')").code == 70


def test_a_bug_becomes_a_report_in_the_state_directory(repo: Repo) -> None:
    state = repo.path / ".git" / "holdfast"
    state.mkdir()
    result = with_command(repo, "raise ValueError('odd \\udcff')", "--long-name", "two words")
    assert (result.code, result.out) == (70, "")
    assert "holdfast: internal error: ValueError: odd" in result.err
    assert "Traceback" not in result.err
    report = reported(result)
    assert report.parent == state
    text = report.read_text(encoding="utf-8")
    assert f"holdfast: {__version__}\n" in text
    assert "git: git version" in text
    assert "command: holdfast extra --long-name 'two words'\n" in text
    assert "Traceback (most recent call last)" in text and "extra_command.py" in text


def test_a_report_holds_no_secret(repo: Repo) -> None:
    key = "sk-ant-api03-" + "aB3_" * 20
    text = reported(with_command(repo, f"raise ValueError('with {key}')", "--long-name", key)).read_text()
    assert key not in text and text.count("[redacted]") >= 2


def test_without_a_state_directory_the_report_goes_to_the_temporary_one(repo: Repo) -> None:
    result = with_command(repo, "1 / 0")
    assert reported(result).parent == Path(repo.env["TMPDIR"])
    assert not (repo.path / ".git" / "holdfast").exists()


def test_a_crash_where_no_report_fits_still_says_what_happened(repo: Repo) -> None:
    result = with_command(repo, "import tempfile; tempfile.tempdir = '/nowhere'; 1 / 0")
    assert result.code == 70
    assert "ZeroDivisionError" in result.err and "none could be written" in result.err


def reported(result: Result) -> Path:
    [path] = [line for line in result.err.splitlines() if line.startswith("  report: ")]
    return Path(path.removeprefix("  report: "))


def test_a_reader_that_goes_away_is_no_error(repo: Repo) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        (*HOLDFAST, "--help"), stdout=writer, stderr=subprocess.PIPE, cwd=repo.path, env=repo.env, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_said_once(repo: Repo) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            (*HOLDFAST, "--help"),
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=repo.path,
            env=repo.env,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith(b"holdfast: cannot write to standard output: No space left on device\n")
    assert b"Exception" not in done.stderr


def test_closed_standard_output_is_no_crash(repo: Repo) -> None:
    command = f"{sys.executable} -m holdfast --help >&-"
    assert run(("/bin/sh", "-c", command), cwd=repo.path, env=repo.env).code == 0


def test_characters_the_terminal_lacks_are_escaped(cli: Cli) -> None:
    result = cli("--help", env={"PYTHONIOENCODING": "ascii"})
    assert result.code == 0
    assert "\\xb7" in result.out
