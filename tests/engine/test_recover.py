"""The classifier answers for every state there can be, and never with something that could lose work."""

from itertools import product

from holdfast.engine.recover import Action, Candidate, Dirt, Observation, Record, Tip, decide
from holdfast.engine.repair import REPAIRS
from holdfast.model.policy import OnInterrupt

EITHER = (False, True)
EVERY = [
    Observation(
        record, candidate, tip, dirt, operation, same_boot, edited, on_interrupt, agent_commits, allowed
    )
    for record, candidate, tip, dirt in product(Record, Candidate, Tip, Dirt)
    for operation, same_boot, edited, agent_commits, allowed in product(*[EITHER] * 5)
    for on_interrupt in OnInterrupt
]


def test_every_state_has_an_answer_and_every_answer_a_repair() -> None:
    assert len(EVERY) == 8 * 4 * 4 * 6 * 2**6
    assert {decide(seen) for seen in EVERY} == set(Action) == set(REPAIRS)


def test_a_landed_or_publishable_commit_comes_before_everything_but_an_unreadable_record() -> None:
    for seen in EVERY:
        readable = seen.record not in (Record.DAMAGED, Record.NEWER)
        if readable and seen.candidate in (Candidate.LANDED, Candidate.NEXT):
            assert decide(seen) in (Action.FINISH, Action.PUBLISH), seen


def test_a_newer_holdfasts_record_is_refused_whatever_else_there_is() -> None:
    assert {decide(seen) for seen in EVERY if seen.record is Record.NEWER} == {Action.REFUSE_NEWER}


def test_without_a_record_of_ours_dirt_is_never_cleared() -> None:
    clearing = {Action.CLEAR_AWAY, Action.ROLL_BACK, Action.RESUME, Action.PUT_BRANCH_BACK}
    for seen in EVERY:
        if seen.record in (Record.NONE, Record.LOST, Record.OTHERS, Record.BY_HAND):
            assert decide(seen) not in clearing, seen


def test_a_run_begins_only_on_a_clean_tree_or_when_told_to() -> None:
    for seen in EVERY:
        if decide(seen) is Action.BEGIN:
            assert seen.record is Record.NONE, seen
            assert not seen.operation, seen
            assert seen.dirt is Dirt.NONE or seen.allow_dirty, seen


def test_commits_of_others_are_never_put_back() -> None:
    for seen in EVERY:
        if seen.tip in (Tip.AHEAD, Tip.ELSEWHERE):
            assert decide(seen) is not Action.PUT_BRANCH_BACK, seen


def test_after_a_reboot_files_that_may_be_torn_are_never_gone_on_with() -> None:
    for seen in EVERY:
        if not seen.same_boot:
            assert decide(seen) is not Action.RESUME, seen


def test_rollback_never_resumes_in_place() -> None:
    for seen in EVERY:
        if seen.on_interrupt is OnInterrupt.ROLLBACK:
            assert decide(seen) is not Action.RESUME, seen
