from typing import Any, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.model.codec import decode, encode, kind_of
from holdfast.model.events import STORED, AgentSpoke, Event

TEXT = st.text(st.characters(), max_size=20)


@pytest.mark.parametrize("kind", STORED)
def test_every_stored_event_survives_the_trip(kind: str) -> None:
    @settings(max_examples=20, deadline=None)
    @given(st.data())
    def survives(data: st.DataObject) -> None:
        event = built(STORED[kind], data)
        assert kind_of(event) == kind
        assert decode(kind, encode(event)) == event

    survives()


def built(shape: type[Event], data: st.DataObject) -> Event:
    values = {
        str: TEXT,
        int: st.integers(),
        bool: st.booleans(),
        float: st.floats(allow_nan=False),
        int | None: st.none() | st.integers(),
        float | None: st.none() | st.floats(allow_nan=False),
    }
    fields: dict[str, Any] = {n: data.draw(values[hint]) for n, hint in get_type_hints(shape).items()}
    return shape(**fields)


@given(st.sampled_from(sorted(STORED)), st.text() | st.just("{}") | st.just('{"task":1e999,"seconds":[]}'))
def test_no_text_upsets_the_reader(kind: str, data: str) -> None:
    decode(kind, data)


def test_encoded_text_is_ascii() -> None:
    assert encode(AgentSpoke("1", "\ud800 €")).isascii()


def test_what_is_never_stored_is_never_read() -> None:
    spoken = AgentSpoke("1", "hi")
    assert decode(kind_of(spoken), encode(spoken)) is None
