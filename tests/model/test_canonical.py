"""Equal payloads give equal bytes, and what a payload holds already is not written twice."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.model.canonical import canonical, digest_of, digest_of_tool
from ferrule.model.tool import raw
from tests.model.tools import a_tool

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"q": {"type": "string"}}}


def test_keys_are_sorted_at_every_level_and_nothing_is_padded() -> None:
    assert canonical({"b": [{"z": 1, "a": 2.5}], "a": "é"}) == '{"a":"é","b":[{"a":2.5,"z":1}]}'.encode()


def test_raw_members_are_sorted_too() -> None:
    one = a_tool(input_schema=msgspec.Raw(b'{ "type": "object", "description": "d" }'))
    other = a_tool(input_schema=msgspec.Raw(b'{"description":"d","type":"object"}'))
    assert canonical(one) == canonical(other)


def test_a_schema_that_stands_in_the_payload_is_written_once() -> None:
    tool = a_tool(payload={"input_contract": {"model_input_schema": SCHEMA}}, input_schema=raw(SCHEMA))
    written = msgspec.json.decode(canonical(tool))
    assert "input_schema" not in written
    assert written["at_home"] == ["input_schema"]
    assert written["payload"] == {"input_contract": {"model_input_schema": SCHEMA}}


def test_a_schema_that_differs_from_the_payload_is_written_itself() -> None:
    other = {**SCHEMA, "required": ["q"]}
    tool = a_tool(payload={"input_contract": {"model_input_schema": SCHEMA}}, input_schema=raw(other))
    written = msgspec.json.decode(canonical(tool))
    assert written["input_schema"] == other and "at_home" not in written


def test_a_tool_has_the_digest_of_its_canonical_bytes() -> None:
    tool = a_tool()
    assert digest_of_tool(tool) == digest_of(canonical(tool))
    assert digest_of_tool(tool) != digest_of_tool(a_tool(description="Does something else."))
    assert digest_of(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
