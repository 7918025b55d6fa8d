"""Fields the model never sees nor sends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.model.tool import Tool, raw
from ferrule.schema.internal_fields import (
    InternalFields,
    find_internal,
    internal_fields,
    model_schema,
    without_internal,
)

INTERNAL = {"type": "string", "visibility": "internal"}


def a_tool(contract: dict[str, Any], schema: Any, runtime: Any = None) -> Tool:
    return Tool(
        tool_id="t",
        namespace="n",
        name="t",
        description="Does it.",
        lifecycle="available",
        tool_kind="function",
        dialect="agent_tool",
        input_schema=raw(schema),
        runtime_input_schema=None if runtime is None else raw(runtime),
        payload=raw({"input_contract": contract}),
    )


def shown(contract: dict[str, Any], schema: Any, runtime: Any = None) -> Any:
    return msgspec.json.decode(model_schema(a_tool(contract, schema, runtime)))


def keys(value: Any) -> Iterator[str]:
    """Every key and every text of a value."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield key
            yield from keys(member)
    elif isinstance(value, list):
        for item in value:
            yield from keys(item)
    elif isinstance(value, str):
        yield value


def test_a_tool_without_internal_fields_keeps_its_bytes() -> None:
    tool = a_tool({}, {"type": "object", "properties": {"q": {}}})
    assert model_schema(tool) is tool.input_schema
    assert not internal_fields(tool)


def test_listed_and_marked_fields_are_internal() -> None:
    """AT-58: either way of saying it, in either schema."""
    runtime = {"properties": {"marked": INTERNAL, "deep": {"properties": {"inner": INTERNAL}}}}
    fields = internal_fields(a_tool({"internal_only_fields": ["listed", "a.b"]}, {}, runtime))
    assert fields.covers(("listed",))
    assert fields.covers(("anywhere", "listed"))
    assert fields.covers(("a", "b"))
    assert fields.covers(("marked",))
    assert fields.covers(("deep", "inner"))
    assert not fields.covers(("inner",))
    assert not fields.covers(("x", "b"))


def test_a_mark_hidden_by_an_escape_is_seen() -> None:
    tool = a_tool({}, {})
    written = b'{"properties":{"s":{"visib\\u0069lity":"int\\u0065rnal"}}}'
    hidden = msgspec.structs.replace(tool, input_schema=msgspec.Raw(written))
    assert msgspec.json.decode(model_schema(hidden)) == {"properties": {}}


@pytest.mark.parametrize(
    ("schema", "left"),
    [
        ({"properties": {"s": {}, "q": {}}, "required": ["q", "s"]}, {"properties": {"q": {}}, "required": ["q"]}),
        ({"items": {"properties": {"s": {}}}}, {"items": {"properties": {}}}),
        ({"anyOf": [{"required": ["s"]}, {"required": ["q"]}]}, {"anyOf": [{"required": []}, {"required": ["q"]}]}),
        ({"dependentRequired": {"s": ["q"], "q": ["s", "r"]}}, {"dependentRequired": {"q": ["r"]}}),
        ({"dependentSchemas": {"s": {}, "q": {}}}, {"dependentSchemas": {"q": {}}}),
        ({"dependencies": {"s": ["q"], "q": ["s"]}}, {"dependencies": {"q": []}}),
        ({"default": {"s": 1, "q": 2}, "examples": [{"s": 1}]}, {"default": {"q": 2}, "examples": [{}]}),
        ({"patternProperties": {"^s$": {}, "^x": {}}}, {"patternProperties": {"^x": {}}}),
        ({"propertyNames": {"enum": ["s", "q"]}}, {"propertyNames": {"enum": ["q"]}}),
        ({"x-order": ["s", "q"], "x-ui": {"s": 1}}, {"x-order": ["q"], "x-ui": {}}),
        ({"$defs": {"d": {"properties": {"s": {}}}}}, {"$defs": {"d": {"properties": {}}}}),
        ({"properties": {"q": {"$ref": "#/properties/s"}}}, {"properties": {"q": {}}}),
        ({"properties": {"q": {"$ref": "#/properties/%73"}}}, {"properties": {"q": {}}}),
        ({"not": {"required": ["s"]}, "type": "object"}, {"type": "object"}),
        ({"if": {"required": ["s"]}, "then": {"required": ["q"]}, "else": {}}, {}),
        ({"oneOf": [{"required": ["s"]}, {"required": ["q"]}]}, {"anyOf": [{"required": []}, {"required": ["q"]}]}),
        ({"description": "Not s.", "enum": ["s"]}, {"description": "Not s.", "enum": ["s"]}),
        (True, True),
    ],
)
def test_every_trace_of_a_field_is_gone(schema: Any, left: Any) -> None:
    """AT-56: also where it would leave a schema nothing can meet, or a reference to nothing."""
    assert without_internal(schema, InternalFields(frozenset({"s"}))) == left


def test_a_field_reached_through_a_reference_is_gone() -> None:
    """AT-56: the place of a listed field may lie behind a reference."""
    schema: dict[str, Any] = {
        "properties": {"address": {"$ref": "#/$defs/address"}},
        "$defs": {"address": {"properties": {"route": {}, "street": {}}, "required": ["route", "street"]}},
    }
    left = shown({"internal_only_fields": ["address.route"]}, schema)
    assert left["$defs"]["address"] == {"properties": {"street": {}}, "required": ["street"]}


def test_a_dotted_name_leaves_its_namesakes() -> None:
    inner = {"properties": {"id": {}}, "required": ["id"]}
    left = shown({"internal_only_fields": ["a.id"]}, {"properties": {"a": inner, "id": {}}, "required": ["id", "a"]})
    assert left == {
        "properties": {"a": {"properties": {}, "required": []}, "id": {}},
        "required": ["id", "a"],
    }


def test_what_a_model_sends_is_looked_through() -> None:
    """AT-59: at any depth, in lists too."""
    fields = InternalFields(frozenset({"tenant"}), frozenset({("a", "b")}))
    assert find_internal({"q": 1, "rows": [{"tenant": 2}], "a": [{"b": 3, "c": {"b": 4}}]}, fields) == [
        "rows.tenant",
        "a.b",
    ]
    assert find_internal({"b": 1, "q": {"x": None}}, fields) == []
    assert find_internal([1, "tenant"], fields) == []


NAMES = st.sampled_from(["alpha", "beta", "gamma", "delta"])
SECRETS = st.sampled_from(["zz_one", "zz_two", "zz_three"])
WORDS = st.one_of(NAMES, SECRETS)


def schemas(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas with secrets wherever a name can stand."""

    def wider(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        named = st.dictionaries(WORDS, inner, max_size=3)
        data = st.dictionaries(WORDS, st.integers(), max_size=2)
        refs = st.builds(lambda name: {"$ref": f"#/properties/{name}"}, WORDS)
        keywords = st.fixed_dictionaries(
            {},
            optional={
                "properties": named,
                "required": st.lists(WORDS, max_size=3),
                "items": inner,
                "anyOf": st.lists(inner, max_size=2),
                "oneOf": st.lists(inner, max_size=2),
                "allOf": st.lists(inner, max_size=2),
                "not": inner,
                "if": inner,
                "then": inner,
                "$defs": named,
                "dependentSchemas": named,
                "dependentRequired": st.dictionaries(WORDS, st.lists(WORDS, max_size=2), max_size=2),
                "additionalProperties": inner,
                "default": data,
                "examples": st.lists(data, max_size=2),
                "x-order": st.lists(WORDS, max_size=2),
            },
        )
        return st.one_of(keywords, refs)

    return st.recursive(leaf, wider, max_leaves=12)


@given(schemas(st.sampled_from([{}, {"type": "string"}, True])))
def test_no_listed_name_is_left_in_any_schema(schema: Any) -> None:
    """AT-56: whatever the contract looks like."""
    listed = ["zz_one", "zz_two", "zz_three"]
    left = shown({"internal_only_fields": listed}, schema)
    assert not set(keys(left)) & set(listed), json.dumps(left)
    assert not any("zz_" in text for text in keys(left))


@given(schemas(st.sampled_from([{}, INTERNAL])))
def test_no_marked_field_is_left_in_any_schema(schema: Any) -> None:
    """AT-56, AT-58: marks in the model's own schema count too."""
    left = shown({}, schema)

    def marked(value: Any) -> bool:
        if isinstance(value, list):
            return any(map(marked, value))
        if not isinstance(value, dict):
            return False
        members = value.get("properties")
        named = members.values() if isinstance(members, dict) else ()
        return any(isinstance(one, dict) and one.get("visibility") == "internal" for one in named) or any(
            map(marked, value.values())
        )

    assert not marked(left)
