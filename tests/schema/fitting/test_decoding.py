"""What models really send is understood, where it can be understood in one way only."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.schema.fitting import PROFILES, decode, encode, fit

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "words": {"type": "string"},
        "limit": {"type": "integer"},
        "until": {"type": ["string", "null"]},
        "labels": {"type": "object", "additionalProperties": {"type": "integer"}},
        "filter": {"type": "object", "properties": {"by": {"type": "string"}, "deep": {}}, "required": ["by"]},
        "anything": {},
    },
    "required": ["words"],
}
STRICT = fit(SCHEMA, PROFILES["openai-strict"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_null_says_that_a_property_was_left_out() -> None:
    answer = {"words": "a", "limit": None, "until": None, "labels": None, "filter": None, "anything": None}
    assert decode(STRICT.steps, answer) == {"words": "a"}


def test_null_where_null_is_a_value_too_is_told_and_leaves_out() -> None:
    [told] = [change for change in STRICT.changes if change.path == "properties/until"]
    assert told.instead == "dropped" and "null" in told.why
    assert decode(STRICT.steps, encode(STRICT.steps, {"words": "a", "until": None})) == {"words": "a"}


@pytest.mark.parametrize(
    "sent",
    [
        {"words": "a", "labels": [{"key": "x", "value": 1}]},
        {"words": "a", "labels": {"x": 1}},
        {"words": "a", "labels": '{"x": 1}'},
        {"words": "a", "labels": '[{"key": "x", "value": 1}]'},
        {"words": "a", "labels": [["x", 1]]},
        '{"words": "a", "labels": {"x": 1}}',
        b'{"words": "a", "labels": [{"key": "x", "value": 1}]}',
    ],
)
def test_maps_are_read_in_every_way_they_are_sent(sent: Any) -> None:
    assert decode(STRICT.steps, sent) == {"words": "a", "labels": {"x": 1}}


@pytest.mark.parametrize("sent", [{"by": "x", "deep": "[1]"}, '{"by": "x", "deep": "[1]"}', {"by": "x", "deep": [1]}])
def test_objects_sent_as_text_are_read(sent: Any) -> None:
    assert decode(STRICT.steps, {"words": "a", "filter": sent}) == {"words": "a", "filter": {"by": "x", "deep": [1]}}


def test_text_that_is_no_json_is_the_text() -> None:
    assert decode(STRICT.steps, {"words": "a", "anything": "plain words"}) == {"words": "a", "anything": "plain words"}


@pytest.mark.parametrize("sent", ["", None, "  "])
def test_no_arguments_are_no_arguments(sent: Any) -> None:
    assert decode((), sent) == {} == decode(STRICT.steps, sent)


@pytest.mark.parametrize("sent", [{"arguments": {"kind": "a"}}, {"kind": "a"}])
def test_a_root_that_was_wrapped_is_taken_without_its_wrapping_too(sent: Any) -> None:
    branches = [{"type": "object", "properties": {"kind": {"const": word}}, "required": ["kind"]} for word in "ab"]
    fitted = fit({"oneOf": branches}, PROFILES["openai"])
    assert list(fitted.schema["properties"]) == ["arguments"]
    assert decode(fitted.steps, sent) == {"kind": "a"}


@pytest.mark.parametrize("sent", [{"a_b": 1}, {"a b": 1}])
def test_a_renamed_property_is_taken_by_its_own_name_too(sent: Any) -> None:
    fitted = fit({"type": "object", "properties": {"a b": {"type": "integer"}}}, PROFILES["anthropic"])
    assert list(fitted.schema["properties"]) == ["a_b"]
    assert decode(fitted.steps, sent) == {"a b": 1}


@given(values)
def test_no_answer_makes_decoding_fail(sent: Any) -> None:
    decode(STRICT.steps, sent)
    decode(STRICT.steps, {"words": sent, "labels": sent, "filter": sent, "anything": sent})


def test_answers_nested_very_deep_end_somewhere() -> None:
    deep: Any = 1
    for _ in range(800):
        deep = {"next": deep}
    tree = {"type": "object", "properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}}
    fitted = fit(tree, PROFILES["openai-strict"])
    decode(fitted.steps, deep)
    assert decode(fitted.steps, {"next": {"next": None, "n": 1}, "n": None}) == {"next": {"n": 1}}
