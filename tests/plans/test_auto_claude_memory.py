"""memory/ of a spec, read back as Auto-Claude reads it: with a JSON parser, by its own keys."""

import json
from typing import Any

import pytest

from holdfast.errors import PlanError
from holdfast.model.plan import Document, Status
from holdfast.plans.auto_claude import AutoClaude
from holdfast.plans.base import Attempted, Completion
from plans.json_manners import Manner
from plans.json_plans import read

AUTO = AutoClaude()
HISTORY = "s/001-x/memory/attempt_history.json"
COMMITS = "s/001-x/memory/build_commits.json"
STAMPS = {"created_at": "2025-01-01T00:00:00", "last_updated": "2025-01-01T00:00:00"}


def plan(key: str = "subtasks", **beside: object) -> Document:
    items = [{"id": name, "title": f"Do {name}", "status": "pending"} for name in "abc"]
    files = {
        f"s/001-x/memory/{name}.json": json.dumps(content, indent=2).encode()
        for name, content in beside.items()
    }
    return read("auto-claude", json.dumps({key: items}).encode(), files)


def done(task: str, second: int, *errors: str, commit: str = "", base: str = "0" * 40) -> Completion:
    tries = [
        Attempted(n, f"2026-01-02T00:0{n}:{second}Z", f"2026-01-02T00:0{n}:{second + 1}Z", error)
        for n, error in enumerate([*errors, ""], start=1)
    ]
    at = f"2026-01-02T00:09:{second}Z"
    return Completion(task, at, base, "main", attempts=tuple(tries), commit=commit)


def history(document: Document) -> Any:
    return json.loads(document.files[HISTORY])


def commits(document: Document) -> list[tuple[str, str]]:
    rows = json.loads(document.files[COMMITS])["commits"]
    return [(row.get("subtask_id", row.get("chunk_id")), row["hash"]) for row in rows]


def last_good(document: Document) -> object:
    return json.loads(document.files[COMMITS])["last_good_commit"]


def test_a_spec_that_was_never_built_gets_both_files_as_the_tool_makes_them() -> None:
    document = AUTO.complete(plan(), done("a", 10, "tests fail"))
    at = "2026-01-02T00:09:10Z"
    assert history(document) == {
        "subtasks": {
            "a": {
                "attempts": [
                    {
                        "session": 1,
                        "timestamp": "2026-01-02T00:01:11Z",
                        "approach": "holdfast, attempt 1",
                        "success": False,
                        "error": "tests fail",
                    },
                    {
                        "session": 2,
                        "timestamp": "2026-01-02T00:02:11Z",
                        "approach": "holdfast, attempt 2",
                        "success": True,
                        "error": None,
                    },
                ],
                "status": "completed",
            }
        },
        "stuck_subtasks": [],
        "metadata": {"created_at": at, "last_updated": at},
    }
    assert json.loads(document.files[COMMITS]) == {
        "commits": [{"hash": "", "subtask_id": "a", "timestamp": at}],
        "last_good_commit": None,
        "metadata": {"created_at": at, "last_updated": at},
    }
    for path in (HISTORY, COMMITS):
        assert document.files[path] == json.dumps(json.loads(document.files[path]), indent=2).encode()


def test_after_finish_every_commit_is_the_one_git_has() -> None:
    document = AUTO.complete(plan(), done("a", 10))
    document = AUTO.complete(document, done("a", 10, commit="a" * 40))
    document = AUTO.complete(document, done("b", 20, base="a" * 40))
    assert commits(document) == [("a", "a" * 40), ("b", "")]
    assert last_good(document) == "a" * 40
    # Somebody committed something else before c was built: its base is not the commit of b.
    document = AUTO.complete(document, done("c", 30, base="9" * 40))
    assert commits(document) == [("a", "a" * 40), ("b", ""), ("c", "")]
    # By the clocks b came last; git says that it was c.
    times = {"a": 10, "b": 40, "c": 30}
    landed = {name: done(name, second, commit=name * 40) for name, second in times.items()}
    finished = AUTO.finish(document, landed)
    assert commits(finished) == [("a", "a" * 40), ("b", "b" * 40), ("c", "c" * 40)]
    assert last_good(finished) == "c" * 40
    assert AUTO.finish(finished, landed) == finished
    assert finished.plan == document.plan


def test_finish_tells_commits_that_nobody_wrote_down() -> None:
    document = plan()
    for name in "abc":
        document = AUTO.mark(document, name, Status.COMPLETED)
    finished = AUTO.finish(
        document, {n: done(n, s, commit=n * 40) for n, s in (("a", 10), ("b", 20), ("c", 30))}
    )
    assert commits(finished) == [("a", "a" * 40), ("b", "b" * 40), ("c", "c" * 40)]


def test_a_build_that_landed_nothing_is_left_alone() -> None:
    document = plan()
    assert AUTO.finish(document, {}) is document
    assert AUTO.finish(document, {"a": done("a", 10)}) == document


def test_a_commit_that_is_known_is_written_at_once() -> None:
    document = AUTO.complete(plan(), done("a", 10, commit="a" * 40))
    assert commits(document) == [("a", "a" * 40)]
    assert last_good(document) == "a" * 40


def test_a_task_told_twice_is_there_once_and_gets_its_commit() -> None:
    once = AUTO.complete(plan(), done("a", 10))
    twice = AUTO.complete(once, done("a", 10, commit="a" * 40))
    assert twice.files[HISTORY] == once.files[HISTORY]
    assert twice.data == once.data
    assert commits(twice) == [("a", "a" * 40)]
    assert AUTO.complete(twice, done("a", 10, commit="a" * 40)) == twice


def test_a_task_told_twice_is_told_where_a_file_was_lost() -> None:
    once = AUTO.complete(plan(), done("a", 10, commit="a" * 40))
    told = AUTO.complete(once._replace(beside=()), done("a", 10, commit="a" * 40))
    assert told.files == once.files


def test_a_task_that_is_done_again_has_two_commits() -> None:
    document = AUTO.complete(plan(), done("a", 10, commit="1" * 40))
    document = AUTO.complete(AUTO.mark(document, "a", Status.PENDING), done("a", 20))
    assert commits(document) == [("a", "1" * 40), ("a", "")]
    assert len(history(document)["subtasks"]["a"]["attempts"]) == 2
    assert commits(AUTO.finish(document, {"a": done("a", 20, commit="2" * 40)})) == [
        ("a", "1" * 40),
        ("a", "2" * 40),
    ]


def test_a_plan_in_chunks_remembers_chunks() -> None:
    document = AUTO.complete(plan("chunks"), done("a", 10))
    assert list(history(document)) == ["chunks", "stuck_chunks", "metadata"]
    assert json.loads(document.files[COMMITS])["commits"][0]["chunk_id"] == "a"


OLD_HISTORY = {
    "chunks": {
        "a": {"attempts": [{"session": 7, "success": False, "odd": 1.50}], "status": "stuck", "more": [1]}
    },
    "stuck_chunks": [{"chunk_id": "z", "reason": "why"}, {"chunk_id": "a", "reason": "who knows"}],
    "metadata": STAMPS,
    "odd": "<é>",
}
OLD_COMMITS = {
    "commits": [{"hash": "f" * 40, "chunk_id": "z", "timestamp": "2025", "odd": 1}],
    "last_good_commit": "f" * 40,
    "metadata": STAMPS,
}


def test_the_shape_found_is_kept() -> None:
    document = AUTO.complete(plan(attempt_history=OLD_HISTORY, build_commits=OLD_COMMITS), done("a", 10))
    found = history(document)
    assert list(found) == ["chunks", "stuck_chunks", "metadata", "odd"]
    assert [tried["session"] for tried in found["chunks"]["a"]["attempts"]] == [7, 1]
    assert {**found["chunks"]["a"], "attempts": 0} == {"attempts": 0, "status": "completed", "more": [1]}
    assert found["stuck_chunks"] == [{"chunk_id": "z", "reason": "why"}]
    assert found["metadata"] == STAMPS | {"last_updated": "2026-01-02T00:09:10Z"}
    built = json.loads(document.files[COMMITS])
    assert built["commits"] == [
        *OLD_COMMITS["commits"],
        {"hash": "", "chunk_id": "a", "timestamp": "2026-01-02T00:09:10Z"},
    ]
    assert built["last_good_commit"] == "f" * 40


@pytest.mark.parametrize(
    "manner", [Manner(), Manner("\t", crlf=True), Manner(4, ascii=True), Manner(None), Manner(bom=True)]
)
def test_the_manner_found_is_kept(manner: Manner) -> None:
    files = {HISTORY: manner.write(OLD_HISTORY), COMMITS: manner.write(OLD_COMMITS)}
    document = AUTO.complete(plan()._replace(beside=tuple(files.items())), done("b", 10))
    for path in files:
        assert document.files[path] == manner.write(
            json.loads(document.files[path].removeprefix(b"\xef\xbb\xbf"))
        )


ODD: dict[str, tuple[str, object, str]] = {
    "a history that is a list": ("attempt_history", [], "not a history of attempts"),
    "items that are a list": ("attempt_history", {"subtasks": []}, "not a history of attempts"),
    "an item that is text": ("attempt_history", {"subtasks": {"a": "x"}}, "not a history of attempts"),
    "attempts that are text": ("attempt_history", {"chunks": {"a": {"attempts": "x"}}}, "not a history"),
    "no commits": ("build_commits", {}, "this should be a list of objects"),
    "commits that are text": ("build_commits", {"commits": ["x"]}, "this should be a list of objects"),
}


@pytest.mark.parametrize("case", ODD)
def test_a_file_that_could_not_be_kept_up_is_refused_before_anybody_works(case: str) -> None:
    name, content, words = ODD[case]
    with pytest.raises(PlanError, match=words) as caught:
        plan("subtasks", **{name: content})
    assert caught.value.path == f"s/001-x/memory/{name}.json"
    assert "move it away" in caught.value.fix


def test_a_file_that_was_cut_off_is_refused_and_not_begun_anew() -> None:
    with pytest.raises(PlanError, match="cut off") as caught:
        read("auto-claude", plan().data, {COMMITS: b'{"commits": ['})
    assert caught.value.path == COMMITS


def test_a_history_without_items_gets_them() -> None:
    document = AUTO.complete(plan(attempt_history={"metadata": {}}), done("a", 10))
    assert history(document)["subtasks"]["a"]["status"] == "completed"
