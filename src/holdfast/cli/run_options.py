"""What can be said to `holdfast run`."""

import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "plan", nargs="?", metavar="PLAN", help="plan file or directory (default: the last one)"
    )
    where = parser.add_argument_group("where")
    where.add_argument(
        "--worktree",
        dest="mode",
        action="store_const",
        const="worktree",
        help="work in a tree and on a branch of its own (the default)",
    )
    where.add_argument(
        "--trunk",
        dest="mode",
        action="store_const",
        const="trunk",
        help="work in this checkout, on its branch",
    )
    where.add_argument("--mode", metavar="MODE", help="the same in words: worktree or trunk")
    where.add_argument(
        "--branch", metavar="NAME", help="the branch of its own; {name} is the plan's (holdfast/{name})"
    )
    where.add_argument(
        "--setup-only", action="store_true", help="make branch and tree and set them up, then stop"
    )
    where.add_argument(
        "--allow-dirty", action="store_true", help="run in a dirty tree and make no commits at all"
    )
    who = parser.add_argument_group("agent")
    who.add_argument(
        "--agent",
        metavar="NAME",
        help="claude, codex, gemini, opencode, goose, qwen, copilot, acp:CMD, command or scripted",
    )
    who.add_argument(
        "--agent-cmd", metavar="CMD", help="run any program as the agent: the prompt on its stdin"
    )
    who.add_argument("--model", metavar="M", help="the model the agent is to use")
    who.add_argument(
        "--permission-mode", metavar="MODE", help="what the agent may do unasked, in its own words"
    )
    who.add_argument("--max-turns", metavar="N", help="turns claude may take in one attempt")
    who.add_argument("--agent-args", metavar="WORDS", help="more arguments for the agent")
    who.add_argument("--script", metavar="FILE", help="what the scripted agent plays")
    who.add_argument(
        "--interactive", action="store_const", const=True, help="the agent's own interface, in this terminal"
    )
    who.add_argument(
        "--non-interactive",
        dest="interactive",
        action="store_const",
        const=False,
        help="the agent works without questions (the default)",
    )
    who.add_argument("--extra-prompt", metavar="TEXT", help="added to every prompt")
    how = parser.add_argument_group("how")
    how.add_argument("-j", "--jobs", metavar="N", help="tasks worked on at once, each in its own tree (1)")
    how.add_argument(
        "--order",
        metavar="HOW",
        help="what a task waits for then: document (all before it), phases or dependencies",
    )
    how.add_argument("--max-attempts", metavar="N", help="attempts a task gets (3)")
    how.add_argument(
        "--verify", metavar="CMD", action="append", help="must exit 0 before a commit (repeatable)"
    )
    how.add_argument(
        "--review-agent",
        metavar="NAME",
        help="who reads the work before a commit (none)",
    )
    how.add_argument(
        "--review-cmd", metavar="CMD", help="any program as the reviewer: the prompt on its stdin"
    )
    how.add_argument("--commits", metavar="WHO", help="executor (Holdfast, the default) or agent (it, once)")
    how.add_argument(
        "--on-interrupt", metavar="HOW", help="resume (keep partial work) or rollback (begin again)"
    )
    how.add_argument(
        "--on-failure", metavar="HOW", help="stop, or continue with what does not depend on the failed task"
    )
    how.add_argument("--task-timeout", metavar="S", help="seconds one attempt may take (3600)")
    how.add_argument("--idle-timeout", metavar="S", help="seconds an agent may stay silent (1200)")
    how.add_argument("--max-cost", metavar="USD", help="stop before the next attempt once this much is spent")
    how.add_argument("--max-wait", metavar="S", help="seconds to wait for a usage limit to reset (21600)")
    what = parser.add_argument_group("what")
    what.add_argument("--only", metavar="TASK", help="this task alone")
    what.add_argument("--until", metavar="TASK", help="up to and including this task")
    what.add_argument(
        "--resume", action="store_true", help="only go on with what was begun: refuse to start from nothing"
    )
    what.add_argument("--auto-continue", action="store_true", help="go on with an existing build unasked")
    what.add_argument(
        "--force-new", action="store_true", help="begin the plan again; what was recorded is archived"
    )
    what.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    what.add_argument(
        "--ignore-uncommitted-idea-changes", action="store_true", help="do not ask for committed idea files"
    )
    shown = parser.add_argument_group("output")
    shown.add_argument("--json", action="store_true", help="one JSON object per event on standard output")
    shown.add_argument("--quiet", action="store_true", help="only recoveries, failures and the end")
