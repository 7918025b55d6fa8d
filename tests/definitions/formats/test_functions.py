"""Tools of a workspace for each provider: flags, examples, guidance, what only the runtime fills in, and what is left out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ferrule.contracts.format import WriteOptions
from ferrule.definitions.formats.builtin import FORMATS
from ferrule.model.diagnostic import Severity
from ferrule.model.tool import SafetyFacts, Tool, raw
from tests.definitions.formats.shop import SCHEMA, tool, write_tools

NAMES = [name for name in FORMATS.names() if name != "openapi"]


def test_each_provider_gets_its_own_shape() -> None:
    closed = {**SCHEMA, "additionalProperties": False}
    one = tool(input_schema=raw(closed))
    function = {"name": "refund", "description": "Give money back.", "parameters": closed}
    chat = [{"type": "function", "function": function}]
    assert write_tools("openai", one) == chat
    assert write_tools("mistral", one) == chat
    assert write_tools("openai-responses", one) == [{"type": "function", **function, "strict": False}]
    assert write_tools("anthropic", one) == [
        {"name": "refund", "description": "Give money back.", "input_schema": closed}
    ]
    assert write_tools("gemini", one) == [
        {
            "functionDeclarations": [
                {**{k: function[k] for k in ("name", "description")}, "parametersJsonSchema": closed}
            ]
        }
    ]
    assert write_tools("bedrock", one) == {
        "tools": [{"toolSpec": {"name": "refund", "description": "Give money back.", "inputSchema": {"json": closed}}}]
    }
    assert write_tools("mcp", one, is_plain=True) == {
        "tools": [{"name": "refund", "description": "Give money back.", "inputSchema": closed}]
    }


def test_at_46_strict_is_said_where_it_can_be() -> None:
    """AT-46: the flag is set with a schema that fits it; formats without one say nothing, and so does a tool that is not."""
    assert write_tools("openai", tool(), is_strict=True)[0]["function"]["strict"] is True
    assert write_tools("openai-responses", tool(), is_strict=True)[0]["strict"] is True
    assert write_tools("anthropic", tool(), is_strict=True)[0]["strict"] is True
    assert write_tools("mistral", tool(), is_strict=True)[0]["function"]["strict"] is True
    assert write_tools("bedrock", tool(), is_strict=True)["tools"][0]["toolSpec"]["strict"] is True
    parameters = write_tools("openai", tool(), is_strict=True)[0]["function"]["parameters"]
    assert sorted(parameters["required"]) == ["note", "order"]
    assert parameters["additionalProperties"] is False
    lenient = tool(facts=SafetyFacts(strict=False))
    assert "strict" not in write_tools("openai", lenient, is_strict=True)[0]["function"]
    for name in ("gemini", "ollama"):
        assert "strict" not in json.dumps(write_tools(name, tool(), is_strict=True))


def test_tools_that_are_loaded_later_say_so_where_a_provider_knows_it() -> None:
    later = {"deferred": frozenset({"shop.refund"})}
    for name in ("anthropic", "openai-responses"):
        first, second = write_tools(name, tool(), tool("other"), **later)
        assert first["defer_loading"] is True
        assert "defer_loading" not in second
    assert "defer_loading" not in json.dumps(write_tools("openai", tool(), **later))


@pytest.mark.parametrize("name", NAMES)
def test_at_56_what_the_runtime_fills_in_is_shown_to_nobody(name: str) -> None:
    """AT-55, AT-56."""
    secret = {"type": "string", "visibility": "internal", "description": "trace_token of the runtime"}
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], "trace_token": secret}, "required": ["trace_token"]}
    marked = tool(input_schema=raw(schema))
    listed = tool(
        input_schema=raw({**SCHEMA, "properties": {**SCHEMA["properties"], "trace_token": {"type": "string"}}}),
        payload=raw({"input_contract": {"internal_only_fields": ["trace_token"]}}),
    )
    for one in (marked, listed):
        for is_strict in (False, True):
            writing = FORMATS.get(name).write([one], WriteOptions(is_strict=is_strict))
            assert "trace_token" not in json.dumps(writing.value)
            assert any("trace_token" in loss.field for loss in writing.losses)


def test_guidance_goes_into_the_description_and_is_told() -> None:
    payload = {"use_guidance": {"use_when": ["a parcel got lost"], "avoid_when": ["it is late"]}, "log_args": True}
    writing = FORMATS.get("openai").write([tool(dialect="aml", payload=raw(payload))], WriteOptions())
    description = writing.value[0]["function"]["description"]  # type: ignore[index]
    assert description.startswith("Give money back.\n\nUse it when:\n- a parcel got lost")
    told = {loss.field: loss.instead for loss in writing.losses}
    assert told["aml.use_guidance"] == "description"
    assert told["aml.log_args"] == "dropped"


def test_a_title_stands_in_for_a_description_that_is_missing() -> None:
    one = tool(description="", title="Refund an order")
    assert write_tools("openai", one)[0]["function"]["description"] == "Refund an order"
    assert "description" not in write_tools("bedrock", tool(description=""))["tools"][0]["toolSpec"]
    assert write_tools("gemini", tool(description=""))[0]["functionDeclarations"][0]["description"] == "refund"


def test_what_a_model_says_with_null_is_not_lost() -> None:
    """A property that may be left out is required in strict mode, and null leaves it out: that is read back as it was."""
    losses = FORMATS.get("openai").write([tool()], WriteOptions(is_strict=True)).losses
    told = {loss.field: loss.instead for loss in losses if loss.field.startswith("input_schema")}
    assert told["input_schema/required"] == told["input_schema/properties/note/type"] == "rewritten"


def build_listed(name: str, **more: Any) -> Tool:
    """A tool that came in by a list for OpenAI."""
    schema = {**SCHEMA, "required": ["order", "note"], "additionalProperties": False}
    function = {"name": name, "description": "Give money back.", "parameters": schema, **more}
    return FORMATS.get("openai").read([{"type": "function", "function": function}], "", {}).tools[0].tool


@pytest.mark.parametrize("name", ["find_café", "find.Order", "f" * 65])
def test_a_name_that_its_own_provider_refuses_is_kept_and_told(name: str) -> None:
    writing = FORMATS.get("openai").write([build_listed(name)], WriteOptions())
    assert [one["function"]["name"] for one in _list(writing.value)] == [name]
    assert not writing.left_out and not writing.losses and not writing.names
    assert [(one.rule, one.path, one.severity) for one in writing.findings] == [
        ("refused-name", (name,), Severity.WARNING)
    ]
    assert f"OpenAI chat completions refuses the name {name!r}" in writing.findings[0].message


def test_nothing_is_said_against_names_that_a_provider_takes() -> None:
    assert not FORMATS.get("openai").write([build_listed("refund")], WriteOptions()).findings
    assert not FORMATS.get("anthropic").write([build_listed("find.Order")], WriteOptions()).findings, "it is renamed"
    for name in ("gemini", "ollama"):
        form = FORMATS.get(name)
        own = json.loads(json.dumps(form.write([tool("find_order")], WriteOptions()).value).replace("find_o", "find.O"))
        reading = form.read(own, "", {})
        assert not form.write([read.tool for read in reading.tools], WriteOptions()).findings


@pytest.mark.parametrize("name", ["openai-responses", "mistral", "anthropic", "bedrock"])
def test_strict_of_another_provider_is_said_where_it_is_asked_for(name: str) -> None:
    def why(said: bool, is_strict: bool) -> list[str]:
        writing = FORMATS.get(name).write([build_listed("refund", strict=said)], WriteOptions(is_strict=is_strict))
        return [loss.why for loss in writing.losses if loss.field == "openai.strict"]

    assert why(True, False) == [f"{FORMATS.get(name).title} is asked for it with --strict"]
    assert why(False, True) == ["--strict asks for it of every tool"]
    assert why(True, True) == why(False, False) == []


@pytest.mark.parametrize("name", ["gemini", "ollama"])
def test_strict_is_lost_where_no_model_is_held_to_a_schema(name: str) -> None:
    writing = FORMATS.get(name).write([build_listed("refund", strict=True)], WriteOptions(is_strict=True))
    assert [loss.why for loss in writing.losses if loss.field == "openai.strict"] == [
        f"{FORMATS.get(name).title} has no place for it"
    ]


def _list(value: Any) -> list[Any]:
    assert isinstance(value, list)
    return value
