import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.agents.tags import (
    FAILURE_EXAMPLE,
    MESSAGE_LIMIT,
    SUCCESS_EXAMPLE,
    Claim,
    clean_message,
    read_claim,
    suggested_message,
)


def test_no_tag_is_no_claim() -> None:
    assert read_claim("all done") is None


def test_a_tag_may_span_lines() -> None:
    assert read_claim("<SUCCESS>task\nimplemented</SUCCESS>") == Claim(True, "task\nimplemented")


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("<SUCCESS>a</SUCCESS><FAILURE>b</FAILURE>", Claim(False, "b")),
        ("<FAILURE>b</FAILURE> but then <SUCCESS>a</SUCCESS>", Claim(True, "a")),
        ("<SUCCESS>one</SUCCESS>\n<SUCCESS>two</SUCCESS>", Claim(True, "two")),
        ("<SUCCESS>done</SUCCESS> and a stray </SUCCESS>", Claim(True, "done")),
        ("<FAILURE></FAILURE>", Claim(False, "")),
    ],
)
def test_the_last_claim_of_either_kind_wins(text: str, claim: Claim) -> None:
    assert read_claim(text) == claim


@pytest.mark.parametrize("text", ["<SUCCESS>never closed", "never opened</FAILURE>", "</SUCCESS><SUCCESS>"])
def test_half_a_tag_is_no_claim(text: str) -> None:
    assert read_claim(text) is None


def test_the_examples_of_the_prompt_are_no_claim_when_printed_back() -> None:
    assert read_claim(f"- `{SUCCESS_EXAMPLE}` or\n- `{FAILURE_EXAMPLE}`") is None
    assert read_claim(f"<SUCCESS>mine</SUCCESS> {FAILURE_EXAMPLE}") == Claim(True, "mine")


def test_the_text_of_a_claim_is_bounded() -> None:
    claim = read_claim(f"<FAILURE>{'x' * 100_000}</FAILURE>")
    assert claim is not None
    assert not claim.succeeded
    assert len(claim.text) == 2000


MESSAGES = {
    "one line": ("SUGGESTED_COMMIT_MESSAGE: Fix it", "Fix it"),
    "none": ("nothing to see", ""),
    "empty": ("SUGGESTED_COMMIT_MESSAGE:   \n<SUCCESS>x</SUCCESS>", ""),
    "not at the start of a line": ("I print SUGGESTED_COMMIT_MESSAGE: No\n", ""),
    "the last wins": ("SUGGESTED_COMMIT_MESSAGE: a\nSUGGESTED_COMMIT_MESSAGE: b", "b"),
    "on the next line": ("SUGGESTED_COMMIT_MESSAGE:\nFix it\n", "Fix it"),
    "until a tag": (
        "SUGGESTED_COMMIT_MESSAGE: Fix it\n\nBecause.\n\n<SUCCESS>x</SUCCESS>\nbye",
        "Fix it\n\nBecause.",
    ),
    "until the end mark": ("SUGGESTED_COMMIT_MESSAGE: Fix it\nEND_COMMIT_MESSAGE\nlog line", "Fix it"),
    "until the end of the text": ("SUGGESTED_COMMIT_MESSAGE: Fix it\n\nBecause.\n\n", "Fix it\n\nBecause."),
    "in backticks": ("SUGGESTED_COMMIT_MESSAGE: `Fix it`\n", "Fix it"),
    "backticks that belong to it": (
        "SUGGESTED_COMMIT_MESSAGE: `a` becomes `b`\n",
        "`a` becomes `b`",
    ),
    "in a fence": ("SUGGESTED_COMMIT_MESSAGE:\n```text\nFix it\n\nWhy.\n```\nbye", "Fix it\n\nWhy."),
    "in a fence on its own line": ("SUGGESTED_COMMIT_MESSAGE: ```\nFix it\n```\nbye", "Fix it"),
    "in a fence with its keyword": ("```\nSUGGESTED_COMMIT_MESSAGE: Fix it\n```\nbye", "Fix it"),
    "in a long fence": ("SUGGESTED_COMMIT_MESSAGE:\n````\nFix\n\n```\na\n```\n````\nx", "Fix\n\n```\na\n```"),
    "in a fence never closed": ("SUGGESTED_COMMIT_MESSAGE:\n```\nFix it\n<SUCCESS>x</SUCCESS>", "Fix it"),
    "with a fence inside": ("SUGGESTED_COMMIT_MESSAGE: Fix\n\n```\na\n```\nend", "Fix\n\n```\na\n```\nend"),
    "windows line ends": ("SUGGESTED_COMMIT_MESSAGE: Fix it\r\n\r\nWhy.  \r\n", "Fix it\n\nWhy."),
    "in colour": ("SUGGESTED_COMMIT_MESSAGE: \x1b[1mFix it\x1b[0m", "Fix it"),
    "only a forged trailer": ("SUGGESTED_COMMIT_MESSAGE: Holdfast-Task: 9", ""),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_suggested_message(case: str) -> None:
    text, message = MESSAGES[case]
    assert suggested_message(text) == message


@pytest.mark.parametrize(
    "forged",
    [
        "Holdfast-Task: 9",
        "holdfast-task : 9",
        "  HOLDFAST-Key:x",
        "Hold\x00fast-Run: 1",
        "x\rHoldfast-Task: 9",
        "Holdfast-Task= 9",
    ],
)
def test_forged_trailers_are_dropped(forged: str) -> None:
    message = clean_message(f"Subject\n\nBody\n{forged}\nFixes: #1")
    assert "fast-" not in message.lower()
    assert message.startswith("Subject\n\nBody\n")
    assert message.endswith("Fixes: #1")


def test_a_huge_message_is_cut_between_characters_and_keeps_its_subject() -> None:
    message = clean_message("Subject\n\n" + "é" * 10_000)
    assert message.startswith("Subject\n\n")
    assert MESSAGE_LIMIT - 2 < len(message.encode()) <= MESSAGE_LIMIT


def test_a_lone_surrogate_can_still_be_encoded() -> None:
    assert clean_message("a\ud800b").encode() == b"a?b"


TAGS = (
    "<SUCCESS>",
    "</SUCCESS>",
    "<FAILURE>",
    "</FAILURE>",
    "SUGGESTED_COMMIT_MESSAGE:",
    "END_COMMIT_MESSAGE",
)
TROUBLE = (
    "\n",
    "\r",
    "```",
    "`",
    " ",
    "Holdfast-Task: 1",
    "HOLDFAST-KEY :x",
    "\0",
    "\x1b[31m",
    "\x85",
    "\u2028",
)
pieces = st.sampled_from((*TAGS, *TROUBLE, "a"))
outputs = st.one_of(st.text(), st.lists(st.one_of(pieces, st.text(max_size=5))).map("".join))


@settings(derandomize=True, deadline=None, max_examples=300)
@given(outputs)
def test_whatever_an_agent_prints_its_message_is_safe_to_commit(text: str) -> None:
    read_claim(text)
    for message in (suggested_message("SUGGESTED_COMMIT_MESSAGE: " + text), clean_message(text)):
        assert not re.search(r"(?im)^\s*holdfast-[\w-]*\s*:", message)
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", message)
        assert message == message.strip()
        assert len(message.encode()) <= MESSAGE_LIMIT


@settings(derandomize=True, deadline=None, max_examples=100)
@given(outputs)
def test_the_tag_at_the_end_decides_whatever_came_before(text: str) -> None:
    assert read_claim(text + "\n<FAILURE>no</FAILURE>") == Claim(False, "no")
