"""What models answer, in each provider's shape: the tool that is meant, and its arguments as it takes them (AT-261)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.contracts.format import WriteOptions
from ferrule.definitions.formats.answers import Answers, Called, UnreadableCall, decode_call
from ferrule.definitions.formats.builtin import FORMATS
from ferrule.definitions.formats.functions import FunctionList
from ferrule.model.tool import raw
from ferrule.schema.fitting import encode
from tests.definitions.formats.shop import tool

TOOL = tool("orders.refund")
ARGUMENTS = {"order": "A-1"}
CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("openai", {"id": "c1", "type": "function", "function": {"name": "orders_refund", "arguments": '{"order":"A-1"}'}}, "c1"),
    ("openai-responses", {"id": "fc_1", "call_id": "c1", "name": "orders_refund", "arguments": '{"order":"A-1"}'}, "c1"),
    ("anthropic", {"type": "tool_use", "id": "toolu_1", "name": "orders_refund", "input": ARGUMENTS}, "toolu_1"),
    ("gemini", {"functionCall": {"name": "orders_refund", "args": ARGUMENTS}, "thoughtSignature": "x"}, ""),
    ("gemini-openapi", {"name": "orders_refund", "args": ARGUMENTS, "id": "g1"}, "g1"),
    ("mistral", {"id": "123456789", "function": {"name": "orders_refund", "arguments": ARGUMENTS}}, "123456789"),
    ("ollama", {"function": {"name": "orders_refund", "arguments": ARGUMENTS}}, ""),
    ("bedrock", {"toolUse": {"toolUseId": "t1", "name": "orders_refund", "input": ARGUMENTS}}, "t1"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "call", "call_id"), CALLS)
def test_a_call_leads_to_its_tool(name: str, call: dict[str, Any], call_id: str) -> None:
    assert decode_call(name, call, [TOOL]) == Called("shop.orders.refund", ARGUMENTS, call_id)


def test_what_a_strict_schema_had_to_add_is_taken_away_again() -> None:
    answers = Answers("openai", [TOOL], WriteOptions(is_strict=True))
    call = {"id": "1", "function": {"name": "orders_refund", "arguments": '{"order": "A-1", "note": null}'}}
    assert answers.decode(call).arguments == ARGUMENTS
    assert answers.name_of("shop.orders.refund") == "orders_refund"
    assert answers.name_of("other") is None


def test_nothing_is_no_arguments() -> None:
    for nothing in ("", "  ", None):
        assert (
            decode_call("openai", {"function": {"name": "orders_refund", "arguments": nothing}}, [TOOL]).arguments == {}
        )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ({}, "names no tool"),
        ({"function": {"name": "orders.refund", "arguments": "{}"}}, "no tool called"),
        ({"function": {"name": "orders_refund", "arguments": "{"}}, "no JSON"),
        ({"function": {"name": "orders_refund", "arguments": "[" * 5000}}, "nested too deeply"),
        ({"function": {"name": "orders_refund", "arguments": "[]"}}, "must be an object"),
    ],
)
def test_a_call_that_cannot_be_read_is_told_in_words(call: dict[str, Any], words: str) -> None:
    with pytest.raises(UnreadableCall, match=words):
        decode_call("openai", call, [TOOL])


def test_mcp_is_no_provider() -> None:
    with pytest.raises(UnreadableCall, match="no provider"):
        decode_call("mcp", {"name": "x"}, [TOOL])


SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "maybe": {"type": ["integer", "null"]},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "either": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
        "x y": {"type": "boolean"},
    },
    "required": ["a"],
}


@pytest.mark.parametrize("name", [name for name in FORMATS.names() if isinstance(FORMATS.get(name), FunctionList)])
@given(
    st.fixed_dictionaries(
        {"a": st.text(max_size=5)},
        optional={
            "maybe": st.integers(-5, 5),  # where null may be left out, too, a strict model cannot tell them apart
            "map": st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=2),
            "either": st.text(max_size=3) | st.lists(st.integers(0, 9), max_size=2),
            "x y": st.booleans(),
        },
    ),
    st.booleans(),
)
@settings(max_examples=20, deadline=None)
def test_arguments_come_back_as_the_tool_takes_them(name: str, arguments: dict[str, Any], is_strict: bool) -> None:
    form = FORMATS.get(name)
    assert isinstance(form, FunctionList)
    listed = [tool(input_schema=raw(SCHEMA))]
    options = WriteOptions(is_strict=is_strict)
    for offered in form.offer(listed, options).tools:
        assert offered.fitted is not None
        sent = encode(offered.fitted.steps, arguments)
        assert decode_call(name, {"name": "refund", "input": sent}, listed, options).arguments == arguments
