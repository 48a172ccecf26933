"""Every setting, one row each: what loading, checking, `holdfast init` and docs/CONFIGURATION.md go by."""

from enum import StrEnum
from typing import Any, NamedTuple

from holdfast.model.policy import Policy

Value = str | int | float | bool | tuple[str, ...]


class Kind(StrEnum):
    TEXT = "text"
    PATH = "path"
    CHOICE = "choice"
    COUNT = "count"
    SECONDS = "seconds"
    DOLLARS = "dollars"
    SWITCH = "switch"
    COMMANDS = "commands"
    WORDS = "words"
    VARIABLES = "variables"


class Setting(NamedTuple):
    key: str
    """Dotted path in the TOML file."""
    env: str
    flag: str
    """The option of `holdfast run` that sets it, "" for none."""
    kind: Kind
    default: Value
    help: str
    field: str = ""
    """The field of Policy it fills, "" for those of Config itself."""
    least: int = 0
    most: int = 0
    choices: tuple[str, ...] = ()
    prefix: str = ""
    """A choice too is whatever comes after this."""
    example: Value = ""
    """What `holdfast init` shows where the default is empty."""


_DEFAULTS = Policy()
_DAY = 86_400


def _policy(key: str, env: str, flag: str, kind: Kind, field: str, help: str, **more: Any) -> Setting:
    return Setting(key, env, flag, kind, getattr(_DEFAULTS, field), help, field, **more)


_WITH_A_MODEL = ("claude", "codex", "gemini", "opencode", "goose", "qwen", "copilot")

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "agent",
        "HOLDFAST_AGENT",
        "--agent",
        Kind.CHOICE,
        "command",
        "Which agent does the work: one known by name, any program (`agent_cmd`), or a `script`.",
        choices=(*_WITH_A_MODEL, "command", "scripted"),
        prefix="acp:",
    ),
    Setting(
        "agent_cmd",
        "HOLDFAST_AGENT_CMD",
        "--agent-cmd",
        Kind.TEXT,
        "",
        "The program to run as the agent: the prompt on its standard input, the workspace as its directory.",
        example="claude -p --permission-mode bypassPermissions",
    ),
    Setting(
        "model",
        "HOLDFAST_MODEL",
        "--model",
        Kind.TEXT,
        "",
        "The model that an agent known by name is to use; without it the agent uses its own choice.",
        example="opus",
    ),
    Setting(
        "permission_mode",
        "HOLDFAST_PERMISSION_MODE",
        "--permission-mode",
        Kind.TEXT,
        "",
        "What an agent known by name may do unasked, in its own words; without it edits below the workspace.",
        example="bypassPermissions",
    ),
    _policy(
        "interactive",
        "HOLDFAST_INTERACTIVE",
        "--interactive",
        Kind.SWITCH,
        "interactive",
        "The agent gets your terminal, with its own interface; its work is checked when you leave it.",
    ),
    Setting(
        "max_turns",
        "HOLDFAST_MAX_TURNS",
        "--max-turns",
        Kind.COUNT,
        0,
        "How many turns claude may take in one attempt. 0 is no limit.",
        least=0,
        most=10_000,
        example=100,
    ),
    Setting(
        "agent_args",
        "HOLDFAST_AGENT_ARGS",
        "--agent-args",
        Kind.WORDS,
        (),
        "More arguments for an agent known by name.",
        example=("--verbose",),
    ),
    Setting(
        "report_tool",
        "HOLDFAST_REPORT_TOOL",
        "",
        Kind.SWITCH,
        True,
        "Give claude and codex a tool to report the result with; without it they say it in tags.",
    ),
    _policy(
        "agent_env",
        "HOLDFAST_AGENT_ENV",
        "",
        Kind.VARIABLES,
        "agent_env",
        "Variables added to the environment of the agent, whichever it is.",
        example=("NO_PROXY=localhost",),
    ),
    Setting(
        "script",
        "HOLDFAST_SCRIPT",
        "--script",
        Kind.PATH,
        "",
        "The file the scripted agent plays; for demonstrations and tests.",
        example="agent-script.toml",
    ),
    Setting(
        "existing_build",
        "HOLDFAST_EXISTING_BUILD",
        "",
        Kind.CHOICE,
        "continue",
        "What a run does with a build that is there: go on with it, or ask, on a terminal, what to do.",
        choices=("continue", "ask"),
    ),
    _policy(
        "mode",
        "HOLDFAST_MODE",
        "--mode",
        Kind.CHOICE,
        "mode",
        "Where the work happens: a working tree and branch of its own, or your checkout (trunk).",
        choices=("worktree", "trunk"),
    ),
    _policy(
        "branch",
        "HOLDFAST_BRANCH",
        "--branch",
        Kind.TEXT,
        "branch",
        "The branch that gets the commits in worktree mode; {name} stands for the plan's name.",
    ),
    _policy(
        "jobs",
        "HOLDFAST_JOBS",
        "--jobs",
        Kind.COUNT,
        "jobs",
        "How many tasks may be worked on at once, each in a working tree of its own.",
        least=1,
        most=64,
    ),
    _policy(
        "order",
        "HOLDFAST_ORDER",
        "--order",
        Kind.CHOICE,
        "order",
        "What a task waits for when several may be worked on: all before it, its phase, or dependencies.",
        choices=("document", "phases", "dependencies"),
    ),
    _policy(
        "task_branch",
        "HOLDFAST_TASK_BRANCH",
        "",
        Kind.TEXT,
        "task_branch",
        "The branch of a task in a tree of its own; {task} is its id. Without it one of our naming.",
        example="ticket/{task}",
    ),
    _policy(
        "max_attempts",
        "HOLDFAST_MAX_ATTEMPTS",
        "--max-attempts",
        Kind.COUNT,
        "max_attempts",
        "How often a task is tried before it counts as failed.",
        least=1,
        most=100,
    ),
    _policy(
        "stop_when_stuck",
        "HOLDFAST_STOP_WHEN_STUCK",
        "",
        Kind.COUNT,
        "stop_when_stuck",
        "A task is given up when so many attempts in a row fail alike and leave the same files. 0 is never.",
        least=0,
        most=100,
    ),
    _policy(
        "commits",
        "HOLDFAST_COMMITS",
        "--commits",
        Kind.CHOICE,
        "commits",
        "Who makes a task's commit: Holdfast itself (executor), or the agent, held to exactly one.",
        choices=("executor", "agent"),
    ),
    _policy(
        "on_interrupt",
        "HOLDFAST_ON_INTERRUPT",
        "--on-interrupt",
        Kind.CHOICE,
        "on_interrupt",
        "What happens to the partial work of an interrupted task: resume with it, or rollback (it is kept).",
        choices=("resume", "rollback"),
    ),
    _policy(
        "on_failure",
        "HOLDFAST_ON_FAILURE",
        "--on-failure",
        Kind.CHOICE,
        "on_failure",
        "After a failed task: stop, or continue with what does not depend on it (its work is kept).",
        choices=("stop", "continue"),
    ),
    _policy(
        "task_timeout",
        "HOLDFAST_TASK_TIMEOUT",
        "--task-timeout",
        Kind.SECONDS,
        "task_timeout",
        "How long the agent may work on one attempt.",
        least=1,
        most=7 * _DAY,
    ),
    _policy(
        "idle_timeout",
        "HOLDFAST_IDLE_TIMEOUT",
        "--idle-timeout",
        Kind.SECONDS,
        "idle_timeout",
        "How long the agent may print nothing before it counts as stuck.",
        least=1,
        most=7 * _DAY,
    ),
    _policy(
        "max_cost",
        "HOLDFAST_MAX_COST",
        "--max-cost",
        Kind.DOLLARS,
        "max_cost",
        "What the agents may cost in all: no attempt begins once it is spent (exit 5). 0 is no cap.",
        least=0,
        most=1_000_000,
        example=20.0,
    ),
    _policy(
        "max_wait",
        "HOLDFAST_MAX_WAIT",
        "--max-wait",
        Kind.SECONDS,
        "max_wait",
        "How long an attempt may wait for a usage limit to reset before the run ends with exit 5.",
        least=0,
        most=7 * _DAY,
    ),
    _policy(
        "extra_prompt",
        "HOLDFAST_EXTRA_PROMPT",
        "--extra-prompt",
        Kind.TEXT,
        "extra_prompt",
        "Text added to every prompt, such as the rules of the house.",
        example="Follow CONTRIBUTING.md.",
    ),
    _policy(
        "verify.commands",
        "HOLDFAST_VERIFY",
        "--verify",
        Kind.COMMANDS,
        "verify",
        "Commands that must succeed before a task is committed; otherwise their output is feedback.",
        example=("make test",),
    ),
    _policy(
        "verify.plan",
        "HOLDFAST_VERIFY_PLAN",
        "",
        Kind.SWITCH,
        "use_plan_verify",
        "Also run the `verify:` commands that the plan gives for a task.",
    ),
    _policy(
        "verify.evidence",
        "HOLDFAST_VERIFY_EVIDENCE",
        "",
        Kind.SWITCH,
        "use_evidence",
        "Also run the Entrypoint and Evidence commands that the plan gives for a task.",
    ),
    _policy(
        "verify.timeout",
        "HOLDFAST_VERIFY_TIMEOUT",
        "",
        Kind.SECONDS,
        "gate_timeout",
        "How long one of these commands may take.",
        least=1,
        most=_DAY,
    ),
    _policy(
        "verify.ci_workflow",
        "HOLDFAST_VERIFY_CI_WORKFLOW",
        "",
        Kind.SWITCH,
        "ci_workflow",
        "With `commits = agent` in worktree mode: a task fails while .github/workflows holds no workflow.",
    ),
    _policy(
        "verify.require_change",
        "HOLDFAST_VERIFY_REQUIRE_CHANGE",
        "",
        Kind.SWITCH,
        "require_change",
        "An attempt that changes no file has failed, unless the agent says why none was needed.",
    ),
    Setting(
        "review.agent",
        "HOLDFAST_REVIEW_AGENT",
        "--review-agent",
        Kind.CHOICE,
        "none",
        "Which agent reads the work before it is committed. What it finds is feedback for the next attempt.",
        choices=("none", *_WITH_A_MODEL, "command"),
        prefix="acp:",
    ),
    Setting(
        "review.command",
        "HOLDFAST_REVIEW_COMMAND",
        "--review-cmd",
        Kind.TEXT,
        "",
        "The program to run as the reviewer: the prompt on its standard input, the verdict as a tag.",
        example="my-reviewer --strict",
    ),
    Setting(
        "review.model",
        "HOLDFAST_REVIEW_MODEL",
        "",
        Kind.TEXT,
        "",
        "The model that the reviewer is to use; without it the agent uses its own choice.",
        example="opus",
    ),
    _policy(
        "review.timeout",
        "HOLDFAST_REVIEW_TIMEOUT",
        "",
        Kind.SECONDS,
        "review_timeout",
        "How long a review may take.",
        least=1,
        most=_DAY,
    ),
    _policy(
        "retry.limit_pause",
        "HOLDFAST_RETRY_LIMIT_PAUSE",
        "",
        Kind.SECONDS,
        "limit_pause",
        "The first wait for a limit that does not say when it resets; each further one is twice as long.",
        least=1,
        most=_DAY,
    ),
    _policy(
        "retry.error_pause",
        "HOLDFAST_RETRY_ERROR_PAUSE",
        "",
        Kind.SECONDS,
        "error_pause",
        "The first wait after an error of the agent's service; each further one is twice as long, to 60 s.",
        least=0,
        most=3600,
    ),
    _policy(
        "retry.errors",
        "HOLDFAST_RETRY_ERRORS",
        "",
        Kind.COUNT,
        "max_errors",
        "How many errors of the agent's service in a row do not count as attempts.",
        least=0,
        most=100,
    ),
    _policy(
        "hooks.timeout",
        "HOLDFAST_HOOKS_TIMEOUT",
        "",
        Kind.SECONDS,
        "hook_timeout",
        "How long the project's own commit hooks may take.",
        least=1,
        most=_DAY,
    ),
    _policy(
        "worktree.directory",
        "HOLDFAST_WORKTREE_DIRECTORY",
        "",
        Kind.PATH,
        "worktrees",
        "Where working trees are made; without it in REPOSITORY-worktrees, beside the repository.",
        example="../trees",
    ),
    _policy(
        "worktree.copy",
        "HOLDFAST_WORKTREE_COPY",
        "",
        Kind.WORDS,
        "copied",
        "Files that git ignores and the work needs: copied from your checkout into a working tree.",
        example=(".env",),
    ),
    _policy(
        "worktree.setup",
        "HOLDFAST_WORKTREE_SETUP",
        "",
        Kind.TEXT,
        "setup",
        "A command that makes a new working tree ready; run again when its inputs have changed.",
        example="npm ci",
    ),
    _policy(
        "worktree.setup_inputs",
        "HOLDFAST_WORKTREE_SETUP_INPUTS",
        "",
        Kind.WORDS,
        "setup_inputs",
        "The files whose change makes the set-up command run again.",
        example=("package-lock.json",),
    ),
)
