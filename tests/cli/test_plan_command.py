import json
from pathlib import Path

import pytest

from scratch import Cli, Repo

PLAN = """\
# Parser

- [x] T1 Read the file
- [ ] T2 Build the tree
  Every node knows its line.
  depends: T3
- [ ] T3 Find the tokens
  verify: make test
- [-] T4 Write a manual
"""


@pytest.fixture
def plan(repo: Repo) -> str:
    repo.write("plan.md", PLAN)
    return "plan.md"


def test_check_says_what_a_run_would_make_of_it(cli: Cli, plan: str) -> None:
    result = cli("plan", "check", plan)
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        "plan          plan.md (markdown)",
        "tasks         4: 1 done, 2 open, 1 skipped",
        "dependencies  T2 after T3",
        "order         T3, T2",
        "next          T3: Find the tokens",
    ]


def test_check_as_one_object(cli: Cli, plan: str) -> None:
    assert json.loads(cli("plan", "check", plan, "--json").out) == {
        "plan": "plan.md",
        "dialect": "markdown",
        "total": 4,
        "done": 1,
        "skipped": 1,
        "open": 2,
        "order": ["T3", "T2"],
        "dependencies": {"T2": ["T3"]},
    }


def test_a_long_plan_is_explained_on_one_screen(cli: Cli, repo: Repo) -> None:
    tasks = (f"- [ ] T{n} Do {n}\n  depends: T{n - 1}\n" for n in range(1, 500))
    repo.write("plan.md", "- [ ] T0 Start\n" + "".join(tasks))
    lines = cli("plan", "check", "plan.md").out.splitlines()
    assert len(lines) < 24
    assert "              … 487 more" in lines
    assert lines[-2].endswith("T11, … 488 more")


def test_a_task_that_waits_for_a_long_phase_names_some_of_it(cli: Cli, repo: Repo) -> None:
    wanted = ", ".join(f"T{n}" for n in range(20))
    tasks = "".join(f"- [ ] T{n} Do {n}\n" for n in range(20))
    repo.write("plan.md", f"{tasks}- [ ] Last\n  depends: {wanted}\n")
    assert (
        "after T0, T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, … 8 more\n"
        in cli("plan", "check", "plan.md").out
    )
    assert cli("plan", "list", "plan.md").out.endswith("T11, … 8 more)\n")


def test_next_shows_the_task_as_written(cli: Cli, plan: str) -> None:
    assert cli("plan", "next", plan) == (0, "T3: Find the tokens\n\nverify: make test\n", "")


def test_next_as_one_object(cli: Cli, plan: str) -> None:
    found = json.loads(cli("plan", "next", plan, "--json").out)
    assert (found["plan"], found["dialect"]) == ("plan.md", "markdown")
    task = found["task"]
    assert (task["id"], task["line"], task["verify"]) == ("T3", 7, ["make test"])
    assert task["body"] == "verify: make test"


def test_next_of_a_finished_plan_says_so(cli: Cli, repo: Repo) -> None:
    repo.write("plan.md", "- [x] T1 One\n- [-] T2 Two\n")
    assert cli("plan", "next", "plan.md") == (0, "nothing is next: all 2 tasks are done\n", "")
    assert json.loads(cli("plan", "next", "plan.md", "--json").out)["task"] is None


def test_list_has_one_line_per_task(cli: Cli, plan: str) -> None:
    assert cli("plan", "list", plan).out.splitlines() == [
        "[x] T1  Read the file",
        "[ ] T2  Build the tree  (after T3)",
        "[ ] T3  Find the tokens",
        "[-] T4  Write a manual",
    ]


def test_list_as_one_object(cli: Cli, plan: str) -> None:
    result = cli("plan", "list", plan, "--json")
    assert result.out.count("\n") == 1
    found = json.loads(result.out)
    assert list(found) == ["plan", "dialect", "tasks"]
    assert [t["status"] for t in found["tasks"]] == ["completed", "pending", "pending", "skipped"]
    assert found["tasks"][1] == {
        "id": "T2",
        "key": found["tasks"][1]["key"],
        "title": "Build the tree",
        "status": "pending",
        "section": found["tasks"][1]["section"],
        "depends_on": ["T3"],
        "body": "Every node knows its line.\ndepends: T3",
        "steps": [],
        "acceptance": [],
        "verify": [],
        "evidence": [],
        "files": [],
        "critical": False,
        "parallel": False,
        "line": 4,
    }
    assert len({t["key"] for t in found["tasks"]}) == 4


def test_control_characters_of_a_title_do_not_reach_the_terminal(cli: Cli, repo: Repo) -> None:
    repo.write("plan.md", "- [ ] T1 Red \x1b[31malert\x07\n")
    for action in ("check", "next", "list"):
        assert "\x1b" not in cli("plan", action, "plan.md").out


def test_a_plan_can_be_read_without_a_repository(cli: Cli, tmp_path: Path) -> None:
    place = tmp_path / "elsewhere"
    place.mkdir()
    (place / "plan.md").write_text(PLAN, encoding="utf-8")
    found = json.loads(cli("plan", "list", "plan.md", "--json", cwd=place).out)
    assert found["plan"] == "plan.md"
    assert cli("plan", "next", "../elsewhere/plan.md", cwd=place).code == 0


def test_a_plan_outside_the_repository_can_be_looked_at(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text(PLAN, encoding="utf-8")
    assert cli("plan", "check", str(tmp_path / "other.md")).out.startswith("plan          ../other.md")


def test_from_a_subdirectory_the_path_is_that_of_the_repository(cli: Cli, repo: Repo, plan: str) -> None:
    below = repo.path / "src"
    below.mkdir()
    assert json.loads(cli("plan", "list", "../plan.md", "--json", cwd=below).out)["plan"] == "plan.md"


def test_the_plan_as_it_is_now_is_read_not_the_committed_one(cli: Cli, repo: Repo, plan: str) -> None:
    repo.commit("Plan")
    repo.write("plan.md", PLAN.replace("[ ] T3", "[x] T3"))
    assert cli("plan", "next", plan).out.startswith("T2: Build the tree")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "bad.md: no such file"),
        (b"", "bad.md: no tasks found: the plan is empty"),
        (b"# Title\n\nprose\n", "bad.md: no tasks found"),
        (b"- [ ] T1 One\n- [ ] T1 Two\n", "bad.md:2: two tasks cannot be told apart"),
        (b"- [ ] T1 One\n  depends: T9\n", "bad.md:1: task T1 depends on T9"),
        (b"- [ ] T1 One\n  depends: T2\n- [ ] T2 Two\n  depends: T1\n", "bad.md:1: these tasks wait for"),
        (b"- [ ] T1 One\n  depends: T1\n", "bad.md:1: these tasks wait for each other: T1 -> T1"),
        (
            b"- [ ] T1 One\n<<<<<<< HEAD\n- [x] T2\n=======\n>>>>>>> x\n",
            "bad.md:2: an unresolved merge conflict",
        ),
        (b"- [ ] T1 One\n- [ ] T2 caf\xe9\n", "bad.md:2: the plan is not UTF-8"),
        (b"- [ ] \n", "bad.md:1: a task without a title"),
        (b"```\n- [ ] T1 One\n", "bad.md:1: the code fence or comment opened here is never closed"),
    ],
)
@pytest.mark.parametrize("action", ["check", "next", "list"])
def test_a_bad_plan_exits_2_with_the_place_and_a_fix(
    cli: Cli, repo: Repo, action: str, content: bytes | None, words: str
) -> None:
    if content is not None:
        repo.write("bad.md", content)
    result = cli("plan", action, "bad.md", "--json")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"holdfast: {words}")
    assert "\n  fix: " in result.err
    assert "Traceback" not in result.err


def test_a_directory_without_a_plan_exits_2(cli: Cli, repo: Repo) -> None:
    (repo.path / "docs").mkdir()
    result = cli("plan", "check", "docs")
    assert result.code == 2
    assert result.err.startswith("holdfast: docs: a directory that holds no plan Holdfast knows\n  fix: ")


def test_what_is_no_file_at_all_exits_2(cli: Cli, repo: Repo) -> None:
    (repo.path / "loop.md").symlink_to("loop.md")
    result = cli("plan", "check", "loop.md")
    assert result.code == 2
    assert result.err.startswith("holdfast: loop.md: ")


@pytest.mark.parametrize("words", [(), ("chek", "plan.md"), ("check",), ("check", "a.md", "b.md")])
def test_bad_arguments_exit_2(cli: Cli, words: tuple[str, ...]) -> None:
    result = cli("plan", *words)
    assert result.code == 2
    assert "fix: `holdfast plan" in result.err
