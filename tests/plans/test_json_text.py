"""JSON is read with the place of every value, or refused with the place of the first fault."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import PlanError
from holdfast.plans.json_text import Node, object_at, parse, plain, with_lines

EVERYTHING = dict.fromkeys(("a", "b", "c"), 9)

values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
    ),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.sampled_from('abcdé"\\'), inner)),
    max_leaves=12,
)


def refusal(text: str | bytes) -> PlanError:
    with pytest.raises(PlanError) as caught:
        parse(text.encode() if isinstance(text, str) else text, "plan.json", EVERYTHING)
    return caught.value


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    values,
    st.sampled_from([None, 1, "\t"]),
    st.booleans(),
    st.sampled_from([{}, {"a": 1}, {"a": 2, "b": 1}, EVERYTHING]),
)
def test_what_is_opened_and_what_is_not_say_the_same(
    value: object, indent: int | str | None, ascii: bool, opened: dict[str, int]
) -> None:
    data = json.dumps(value, indent=indent, ensure_ascii=ascii).encode("utf-8", "surrogatepass")
    if not ascii and any(0xD800 <= ord(char) < 0xE000 for char in json.dumps(value, ensure_ascii=False)):
        return
    node = parse(data, "plan.json", opened)
    assert plain(node) == value
    check_places(data, node)


def check_places(data: bytes, node: Node) -> None:
    assert json.loads(data[node.at : node.end]) == plain(node)
    for key, member in (node.members or {}).items():
        assert json.loads(data[member.key_at : member.key_end]) == key
        check_places(data, member.node)
    for item in node.items or ():
        check_places(data, item)


def test_a_byte_order_mark_and_windows_line_ends_are_counted_as_bytes() -> None:
    data = b'\xef\xbb\xbf{\r\n  "a": "\xc3\xa9",\r\n  "b": [1]\r\n}\r\n'
    b = parse(data, "plan.json", {}).get("b")
    assert b is not None
    assert data[b.at : b.end] == b"[1]"
    assert list(with_lines(data, [b])) == [(3, b)]


def test_an_object_in_the_middle_is_found_where_it_is() -> None:
    data = '[{"é": "ü", "n": {"x": 1}}, {"n": 2}]'.encode()
    node = object_at(data, 1, len(data))
    assert plain(node) == {"é": "ü", "n": {"x": 1}}
    check_places(data, node)


SMALL = b'{\n  "a": [{"b": "x\\u00e9\\n", "c": -1.5e+3}, true],\n  "d": null\n}'


@pytest.mark.parametrize("length", range(len(SMALL)))
def test_a_text_cut_off_anywhere_is_refused_with_its_line(length: int) -> None:
    error = refusal(SMALL[:length])
    assert error.line == SMALL[:length].count(b"\n") + 1
    assert "column" in error.message
    assert error.fix


@settings(derandomize=True, deadline=None, max_examples=400)
@given(st.integers(0, len(SMALL) - 1), st.binary(min_size=1, max_size=2))
def test_a_damaged_text_is_refused_or_is_still_the_json_that_others_read(at: int, other: bytes) -> None:
    data = SMALL[:at] + other + SMALL[at + 1 :]
    try:
        found = plain(parse(data, "plan.json", EVERYTHING))
    except PlanError as error:
        assert error.line
    else:
        assert found == json.loads(data)


FAULTS = {
    "empty": ("", 1, "the file ends where a value should follow"),
    "blank": ("  \n ", 2, "the file ends where a value should follow"),
    "two values": ("{} {}", 1, "expected nothing more, found {"),
    "no comma": ('{"a": 1\n "b": 2}', 2, 'expected a comma or }, found "'),
    "comma at the end": ('{"a": 1,\n}', 2, "expected a key in double quotes, found }"),
    "comma at the end of a list": ('{"a": [1,\n]}', 2, "(in a[1]): expected a value, found ]"),
    "wrong bracket": ('{"a": [1}', 1, "(in a[0]): expected a comma or ], found }"),
    "no colon": ('{"a" 1}', 1, "(in a): expected a colon, found 1"),
    "single quotes": ("{'a': 1}", 1, "expected a key in double quotes or }, found '"),
    "a comment": ('{"a": 1} // x', 1, "expected nothing more, found /"),
    "a bare word": ('{"a": yes}', 1, "(in a): expected a value, found yes"),
    "NaN": ('{"a": {"q": [NaN]}}', 1, "(in a.q[0]): expected a value or ], found NaN"),
    "minus Infinity": ('{"a": -Infinity}', 1, "(in a): expected a value, found -Infinity"),
    "a leading zero": ('{"a": 01}', 1, "expected a value, found 01"),
    "a line break in a string": ('{"a": "x\ny"}', 1, "a line break or control character inside a string"),
    "a tab in a key": ('{"a\t": 1}', 1, "a line break or control character inside a string"),
    "a bad escape": ('{"a": "\\x"}', 1, "an escape that JSON does not know"),
    "half an escape": ('{"a": "\\u12"}', 1, "an escape that JSON does not know"),
    "open string": ('{"a": "x', 1, "the file ends inside the string that begins here"),
    "a key twice": ('{"a": 1,\n "a": 2}', 2, "the key a stands here a second time"),
    "a key twice, deep": (
        '{"x": [{"k": 1,\n "k": 2}]}',
        2,
        "(in x[0].k): the key k stands here a second time",
    ),
    "a key twice, escaped": ('{"a": 1,\n "\\u0061": 2}', 2, "stands here a second time"),
    "too many digits": (f'{{"a": {"9" * 5000}}}', 1, "too many digits"),
    "a conflict": ('{\n<<<<<<< HEAD\n "a": 1\n=======\n', 2, "an unresolved merge conflict (<<<<<<<)"),
    "an API error": ("API Error: 529 overloaded", 1, "expected a value, found API"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_named_with_its_place(case: str) -> None:
    text, line, words = FAULTS[case]
    error = refusal(text)
    assert words in error.message
    assert error.line == line
    assert error.exit_code == 2
    assert error.fix


def test_the_column_counts_characters() -> None:
    assert "column 8" in refusal('{"éü": }').message


def test_bytes_that_are_not_utf_8_are_refused_with_their_line() -> None:
    error = refusal(b'{"a":\n "\xff"}')
    assert "not UTF-8" in error.message
    assert error.line == 2


@pytest.mark.parametrize("bracket", ["[", '{"x":', '{"a":', '{"a":['])
@pytest.mark.parametrize("closed", [True, False])
def test_a_text_nested_too_deeply_is_refused_and_does_no_harm(bracket: str, closed: bool) -> None:
    ends = "".join({"{": "}", "[": "]"}[char] for char in reversed(bracket) if char in "{[")
    text = '{"x": ' + bracket * 100_000 + ("1" + ends * 100_000 + "}" if closed else "")
    assert "nested deeper than 500 levels" in refusal(text).message
