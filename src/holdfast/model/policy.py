"""How a run behaves: a handful of choices, each with a preset per dialect."""

from enum import StrEnum
from typing import NamedTuple


class Mode(StrEnum):
    TRUNK = "trunk"
    """In the user's own checkout, on its branch."""
    WORKTREE = "worktree"
    """In a working tree of the run's own, on a branch of its own: the user's checkout is not touched."""


class Commits(StrEnum):
    EXECUTOR = "executor"
    """Holdfast makes the commit: recovery needs no agent."""
    AGENT = "agent"
    """The agent makes it and is held to exactly one, with exactly its mark."""


class OnInterrupt(StrEnum):
    RESUME = "resume"
    """Keep the partial work of an interrupted task in the tree and let the agent go on with it."""
    ROLLBACK = "rollback"
    """Put the partial work under rescue, put the tree back to the task's start, begin again."""


class OnFailure(StrEnum):
    STOP = "stop"
    """The run ends with the failed task; its work stays in the tree for a look."""
    CONTINUE = "continue"
    """Its work goes to rescue, and what does not depend on it is still done."""


class Order(StrEnum):
    """What a task waits for when several may be worked on at once."""

    DOCUMENT = "document"
    """What it depends on or, where it does not say, everything that stands before it. Neighbours that are
    tagged as parallel do not wait for each other."""
    PHASES = "phases"
    """What its phase depends on, and what stands before it in a phase that is not safe to do at once."""
    DEPENDENCIES = "dependencies"
    """What it says it depends on, and nothing else."""


class Policy(NamedTuple):
    """Everything the engine must know about how to run, resolved from flags, files and presets."""

    mode: Mode = Mode.WORKTREE
    branch: str = "holdfast/{name}"
    """The run branch in worktree mode; `{name}` is what the plan is called."""
    worktrees: str = ""
    """The directory for working trees; "" is `<repository>-worktrees` beside the repository."""
    copied: tuple[str, ...] = ()
    """Files that git ignores, copied from the user's checkout into a working tree."""
    setup: str = ""
    """A command that makes a new working tree ready."""
    setup_inputs: tuple[str, ...] = ()
    """Files whose change makes it run again."""
    commits: Commits = Commits.EXECUTOR
    on_interrupt: OnInterrupt = OnInterrupt.RESUME
    on_failure: OnFailure = OnFailure.STOP
    interactive: bool = False
    """The agent gets the user's terminal, with its own interface."""
    jobs: int = 1
    """How many tasks may be worked on at once."""
    order: Order = Order.DOCUMENT
    task_branch: str = ""
    """The branch of a task worked on in a tree of its own; `{task}` is its id. "" for one of our naming."""
    max_attempts: int = 3
    stop_when_stuck: int = 3
    """Attempts in a row that fail alike and leave the same files, before the task is given up; 0: never."""
    task_timeout: float = 3600.0
    """Seconds one attempt's agent may run."""
    idle_timeout: float = 1200.0
    """Seconds an agent may stay silent."""
    max_cost: float = 0.0
    """US dollars, all starts of the run together; 0 for no cap."""
    max_wait: float = 21_600.0
    """Seconds one attempt may wait for the service, all its waits together."""
    limit_pause: float = 60.0
    """Seconds to wait for a limit when nobody says until when it lasts; doubled each time."""
    error_pause: float = 2.0
    """Seconds to wait after an error of the service; doubled each time."""
    max_errors: int = 5
    """Errors of the service, in a row, that are no attempts."""
    gate_timeout: float = 900.0
    hook_timeout: float = 600.0
    review_timeout: float = 1800.0
    verify: tuple[str, ...] = ()
    use_plan_verify: bool = True
    """Run the `verify:` commands a plan gives for a task as gates."""
    use_evidence: bool = False
    """Run Entrypoint/Evidence commands as gates too."""
    ci_workflow: bool = False
    """With `commits = agent`, in a tree of its own: a task fails while the project has no CI workflow."""
    require_change: bool = True
    """An attempt that changes no file has failed, unless the agent says why none was needed."""
    allow_dirty: bool = False
    """Run in a dirty tree and make no commits at all."""
    extra_prompt: str = ""
    agent_env: tuple[str, ...] = ()
    """Variables for the agent, each as NAME=value."""
    only: str = ""
    until: str = ""

    @property
    def added_environment(self) -> dict[str, str]:
        return {name: value for name, _, value in (pair.partition("=") for pair in self.agent_env)}
