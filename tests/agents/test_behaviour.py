"""What every agent must do, checked on real processes started from its own invocation."""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_stand_in import stand_in as acp_stand_in
from holdfast.agents.acp import Acp
from holdfast.agents.activity import Said, readable
from holdfast.agents.base import Agent, Assignment, Ending, Options, Outcome, OutcomeKind
from holdfast.agents.claude import Claude
from holdfast.agents.codex import Codex
from holdfast.agents.command import Command
from holdfast.agents.plain import FINAL_BYTES, FINAL_LINES, TAIL_BYTES, PlainListener
from holdfast.agents.scripted import Scripted
from holdfast.model.plan import Status, Task
from stand_ins import stand_in

SHELL = {
    "good work": "echo hello > made.txt; echo SUGGESTED_COMMIT_MESSAGE: Make it; "
    "echo '<SUCCESS>task implemented: made</SUCCESS>'",
    "gives up": "echo '<FAILURE>no compiler\nhere</FAILURE>'",
    "gives up with status 3": "echo '<FAILURE>no compiler</FAILURE>'; exit 3",
    "works and exits 1": "echo hello > made.txt; echo '<SUCCESS>made</SUCCESS>'; exit 1",
    "says nothing": ":",
    "invalid UTF-8": r"printf 'caf\351 \377\n<SUCCESS>d\351j\340</SUCCESS>\n'",
    "5000 lines": "yes 'line of output' | head -n 5000; echo '<SUCCESS>long</SUCCESS>'",
    "forged tags first": "echo '<FAILURE>forged</FAILURE>'; echo SUGGESTED_COMMIT_MESSAGE: Forged; "
    "echo END_COMMIT_MESSAGE; echo SUGGESTED_COMMIT_MESSAGE: Real; echo '<SUCCESS>real</SUCCESS>'",
    "killed": "kill -SEGV $$",
    "tells its surroundings": '{ echo "$HOLDFAST_TASK_ID|$HOLDFAST_TASK_TITLE|$HOLDFAST_ATTEMPT'
    '|$HOLDFAST_PLAN|$HOLDFAST_RUN|$HOLDFAST_PROMPT_FILE"; pwd -P; cat; } > told.txt',
}

SCRIPT = {
    "good work": """message = "Make it"
        success = "task implemented: made"
        actions = [{ write = "made.txt", text = "hello\\n" }]""",
    "gives up": 'failure = "no compiler\\nhere"',
    "gives up with status 3": 'actions = [{ say = "<FAILURE>no compiler</FAILURE>" }, { exit = 3 }]',
    "works and exits 1": """actions = [
        { write = "made.txt", text = "hello\\n" }, { say = "<SUCCESS>made</SUCCESS>" }, { exit = 1 }]""",
    "says nothing": "silent = true",
    "invalid UTF-8": r"""tag = false
        actions = [{ run = ["printf", 'caf\351 \377\n<SUCCESS>d\351j\340</SUCCESS>\n'] }]""",
    "5000 lines": 'success = "long"\nactions = [{ say = "line of output", repeat = 5000 }]',
    "forged tags first": """message = "Real"
        success = "real"
        actions = [{ say = "<FAILURE>forged</FAILURE>" },
          { say = "SUGGESTED_COMMIT_MESSAGE: Forged\\nEND_COMMIT_MESSAGE" }]""",
    "killed": 'actions = [{ kill_self = "SEGV" }]',
    "tells its surroundings": f"actions = [{{ run = ['sh','-c','''{SHELL['tells its surroundings']}'''] }}]",
}

PLAYED = {
    "good work": "echo hello > made.txt; cat {finished}",
    "gives up": "cat {gives-up}",
    "gives up with status 3": "cat {gives-up}; exit 3",
    "works and exits 1": "echo hello > made.txt; cat {finished}; exit 1",
    "says nothing": ":",
    "killed": "head -n 3 {finished}; kill -SEGV $$",
    "tells its surroundings": SHELL["tells its surroundings"],
}
"""What stands in for the real one does, and which recording it plays."""

SPOKEN: dict[str, list[list[object]]] = {
    "good work": [
        ["sh", "echo hello > made.txt"],
        ["say", "SUGGESTED_COMMIT_MESSAGE: Make it\n<SUCCESS>task imple"],
        ["say", "mented: made</SUCCESS>"],
    ],
    "gives up": [["say", "<FAILURE>no compiler\nhere</FAILURE>"]],
    "says nothing": [["exit", 0]],
    "killed": [["say", "<SUCCESS>made</SUCCESS>"], ["kill", int(signal.SIGSEGV)]],
    "tells its surroundings": [["sh", SHELL["tells its surroundings"]]],
}
"""What stands in for an agent behind ACP does when it is prompted."""

TASK = Task("1.2", "Make it", Status.PENDING, 3)


def command(behaviour: str, directory: Path) -> Agent:
    return Command(SHELL[behaviour])


def scripted(behaviour: str, directory: Path) -> Agent:
    script = directory / "script.toml"
    script.write_text(f'[tasks."{TASK.id}"]\n{SCRIPT[behaviour]}\n')
    return Scripted(str(script))


def claude(behaviour: str, directory: Path) -> Agent:
    path = stand_in("claude", PLAYED[behaviour], directory, os.environ["PATH"])
    return Claude(Options({"PATH": path}))


def codex(behaviour: str, directory: Path) -> Agent:
    path = stand_in("codex", PLAYED[behaviour], directory, os.environ["PATH"])
    return Codex(Options({"PATH": path}))


def acp(behaviour: str, directory: Path) -> Agent:
    return Acp(acp_stand_in(directory, *SPOKEN[behaviour]), Options(os.environ))


Build = Callable[[str, Path], Agent]

every_agent = pytest.mark.parametrize("build", [command, scripted, claude, codex, acp])
every_agent_whose_status_counts = pytest.mark.parametrize("build", [command, scripted, claude, codex])
"""Behind ACP a turn has ended when the agent says so; the bridge ends its process then."""
every_plain_agent = pytest.mark.parametrize("build", [command, scripted])
every_agent_with_events = pytest.mark.parametrize("build", [claude, codex, acp])


class Stage:
    """A workspace, and a way to let an agent loose in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.workspace = directory / "workspace"
        self.workspace.mkdir()
        self.prompt_file = directory / "prompt.md"
        self.prompt_file.write_text("Please make it.\n")
        self.shown: list[str] = []

    def play(self, agent: Agent, cause: OutcomeKind | None = None) -> Outcome:
        agent.require()
        assignment = Assignment("run-7", "plan.md", TASK, 2, "", str(self.prompt_file), str(self.workspace))
        invocation, listener = agent.invocation(assignment), agent.listener()
        with open(invocation.stdin, "rb") as stdin:
            ended = subprocess.run(
                invocation.argv,
                env={
                    **os.environ,
                    "PATH": f"{self.directory}:{os.environ['PATH']}",
                    **invocation.environment,
                },
                cwd=self.workspace,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=60,
                check=False,
            )
        seen = [activity for line in ended.stdout.split(b"\n")[:-1] for activity in listener.heard(line)]
        self.shown = [text for activity in seen for text in readable(activity)]
        died = ended.returncode < 0
        code, number = (None, -ended.returncode) if died else (ended.returncode, None)
        return listener.outcome(Ending(code, number, cause, 0))


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@every_agent
def test_good_work_is_finished_with_note_and_message(build: Build, stage: Stage) -> None:
    outcome = stage.play(build("good work", stage.directory))
    assert outcome[:4] == (OutcomeKind.FINISHED, "", "Make it", "task implemented: made")
    assert (stage.workspace / "made.txt").read_text() == "hello\n"
    assert "<SUCCESS>task implemented: made</SUCCESS>" in outcome.tail
    assert "<SUCCESS>task implemented: made</SUCCESS>" in stage.shown


@every_agent
def test_an_agent_that_gives_up_is_refused_with_its_reason_on_one_line(build: Build, stage: Stage) -> None:
    outcome = stage.play(build("gives up", stage.directory))
    assert outcome[:4] == (OutcomeKind.REFUSED, "no compiler here", "", "")


@every_agent_whose_status_counts
def test_giving_up_with_a_status_tells_both(build: Build, stage: Stage) -> None:
    outcome = stage.play(build("gives up with status 3", stage.directory))
    assert outcome.kind is OutcomeKind.REFUSED
    assert outcome.reason.startswith("exited with status 3: no compiler")


@every_agent_whose_status_counts
def test_a_success_tag_does_not_outweigh_the_exit_status(build: Build, stage: Stage) -> None:
    outcome = stage.play(build("works and exits 1", stage.directory))
    assert outcome[:2] == (OutcomeKind.FAILED, "exited with status 1")
    assert (stage.workspace / "made.txt").exists()


@every_agent_with_events
def test_silence_and_exit_0_is_no_success_of_an_agent_that_speaks_in_events(
    build: Build, stage: Stage
) -> None:
    assert stage.play(build("says nothing", stage.directory)).kind is OutcomeKind.INTERRUPTED


@every_plain_agent
def test_silence_and_exit_0_is_a_claim_without_words(build: Build, stage: Stage) -> None:
    assert stage.play(build("says nothing", stage.directory)) == Outcome(OutcomeKind.FINISHED, "", "", "", "")
    assert stage.shown == []


@every_plain_agent
def test_invalid_utf8_is_replaced(build: Build, stage: Stage) -> None:
    outcome = stage.play(build("invalid UTF-8", stage.directory))
    assert outcome.kind is OutcomeKind.FINISHED
    assert outcome.success_note == "d\ufffdj\ufffd"
    assert "caf\ufffd \ufffd" in stage.shown


@every_plain_agent
def test_long_output_leaves_a_short_tail(build: Build, stage: Stage) -> None:
    outcome = stage.play(build("5000 lines", stage.directory))
    assert outcome.success_note == "long"
    assert stage.shown.count("line of output") == 5000
    assert len(outcome.tail.split("\n")) == 40
    assert len(outcome.tail.encode()) <= TAIL_BYTES


@every_plain_agent
def test_tags_printed_earlier_are_overridden_by_the_final_ones(build: Build, stage: Stage) -> None:
    outcome = stage.play(build("forged tags first", stage.directory))
    assert outcome[:4] == (OutcomeKind.FINISHED, "", "Real", "real")


@every_agent
def test_death_by_signal_is_a_crash_with_its_name(build: Build, stage: Stage) -> None:
    outcome = stage.play(build("killed", stage.directory))
    assert outcome[:2] == (OutcomeKind.CRASHED, "killed by SIGSEGV")


@every_agent
@pytest.mark.parametrize(
    ("cause", "word"),
    [
        (OutcomeKind.TIMED_OUT, "task timeout"),
        (OutcomeKind.SILENT, "idle timeout"),
        (OutcomeKind.INTERRUPTED, "interrupted"),
    ],
)
def test_an_end_we_made_outweighs_what_the_agent_said(
    build: Build, stage: Stage, cause: OutcomeKind, word: str
) -> None:
    outcome = stage.play(build("gives up", stage.directory), cause)
    assert outcome.kind is cause
    assert word in outcome.reason


@every_agent
def test_the_agent_gets_task_workspace_and_prompt(build: Build, stage: Stage) -> None:
    stage.play(build("tells its surroundings", stage.directory))
    told = (stage.workspace / "told.txt").read_text().splitlines()
    assert told == [
        f"1.2|Make it|2|plan.md|run-7|{stage.prompt_file}",
        str(stage.workspace.resolve()),
        "Please make it.",
    ]


@every_agent
def test_what_the_environment_cannot_hold_is_left_out(build: Build, stage: Stage) -> None:
    task = TASK._replace(title="a\0b" + "c" * 1_000_000)
    assignment = Assignment("run-7", "plan.md", task, 1, "", "prompt.md", ".")
    title = build("says nothing", stage.directory).invocation(assignment).environment["HOLDFAST_TASK_TITLE"]
    assert title.startswith("abc")
    assert len(title) < 10_000


def test_the_listener_keeps_a_bounded_end_of_the_output() -> None:
    listener = PlainListener()
    for _ in range(5000):
        listener.heard(b"x" * 5000)
    assert sum(map(len, listener._lines)) <= FINAL_BYTES
    listener.heard(b"y" * 1_000_000)
    assert sum(map(len, listener._lines)) == FINAL_BYTES
    for _ in range(5000):
        listener.heard(b"")
    assert len(listener._lines) <= FINAL_LINES


def test_a_claim_that_scrolled_out_of_the_final_message_counts_no_more() -> None:
    listener = PlainListener()
    listener.heard(b"<FAILURE>quoted from a file</FAILURE>")
    for _ in range(FINAL_LINES):
        listener.heard(b"more work")
    assert listener.outcome(Ending(0, None, None, 0)).kind is OutcomeKind.FINISHED


def test_what_is_shown_carries_no_escapes_and_only_the_last_state_of_a_progress_bar() -> None:
    listener = PlainListener()
    assert listener.heard(b"\x1b[32m  10%\r  99%\x1b[0m\x07") == (Said("  99%"),)
    assert listener.heard(b"  ") == ()


@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        (Ending(137, None, None, 0), "exited with status 137 (128 + SIGKILL)"),
        (Ending(255, None, None, 0), "exited with status 255"),
        (Ending(None, signal.SIGRTMIN + 5, None, 0), f"killed by signal {signal.SIGRTMIN + 5}"),
        (Ending(None, None, None, 0), "killed by a signal"),
    ],
)
def test_reasons_name_the_signal_where_there_is_one(ending: Ending, reason: str) -> None:
    assert PlainListener().outcome(ending).reason == reason
