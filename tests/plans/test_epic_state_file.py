"""The state file of an epic: what every event writes into it, what it must not touch, and what is refused.

Read here with a JSON parser and the facts in `epic_shape`, not with the product's own reader.
"""

import json
from typing import Any

import pytest

from epic_shape import EPIC_STATES, TICKET_STATES, state_in
from holdfast.errors import PlanError
from holdfast.model.plan import Document, Status
from holdfast.plans.base import Attempted, Claims, Completion, Criterion, GitFacts
from holdfast.plans.buildspec import Buildspec

EPIC = Buildspec()
PATH = ".epics/shop/shop.epic.yaml"
STATE = ".epics/shop/artifacts/epic-state.json"
BASELINE, BASE, COMMIT, OTHER = "0" * 40, "1" * 40, "2" * 40, "3" * 40
DIAMOND = """
name: Shop
tickets:
  - {id: a, title: Add the parser, critical: true, acceptance_criteria: [reads, "says: why"]}
  - {id: b, title: Add the prices, depends_on: [a]}
  - {id: c, title: Add the taxes, depends_on: [a]}
  - {id: d, title: Add the total, depends_on: [b, c]}
  - {id: e, title: Say hello}
"""


def shop(state: bytes | None = None, epic: str = DIAMOND) -> Document:
    beside = {f".epics/shop/tickets/{name}.md": b"text\n" for name in "abcdef"}
    if state is not None:
        beside[STATE] = state
    return EPIC.read(epic.encode(), PATH, "shop", beside)


def done(task: str, **more: Any) -> Completion:
    facts = {"at": "2026-03-01T10:00:00Z", "base": BASE, "branch": "epic/shop", "baseline": BASELINE} | more
    return Completion(task, **facts)


def told(document: Document) -> dict[str, Any]:
    return state_in(dict(document.beside)[STATE])


def ticket(document: Document, name: str) -> dict[str, Any]:
    found: dict[str, Any] = told(document)["tickets"][name]
    return found


def states(document: Document) -> dict[str, str]:
    return {name: found["state"] for name, found in told(document)["tickets"].items()}


def statuses(document: Document) -> dict[str, Status]:
    return {task.id: task.status for task in document.plan.tasks}


def written(**tickets: str) -> bytes:
    """A file as the tool writes it: these states, no final newline."""
    entries: dict[str, dict[str, Any]] = {
        name: {
            "id": name,
            "path": f".epics/shop/tickets/{name}.md",
            "title": f"Title of {name}",
            "depends_on": [],
            "critical": False,
            "state": state,
            "git_info": None,
            "test_suite_status": None,
            "acceptance_criteria": [],
            "failure_reason": None,
            "blocking_dependency": None,
            "started_at": None,
            "completed_at": None,
        }
        for name, state in tickets.items()
    }
    fields = {"schema_version": 1, "epic_id": "shop", "epic_branch": "epic/shop", "baseline_commit": BASELINE}
    return json.dumps(fields | {"epic_state": "EXECUTING", "tickets": entries}, indent=2).encode()


def same_as_read(document: Document) -> Document:
    """Whatever an event returns is what the next run reads from the files."""
    assert EPIC.read(document.data, PATH, "shop", dict(document.beside)) == document
    return document


# What it says to us


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("PENDING", Status.PENDING),
        ("READY", Status.PENDING),
        ("BRANCH_CREATED", Status.PENDING),
        ("IN_PROGRESS", Status.IN_PROGRESS),
        ("AWAITING_VALIDATION", Status.IN_PROGRESS),
        ("COMPLETED", Status.COMPLETED),
        ("FAILED", Status.FAILED),
        ("BLOCKED", Status.BLOCKED),
    ],
)
def test_the_state_of_a_ticket_is_the_status_of_its_task(state: str, status: Status) -> None:
    assert statuses(shop(written(a=state, b="PENDING", c="PENDING")))["a"] is status


def test_without_a_state_file_everything_is_open() -> None:
    assert set(statuses(shop()).values()) == {Status.PENDING}


def test_a_ticket_the_file_does_not_know_yet_is_open() -> None:
    assert statuses(shop(written(a="COMPLETED")))["e"] is Status.PENDING


# A ticket is done


def test_the_first_ticket_that_is_done_writes_the_whole_file() -> None:
    attempts = (
        Attempted(1, "2026-03-01T09:00:00Z", "2026-03-01T09:30:00Z", "make test failed"),
        Attempted(2, "2026-03-01T09:30:00Z", "2026-03-01T10:00:00Z"),
    )
    criteria = (Criterion("reads", True),)
    after = same_as_read(EPIC.complete(shop(), done("a", attempts=attempts, criteria=criteria, checked=True)))
    found = told(after)
    assert {key: found[key] for key in list(found)[:5]} == {
        "schema_version": 1,
        "epic_id": "shop",
        "epic_branch": "epic/shop",
        "baseline_commit": BASELINE,
        "epic_state": "EXECUTING",
    }
    assert found["tickets"]["a"] == {
        "id": "a",
        "path": ".epics/shop/tickets/a.md",
        "title": "Add the parser",
        "depends_on": [],
        "critical": True,
        "state": "COMPLETED",
        "git_info": {"branch_name": "ticket/a", "base_commit": BASE, "final_commit": None},
        "test_suite_status": "passing",
        "acceptance_criteria": [
            {"criterion": "reads", "met": True},
            {"criterion": "says: why", "met": False},
        ],
        "failure_reason": None,
        "blocking_dependency": None,
        "started_at": "2026-03-01T09:00:00Z",
        "completed_at": "2026-03-01T10:00:00Z",
    }
    assert states(after) == {"a": "COMPLETED", "b": "READY", "c": "READY", "d": "PENDING", "e": "READY"}
    assert statuses(after)["a"] is Status.COMPLETED
    assert after.data == shop().data, "the epic itself is never written"


def test_without_checks_no_test_suite_is_said_to_pass() -> None:
    assert ticket(EPIC.complete(shop(), done("a")), "a")["test_suite_status"] is None


def test_the_branch_is_the_one_the_work_is_on() -> None:
    after = EPIC.complete(shop(written(a="READY")), done("a", branch="main"))
    assert told(after)["epic_branch"] == "main"
    assert told(after)["baseline_commit"] == BASELINE


def test_the_first_ticket_was_built_on_the_baseline() -> None:
    first = EPIC.complete(shop(), done("a", baseline=""))
    assert told(EPIC.complete(first, done("b", baseline="", base=COMMIT)))["baseline_commit"] == BASE


def test_a_commit_that_became_known_is_added_and_nothing_else_changes() -> None:
    before = EPIC.complete(shop(), done("a", checked=True))
    after = same_as_read(EPIC.complete(before, done("a", commit=COMMIT, at="later", base=OTHER)))
    change = ticket(before, "a") | {"git_info": ticket(before, "a")["git_info"] | {"final_commit": COMMIT}}
    assert ticket(after, "a") == change
    assert EPIC.complete(after, done("a", commit=COMMIT)) is after, "said twice is said once"


@pytest.mark.parametrize("state", TICKET_STATES)
def test_a_ticket_can_be_completed_whatever_a_dead_run_left(state: str) -> None:
    after = same_as_read(EPIC.complete(shop(written(a=state, b="PENDING")), done("a")))
    assert states(after)["a"] == "COMPLETED"
    assert ticket(after, "a")["failure_reason"] is None


def test_a_ticket_that_blocked_others_and_is_done_after_all_frees_them() -> None:
    stuck = EPIC.fail(shop(), "c", "red", ("d",))
    stuck = EPIC.fail(stuck, "b", "red too", ("d",))
    half = EPIC.complete(EPIC.complete(stuck, done("a")), done("c"))
    assert (ticket(half, "d")["state"], ticket(half, "d")["blocking_dependency"]) == ("BLOCKED", "b")
    free = same_as_read(EPIC.complete(half, done("b")))
    assert (ticket(free, "d")["state"], ticket(free, "d")["blocking_dependency"]) == ("READY", None)


def test_new_tickets_of_the_epic_are_taken_in_as_open_ones() -> None:
    before = EPIC.complete(shop(), done("a"))
    grown = DIAMOND + "  - {id: f, title: Say goodbye, depends_on: [d]}\n"
    later = shop(dict(before.beside)[STATE], grown)
    assert statuses(later)["f"] is Status.PENDING
    after = same_as_read(EPIC.complete(later, done("b")))
    assert states(after)["f"] == "PENDING"
    assert ticket(after, "f")["title"] == "Say goodbye"


def test_edits_of_the_epic_reach_the_file_with_the_next_ticket() -> None:
    before = EPIC.complete(shop(), done("e"))
    edited = shop(dict(before.beside)[STATE], DIAMOND.replace("Add the taxes", "Add all taxes"))
    assert ticket(EPIC.complete(edited, done("a")), "c")["title"] == "Add all taxes"


# The epic is done


def test_the_end_fills_every_commit_and_finalizes_the_epic() -> None:
    document = shop()
    for name in "abcde":
        document = EPIC.complete(document, done(name))
    assert told(document)["epic_state"] == "EXECUTING"
    landed = {name: done(name, commit=f"{number}" * 40) for number, name in enumerate("abcde", 4)}
    after = same_as_read(EPIC.finish(document, landed))
    assert told(after)["epic_state"] == "FINALIZED"
    commits = {name: found["git_info"]["final_commit"] for name, found in told(after)["tickets"].items()}
    assert commits == {name: completion.commit for name, completion in landed.items()}
    assert EPIC.finish(after, landed) is after


def test_the_end_fills_what_a_mere_mark_left_open() -> None:
    document = shop(written(a="COMPLETED", b="COMPLETED", c="COMPLETED", d="COMPLETED", e="COMPLETED"))
    after = same_as_read(EPIC.finish(document, {"a": done("a", commit=COMMIT)}))
    assert ticket(after, "a")["git_info"]["final_commit"] == COMMIT
    assert ticket(after, "a")["completed_at"] == "2026-03-01T10:00:00Z"
    assert ticket(after, "b")["git_info"] is None, "nobody knows"


def test_an_epic_with_open_tickets_is_not_finalized() -> None:
    before = EPIC.complete(shop(), done("a"))
    assert told(EPIC.finish(before, {"a": done("a", commit=COMMIT)}))["epic_state"] == "EXECUTING"
    assert EPIC.finish(shop(), {}) == shop()


def test_skipped_tickets_do_not_keep_an_epic_from_its_end() -> None:
    document = EPIC.mark(shop(), "e", Status.SKIPPED)
    for name in "abcd":
        document = EPIC.complete(document, done(name))
    assert told(EPIC.finish(document, {}))["epic_state"] == "FINALIZED"


@pytest.mark.parametrize("state", [state for state in EPIC_STATES if state != "FINALIZED"])
def test_an_epic_reaches_its_end_from_every_state(state: str) -> None:
    settled = written(a="COMPLETED", b="COMPLETED", c="COMPLETED", d="COMPLETED", e="COMPLETED")
    document = shop(settled.replace(b'"epic_state": "EXECUTING"', f'"epic_state": "{state}"'.encode()))
    assert told(EPIC.finish(document, {}))["epic_state"] == "FINALIZED"


def test_a_ticket_added_after_the_end_makes_the_epic_go_on() -> None:
    settled = written(a="COMPLETED", b="COMPLETED", c="COMPLETED", d="COMPLETED", e="COMPLETED")
    after = EPIC.finish(shop(settled), {})
    grown = shop(dict(after.beside)[STATE], DIAMOND + "  - {id: f}\n")
    assert EPIC.finish(grown, {}) is grown
    again = EPIC.complete(grown, done("f"))
    assert told(again)["epic_state"] == "EXECUTING"


# A dead run


@pytest.mark.parametrize("state", ["IN_PROGRESS", "AWAITING_VALIDATION"])
def test_what_a_dead_run_was_at_is_ready_again(state: str) -> None:
    left = json.loads(written(a="COMPLETED", b=state, c="PENDING"))
    left["tickets"]["b"] |= {
        "git_info": {"branch_name": "ticket/b", "base_commit": BASE, "final_commit": COMMIT},
        "test_suite_status": "failing",
        "acceptance_criteria": [{"criterion": "x", "met": True}],
        "started_at": "2026-03-01T09:00:00Z",
    }
    after = same_as_read(EPIC.recover(shop(json.dumps(left, indent=2).encode())))
    assert states(after) == {"a": "COMPLETED", "b": "READY", "c": "PENDING"}
    found = ticket(after, "b")
    assert found["git_info"] == {"branch_name": "ticket/b", "base_commit": BASE, "final_commit": None}
    assert (found["started_at"], found["test_suite_status"], found["acceptance_criteria"]) == (None, None, [])


def test_there_is_nothing_to_recover_in_a_file_at_rest() -> None:
    for document in (shop(), shop(written(a="COMPLETED", b="READY", c="FAILED", d="BLOCKED"))):
        assert EPIC.recover(document) is document


# Failure


def test_a_failed_ticket_says_why_and_what_it_blocks() -> None:
    after = same_as_read(EPIC.fail(EPIC.complete(shop(), done("a")), "b", "make test failed", ("d",)))
    assert states(after) == {"a": "COMPLETED", "b": "FAILED", "c": "READY", "d": "BLOCKED", "e": "READY"}
    assert ticket(after, "b")["failure_reason"] == "make test failed"
    assert ticket(after, "d")["blocking_dependency"] == "b"
    assert told(after)["epic_state"] == "EXECUTING", "independent work goes on"
    assert (statuses(after)["b"], statuses(after)["d"]) == (Status.FAILED, Status.BLOCKED)


def test_an_agent_cannot_fail_in_words_that_read_as_skipped() -> None:
    after = same_as_read(EPIC.fail(shop(), "e", "skipped by hand", ()))
    assert statuses(after)["e"] is Status.FAILED
    rolled = EPIC.rolled_back(EPIC.fail(EPIC.complete(after, done("b")), "a", "red", ()), "skipped by hand")
    assert statuses(EPIC.mark(rolled, "b", Status.FAILED))["b"] is Status.FAILED


def test_a_failed_ticket_blocks_dependents_however_far() -> None:
    after = EPIC.fail(shop(), "a", "red", ("b", "c", "d"))
    assert {name: ticket(after, name)["blocking_dependency"] for name in "bcd"} == dict.fromkeys("bcd", "a")


def test_a_critical_failure_fails_the_epic() -> None:
    assert told(EPIC.fail(shop(), "a", "red", ("b", "c", "d")))["epic_state"] == "FAILED"


def test_when_only_failed_and_blocked_tickets_are_left_the_epic_has_failed() -> None:
    document = EPIC.fail(EPIC.complete(shop(), done("a")), "b", "red", ("d",))
    document = EPIC.complete(document, done("c"))
    assert told(document)["epic_state"] == "EXECUTING"
    assert told(EPIC.complete(document, done("e")))["epic_state"] == "FAILED"


def test_a_retry_that_works_out_brings_a_failed_epic_back() -> None:
    document = EPIC.fail(shop(), "a", "red", ("b", "c", "d"))
    after = same_as_read(EPIC.complete(document, done("a")))
    assert told(after)["epic_state"] == "EXECUTING"
    assert states(after) == {"a": "COMPLETED", "b": "READY", "c": "READY", "d": "PENDING", "e": "READY"}


def test_what_is_done_cannot_be_blocked() -> None:
    document = EPIC.complete(shop(), done("e"))
    with pytest.raises(PlanError, match="cannot go from COMPLETED to BLOCKED"):
        EPIC.fail(document, "a", "red", ("e",))


def test_a_rollback_leaves_nothing_completed() -> None:
    document = EPIC.complete(shop(), done("a", checked=True, commit=COMMIT))
    document = EPIC.fail(document, "b", "red", ("d",))
    after = same_as_read(EPIC.rolled_back(document, "b failed"))
    assert told(after)["epic_state"] == "ROLLED_BACK"
    assert states(after) == {"a": "READY", "b": "FAILED", "c": "READY", "d": "BLOCKED", "e": "READY"}
    assert ticket(after, "a")["git_info"] is None
    assert ticket(after, "a")["completed_at"] is None
    assert ticket(after, "a")["failure_reason"] == "b failed"
    assert EPIC.git_claims(after) == Claims()
    assert EPIC.rolled_back(after, "again") is after


def test_a_finalized_epic_cannot_be_rolled_back() -> None:
    settled = written(a="COMPLETED", b="COMPLETED", c="COMPLETED", d="COMPLETED", e="COMPLETED")
    with pytest.raises(PlanError, match="cannot go from FINALIZED to ROLLED_BACK"):
        EPIC.rolled_back(EPIC.finish(shop(settled), {}), "x")


# Marks


def test_a_mark_changes_one_word() -> None:
    before = written(a="READY", b="PENDING", c="PENDING", d="PENDING", e="READY")
    after = same_as_read(EPIC.mark(shop(before), "e", Status.COMPLETED))
    place = before.rindex(b'"READY"')
    assert dict(after.beside)[STATE] == before[:place] + b'"COMPLETED"' + before[place + 7 :]


def test_a_mark_keeps_bytes_that_nobody_would_write_like_that() -> None:
    odd = (
        b'\xef\xbb\xbf{"epic_id":"shop" ,\r\n\t"zeta": [1,2,\t{"state":"READY"}],"schema_version":1,'
        b'"epic_state":"EXECUTING","tickets":{"b":{"state":"PENDING"},\r\n'
        b'"a" : {"note":"\\u00e4 \xc3\xa4","state"\t:\t"READY","failure_reason":null,"x":{}}}}\r\n\r\n'
    )
    after = same_as_read(EPIC.mark(shop(odd), "a", Status.COMPLETED))
    assert dict(after.beside)[STATE] == odd.replace(b'\t"READY"', b'\t"COMPLETED"')
    assert EPIC.mark(after, "a", Status.PENDING) == shop(odd)


def test_opening_a_ticket_again_depends_on_what_it_waits_for() -> None:
    document = EPIC.complete(EPIC.complete(shop(), done("a")), done("b"))
    assert states(EPIC.mark(document, "b", Status.PENDING))["b"] == "READY"
    alone = EPIC.mark(document, "a", Status.PENDING)
    assert states(EPIC.mark(alone, "b", Status.PENDING))["b"] == "PENDING"


def test_a_file_that_calls_startable_tickets_pending_gets_its_word_back() -> None:
    fresh = written(a="PENDING", b="PENDING", c="PENDING", d="PENDING", e="PENDING")
    for name in "abcde":
        marked = EPIC.mark(shop(fresh), name, Status.COMPLETED)
        assert EPIC.mark(marked, name, Status.PENDING) == shop(fresh)


def test_skipping_claims_no_work_and_is_told_from_a_failure() -> None:
    after = same_as_read(EPIC.mark(shop(written(a="READY", b="PENDING")), "a", Status.SKIPPED))
    assert ticket(after, "a")["state"] == "FAILED"
    assert ticket(after, "a")["failure_reason"] == "skipped by hand"
    assert statuses(after)["a"] is Status.SKIPPED
    failed = EPIC.fail(shop(), "a", "red", ())
    skipped = same_as_read(EPIC.mark(failed, "a", Status.SKIPPED))
    assert ticket(skipped, "a")["failure_reason"] == "skipped by hand; red"
    assert EPIC.mark(skipped, "a", Status.FAILED) == failed


def test_a_mark_creates_the_file_where_there_is_none() -> None:
    after = same_as_read(EPIC.mark(shop(), "e", Status.SKIPPED))
    assert told(after)["epic_state"] == "INITIALIZING"
    assert told(after)["epic_branch"] == "epic/shop"
    assert told(after)["baseline_commit"] is None
    assert EPIC.git_claims(after) == Claims(), "nothing is on that branch yet"
    assert EPIC.mark(shop(), "e", Status.PENDING) == shop()


# What others wrote stays


def test_keys_that_we_do_not_know_stay_and_line_ends_too() -> None:
    fields = json.loads(written(a="READY", b="PENDING"))
    fields["session_id"] = "x"
    fields["tickets"]["a"]["note"] = {"é": [1, 2.5, None]}
    fields["tickets"]["a"]["git_info"] = {
        "branch_name": "ticket/a",
        "base_commit": BASE,
        "final_commit": None,
        "remote": "origin",
    }
    for bom, end in ((b"", "\n"), (b"\xef\xbb\xbf", "\r\n")):
        data = bom + (json.dumps(fields, indent=2).replace("\n", end) + end).encode()
        after = same_as_read(EPIC.complete(shop(data), done("a")))
        assert told(after)["session_id"] == "x"
        assert ticket(after, "a")["note"] == {"é": [1, 2.5, None]}
        assert ticket(after, "a")["git_info"]["remote"] == "origin"
        new = dict(after.beside)[STATE]
        assert new.startswith(bom + b"{")
        assert new.endswith(end.encode())
        assert new.count(b"\r\n") == (new.count(b"\n") if end == "\r\n" else 0)


def test_the_same_events_give_the_same_bytes() -> None:
    once, again = (EPIC.complete(EPIC.fail(shop(), "b", "é", ("d",)), done("a")) for _ in range(2))
    assert dict(once.beside) == dict(again.beside)


def test_an_open_ticket_that_left_the_epic_keeps_its_entry() -> None:
    state = written(a="COMPLETED", b="PENDING", gone="READY")
    after = EPIC.complete(shop(state), done("b"))
    assert ticket(after, "gone") == json.loads(state)["tickets"]["gone"]
    assert after.plan.task("gone") is None


# What is refused

TWO = written(a="READY", b="PENDING")


def changed(**fields: Any) -> bytes:
    return json.dumps(json.loads(TWO) | fields, indent=2).encode()


def without(key: str) -> bytes:
    return json.dumps({name: value for name, value in json.loads(TWO).items() if name != key}).encode()


def with_ticket(**fields: Any) -> bytes:
    found = json.loads(TWO)
    found["tickets"]["a"] |= fields
    return json.dumps(found, indent=2).encode()


DAMAGED = {
    "older shape": (without("schema_version"), "found none (an older shape), expected 1"),
    "newer": (changed(schema_version=2), "found 2, expected 1"),
    "a version in words": (changed(schema_version="1"), "expected 1"),
    "a switch for a version": (changed(schema_version=True), "found True, expected 1"),
    "empty": (b"", "damaged"),
    "a list": (b"[]", "the file must be an object"),
    "a duplicate key": (b'{"schema_version": 1, "schema_version": 1}', "twice"),
    "a conflict": (b"<<<<<<< HEAD\n" + TWO, "merge conflict"),
    "not UTF-8": (TWO.replace(b"Title of a", b"Title \xff"), "not UTF-8"),
    "too deep": (b"[" * 100_000, "damaged"),
    "a number without end": (TWO.replace(b"null", b"9" * 5000), "damaged"),
    "a number that is none": (TWO.replace(b"null", b"NaN", 1), "NaN is not JSON"),
    "no tickets": (without("tickets"), "tickets must be an object"),
    "tickets in a list": (changed(tickets=[]), "tickets must be an object"),
    "a ticket in words": (changed(tickets={"a": "READY"}), "tickets.a must be an object"),
    "an unknown state": (with_ticket(state="DONE"), "tickets.a.state must be one of PENDING, READY"),
    "a missing state": (with_ticket(state=None), "tickets.a.state"),
    "an unknown epic state": (changed(epic_state="DONE"), "epic_state must be one of"),
    "another id inside": (with_ticket(id="b"), "tickets.a.id must be a"),
    "git_info in words": (with_ticket(git_info="x"), "tickets.a.git_info must be an object"),
    "a commit as a number": (with_ticket(git_info={"final_commit": 5}), "tickets.a.git_info.final_commit"),
    "criteria in words": (with_ticket(acceptance_criteria="x"), "tickets.a.acceptance_criteria"),
    "a reason as a list": (with_ticket(failure_reason=[]), "tickets.a.failure_reason"),
    "a branch as a number": (changed(epic_branch=5), "epic_branch must be a text"),
    "another epic": (changed(epic_id="garden"), "the state of epic garden, and the epic here is shop"),
    "no epic": (without("epic_id"), "the state of epic (none)"),
    "two at work": (written(a="IN_PROGRESS", b="IN_PROGRESS"), "IN_PROGRESS at once: a, b"),
    "a done ticket that is gone": (written(a="READY", zz="COMPLETED"), "zz: begun or done"),
    "a begun ticket that is gone": (written(a="READY", zz="IN_PROGRESS"), "zz: begun or done"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_state_file_that_cannot_be_true_is_refused_with_a_way_out(case: str) -> None:
    data, words = DAMAGED[case]
    with pytest.raises(PlanError) as caught:
        shop(data)
    assert caught.value.path == STATE
    assert words in caught.value.message
    assert caught.value.exit_code == 2
    assert "--force-new" in caught.value.fix or case in ("a conflict", "not UTF-8")


def test_a_state_file_cut_short_anywhere_is_refused_with_its_line() -> None:
    whole = TWO + b"\n"
    for length in range(len(TWO)):
        with pytest.raises(PlanError) as caught:
            shop(whole[:length])
        assert caught.value.path == STATE
        assert caught.value.line > 0
        assert "--force-new" in caught.value.fix


# What git says to it

DONE = EPIC.complete(EPIC.complete(shop(), done("a", commit=COMMIT)), done("b", commit=OTHER))


def test_what_to_ask_git_is_the_branch_and_the_commits_of_done_tickets() -> None:
    assert EPIC.git_claims(DONE) == Claims("epic/shop", (("a", COMMIT), ("b", OTHER)))
    assert EPIC.git_claims(shop()) == Claims()


def test_a_document_that_git_bears_out_has_no_problems() -> None:
    both = frozenset({COMMIT, OTHER})
    assert EPIC.git_problems(DONE, GitFacts(True, both, both)) == ()


def test_every_contradiction_is_listed_at_once() -> None:
    assert EPIC.git_problems(DONE, GitFacts(False)) == (
        "the branch epic/shop does not exist",
        f"a is done by commit {COMMIT}, which does not exist",
        f"b is done by commit {OTHER}, which does not exist",
    )
    assert EPIC.git_problems(DONE, GitFacts(True, frozenset({COMMIT, OTHER}), frozenset({COMMIT}))) == (
        f"b is done by commit {OTHER}, which is not on epic/shop",
    )


def test_a_commit_that_is_not_known_yet_is_no_contradiction() -> None:
    assert EPIC.git_claims(EPIC.complete(shop(), done("a"))) == Claims("epic/shop")
