"""A change of one value leaves every other byte, and looks as if the text's own writer had made it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.plans.json_edit import Edit, applied, extend, put, replace
from holdfast.plans.json_text import Node, parse
from plans.json_manners import Manner, manners, texts, unknown

laws = settings(derandomize=True, deadline=None, max_examples=200)
OPENED = {"inner": 1, "list": 1}


def opened(data: bytes) -> Node:
    return parse(data, "plan.json", OPENED)


def child(data: bytes, key: str) -> Node:
    node = opened(data).get(key)
    assert node is not None
    return node


@laws
@given(st.dictionaries(texts, unknown, min_size=1), manners, st.data())
def test_replacing_a_value_touches_that_value_alone(
    plan: dict[str, object], manner: Manner, draw: st.DataObject
) -> None:
    data = manner.write(plan)
    key, value = draw.draw(st.sampled_from(list(plan))), draw.draw(unknown)
    edit = put(data, opened(data), key, value)
    new = applied(data, [edit])
    assert json.loads(new) == plan | {key: value}
    assert list(json.loads(new)) == list(plan)
    assert applied(new, [Edit(edit.at, edit.at + len(edit.new), data[edit.at : edit.end])]) == data


@laws
@given(st.dictionaries(texts, unknown), texts, unknown, manners)
def test_a_new_member_comes_last_as_the_texts_own_writer_would_put_it(
    plan: dict[str, object], key: str, value: object, manner: Manner
) -> None:
    plan = {name: part for name, part in plan.items() if name != key}
    data = manner.write({"inner": plan, "after": "<é>"})
    new = applied(data, [put(data, child(data, "inner"), key, value)])
    assert json.loads(new) == {"inner": {**plan, key: value}, "after": "<é>"}
    if manner.indent != 0:  # lines without indentation: what is new stays on one
        assert new == manner.write({"inner": {**plan, key: value}, "after": "<é>"})


@laws
@given(st.lists(unknown), st.lists(unknown, min_size=1), manners)
def test_a_list_is_extended_as_the_texts_own_writer_would_do_it(
    items: list[object], more: list[object], manner: Manner
) -> None:
    data = manner.write({"list": items, "after": "<é>"})
    new = applied(data, [extend(data, child(data, "list"), more)])
    assert json.loads(new) == {"list": [*items, *more], "after": "<é>"}
    if manner.indent != 0:  # lines without indentation: what is new stays on one
        assert new == manner.write({"list": [*items, *more], "after": "<é>"})


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"{}", b'{"status":"done"}'),
        (b'{ "a": 1 }', b'{ "a": 1, "status": "done" }'),
        (b'{"a":1}', b'{"a":1,"status":"done"}'),
        (b'{"a" : 1, "b" : 2}', b'{"a" : 1, "b" : 2, "status" : "done"}'),
        (b'{\n\t"a": 1\n}\n', b'{\n\t"a": 1,\n\t"status": "done"\n}\n'),
        (b'{\r\n "a": 1,\r\n "b": 2 }', b'{\r\n "a": 1,\r\n "b": 2,\r\n "status": "done" }'),
        (b'{"a": 1\n,"b": 2\n}', b'{"a": 1\n,"b": 2\n,"status": "done"\n}'),
    ],
)
def test_odd_manners_are_kept(data: bytes, expected: bytes) -> None:
    assert applied(data, [put(data, opened(data), "status", "done")]) == expected


def test_several_edits_of_one_text_are_made_together() -> None:
    data = b'{"a": 1, "list": [1, 2], "z": 3}'
    root = opened(data)
    edits = [
        put(data, root, "y", 5),
        put(data, root, "z", 4),
        put(data, root, "a", "long text"),
        put(data, root, "x", 6),
    ]
    assert applied(data, edits) == b'{"a": "long text", "list": [1, 2], "z": 4, "y": 5, "x": 6}'


def test_a_nested_value_is_indented_from_where_it_stands() -> None:
    data = b'{\n  "inner": {\n    "list": []\n  }\n}'
    new = applied(data, [put(data, child(data, "inner"), "more", {"a": [1]})])
    assert new == json.dumps({"inner": {"list": [], "more": {"a": [1]}}}, indent=2).encode()
    assert (
        applied(data, [replace(data, child(data, "inner"), {"x": 1})])
        == b'{\n  "inner": {\n    "x": 1\n  }\n}'
    )


def test_what_go_escapes_stays_escaped() -> None:
    data = b'{"a": "\\u003cx\\u003e"}'
    assert applied(data, [put(data, opened(data), "b", "<&>\u2028")]) == (
        b'{"a": "\\u003cx\\u003e", "b": "\\u003c\\u0026\\u003e\\u2028"}'
    )
