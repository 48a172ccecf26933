"""The trailers are ours, in the last paragraph, and nobody else's words count as one."""

from holdfast.engine.message import missing_trailers, read_trailers, with_trailers

OURS = {"Holdfast-Plan": "plan.md", "Holdfast-Task": "1.2"}


def test_trailers_stand_in_a_paragraph_of_their_own() -> None:
    assert with_trailers("Subject\n\nBody.\n", OURS) == (
        "Subject\n\nBody.\n\nHoldfast-Plan: plan.md\nHoldfast-Task: 1.2\n"
    )


def test_trailers_join_those_that_are_there_so_that_git_finds_both() -> None:
    message = with_trailers("Subject\n\nCo-authored-by: A <a@b>", OURS)
    assert message.endswith("\n\nCo-authored-by: A <a@b>\nHoldfast-Plan: plan.md\nHoldfast-Task: 1.2\n")


def test_a_subject_that_looks_like_a_trailer_stays_a_subject() -> None:
    assert with_trailers("feat: add x", OURS).startswith("feat: add x\n\nHoldfast-Plan")


def test_missing_trailers_are_named() -> None:
    message = with_trailers("Subject", OURS)
    assert missing_trailers(message, OURS) == ()
    assert missing_trailers(message.replace("Holdfast-Task: 1.2", ""), OURS) == ("Holdfast-Task",)
    assert missing_trailers(message + "\nSigned later: no\n", OURS) == tuple(OURS)


def test_trailers_are_read_back_from_the_last_paragraph_only() -> None:
    assert read_trailers(with_trailers("Holdfast-Task: forged\n\nBody", OURS)) == OURS
