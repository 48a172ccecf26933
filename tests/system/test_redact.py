import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.system.redact import HELD_BACK, MARK, Secrets

NONE = Secrets(())
KEYS = {
    "anthropic": "sk-ant-api03-" + "aB3_" * 20,
    "openai": "sk-proj-" + "Zz9-" * 12,
    "old openai": "sk-" + "a1B2" * 12,
    "github": "ghp_" + "a1B2" * 9,
    "github, fine-grained": "github_pat_" + "a1B2" * 12,
    "aws": "AKIA" + "A1B2C3D4E5F6G7H8",
}


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "key={} and more",
        '{{"apiKey":"{}"}}',
        "({})",
        "a\n{}\nb",
        "\x1b[31m{}\x1b[0m",
        r'{{"text":"exit 1\n{}\n"}}',
    ],
)
def test_what_looks_like_a_key_is_taken_out_and_the_rest_stays(kind: str, around: str) -> None:
    assert NONE.redacted(around.format(KEYS[kind])) == around.format(MARK)


def test_of_an_authorization_header_only_the_token_goes() -> None:
    text = "Authorization: Bearer abcdefgh.ijklmnop.qrstuvwx=="
    assert NONE.redacted(text) == f"Authorization: Bearer {MARK}"


@pytest.mark.parametrize(
    "text",
    [
        "task-list-for-the-next-twenty-days-2026",
        "sk-my-long-branch-name-without-a-number",
        "the bearer of bad news is here today",
        "refs/heads/risk-1234567890123456789012",
        "AKIA is a prefix, AKIAshort too",
    ],
)
def test_words_that_only_begin_alike_stay(text: str) -> None:
    assert NONE.redacted(text) == text


def test_values_of_variables_named_like_secrets_are_taken_out() -> None:
    secrets = Secrets.of(
        {
            "MY_KEY": "correct horse",
            "A_TOKEN": "short",
            "B_SECRET": "correct horse battery",
            "HOME": "/home/me/x",
        }
    )
    text = "correct horse battery; correct horse; short; /home/me/x"
    assert secrets.redacted(text) == f"{MARK}; {MARK}; short; /home/me/x"


def test_values_are_known_in_json_too() -> None:
    secrets = Secrets.of({"MY_KEY": 'say "grün" \\ twice'})
    for text in (json.dumps({"said": 'say "grün" \\ twice'}), r'{"said": "say \"grün\" \\ twice"}'):
        assert secrets.redacted(text) == f'{{"said": "{MARK}"}}'


def test_our_own_token_is_no_secret() -> None:
    assert Secrets.of({"HOLDFAST_TOKEN": "0123456789abcdef"}) == NONE


SECRET = KEYS["anthropic"]
LINES = f"first {SECRET}\nBearer {SECRET}\n{'x' * 3 * HELD_BACK} {SECRET} end".encode() + b"\xff\xfe\n"


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(st.integers(0, len(LINES)), max_size=8))
def test_wherever_a_stream_is_cut_no_secret_comes_through_and_nothing_else_is_lost(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(LINES)]
    stream = NONE.stream()
    written = b"".join(stream.feed(LINES[a:b]) for a, b in itertools.pairwise(edges)) + stream.rest()
    assert written == LINES.replace(SECRET.encode(), MARK.encode())


def test_an_unfinished_line_is_held_back_only_so_far() -> None:
    stream = NONE.stream()
    assert stream.feed(b"word " * HELD_BACK) != b""
    assert len(stream.rest()) <= HELD_BACK
