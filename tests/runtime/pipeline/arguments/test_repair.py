"""What models really send, and what is made of it."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ferrule.runtime.pipeline.arguments.repair import repair_input
from ferrule.runtime.pipeline.arguments.validation import ArgumentProblem, Arguments, ParsedArguments
from ferrule.schema.schema_view import SchemaView
from tests.runtime.pipeline.arguments.contracts import ADD, fields, tool

TEXT: dict[str, Any] = {"type": "string"}
WHOLE_NUMBER: dict[str, Any] = {"type": "integer"}
DEFINITIONS = {"address": fields("city", city=TEXT, zip=WHOLE_NUMBER)}


@pytest.mark.parametrize(
    ("schema", "sent", "meant", "changed"),
    [
        (WHOLE_NUMBER, "3", 3, "x"),
        (WHOLE_NUMBER, " -12 ", -12, "x"),
        ({"type": "number"}, "2.5", 2.5, "x"),
        ({"type": "boolean"}, "true", True, "x"),
        ({"type": "boolean"}, "False", False, "x"),
        ({"type": "object"}, '{"a": 1}', {"a": 1}, "x"),
        ({"type": "array", "items": WHOLE_NUMBER}, "[1, 2]", [1, 2], "x"),
        ({"type": "array", "items": WHOLE_NUMBER}, ["1", 2], [1, 2], "x[0]"),
        ({"type": "array", "items": TEXT}, "urgent", ["urgent"], "x"),
        ({"type": "array", "items": WHOLE_NUMBER}, 5, [5], "x"),
        ({"anyOf": [WHOLE_NUMBER, {"type": "null"}]}, "7", 7, "x"),
        ({"anyOf": [WHOLE_NUMBER, {"type": "null"}]}, "null", None, "x"),
        ({"enum": [1, 2]}, "2", 2, "x"),
        ({"$ref": "#/$defs/address"}, '{"city": "Ulm", "zip": "89073"}', {"city": "Ulm", "zip": 89073}, "x"),
    ],
)
def test_what_was_meant_is_told_from_the_schema(schema: Any, sent: Any, meant: Any, changed: str) -> None:
    whole = {**fields("x", x=schema), "$defs": DEFINITIONS}
    found = Arguments.of(tool(whole)).parse(msgspec.json.encode({"x": sent}))
    assert isinstance(found, ParsedArguments), found
    assert found.arguments == {"x": meant}
    assert found.changes[0].source_type == "adapter"
    assert changed in found.changes[0].changed_fields
    assert msgspec.json.decode(found.encoded) == found.arguments


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        (WHOLE_NUMBER, "three"),
        (WHOLE_NUMBER, "3.5"),
        (WHOLE_NUMBER, "0x10"),
        (WHOLE_NUMBER, ""),
        ({"type": "boolean"}, "yes"),
        ({"type": "boolean"}, 1),
        ({"type": "object"}, "{not json"),
        ({"type": "object"}, '{"a": 1, "a": 2}'),
        ({"type": "array", "items": TEXT}, "[broken"),
        ({"type": "object"}, "[" * 300),
        (TEXT, 5),
        (TEXT, {"a": 1}),
        ({"type": "integer", "maximum": 2}, "3"),
    ],
)
def test_what_cannot_be_told_is_refused(schema: Any, sent: Any) -> None:
    found = Arguments.of(tool(fields("x", x=schema))).parse(msgspec.json.encode({"x": sent}))
    assert isinstance(found, ArgumentProblem)


def test_null_means_not_given_only_where_it_can_mean_nothing_else() -> None:
    schema = fields("needed", needed=WHOLE_NUMBER, extra=WHOLE_NUMBER, maybe={"type": ["integer", "null"]})
    arguments = Arguments.of(tool(schema))
    found = arguments.parse(b'{"needed": 1, "extra": null, "maybe": null}')
    assert isinstance(found, ParsedArguments)
    assert found.arguments == {"needed": 1, "maybe": None}
    assert found.changes[0].changed_fields == ("extra",)
    assert isinstance(arguments.parse(b'{"needed": null}'), ArgumentProblem)


@pytest.mark.parametrize("raw", [b'"{\\"a\\": 1, \\"b\\": 2}"', b'"{\\"a\\": \\"1\\", \\"b\\": 2}"'])
def test_arguments_sent_as_one_string_are_opened(raw: bytes) -> None:
    found = Arguments.of(tool(ADD)).parse(raw)
    assert isinstance(found, ParsedArguments)
    assert found.arguments == {"a": 1, "b": 2}
    assert {"a", "b"} <= set(found.changes[0].changed_fields)


@pytest.mark.parametrize("raw", [b"", b"  ", b"null", b'"{}"'])
def test_nothing_means_no_arguments(raw: bytes) -> None:
    found = Arguments.of(tool(fields())).parse(raw)
    assert isinstance(found, ParsedArguments)
    assert found.arguments == {}
    assert isinstance(Arguments.of(tool(ADD)).parse(raw), ArgumentProblem)


def test_a_tool_can_ask_to_be_taken_at_its_word() -> None:
    assert isinstance(Arguments.of(tool(ADD, lenient=False)).parse(b'{"a": "1", "b": 2}'), ArgumentProblem)
    assert isinstance(Arguments.of(tool(fields(), lenient=False)).parse(b""), ArgumentProblem)


LEAVES = st.sampled_from([TEXT, WHOLE_NUMBER, {"type": "number"}, {"type": "boolean"}, {"type": ["string", "null"]}])
NAMES = st.sampled_from(["a", "b", "c"])
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: (
        st.dictionaries(NAMES, inner, max_size=3).map(lambda members: fields(*list(members)[:1], **members))
        | inner.map(lambda item: {"type": "array", "items": item})
        | st.lists(inner, min_size=1, max_size=2).map(lambda forms: {"anyOf": forms})
    ),
    max_leaves=6,
)
ROOTS = st.dictionaries(NAMES, SCHEMAS, max_size=3).map(lambda members: fields(*list(members)[:1], **members))
SENT = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.sampled_from(["1", "true", "null", "x", "[1]", '{"a": "1"}', ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(ROOTS, SENT)
def test_mending_only_ever_makes_a_misfit_fit(schema: dict[str, Any], value: Any) -> None:
    validator = jsonschema_rs.validator_for(schema)
    found = Arguments.of(tool(schema)).parse(msgspec.json.encode(value))
    if validator.is_valid(value):
        assert found == ParsedArguments(value)
    elif isinstance(found, ParsedArguments):
        assert validator.is_valid(found.arguments)
        assert found.changes


@given(st.dictionaries(NAMES, SENT, max_size=3))
def test_text_is_never_touched_where_text_is_allowed(value: dict[str, Any]) -> None:
    assume(value)
    texts = {name: {"type": ["string", "array", "object", "integer", "boolean"]} for name in value}
    mended = repair_input(SchemaView(fields(**texts)), value)
    for name, member in value.items():
        if isinstance(member, str):
            assert mended.value[name] == member
