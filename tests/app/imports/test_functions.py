"""A provider's list of functions becomes definitions that check, bind and go out again as they came in (AT-27, AT-257)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import ferrule
from ferrule.app.imports.functions import import_list
from ferrule.contracts.format import WriteOptions
from ferrule.definitions.formats.builtin import FORMATS
from ferrule.model.tool import FACT_NAMES
from ferrule.workspace.workspace import Workspace

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Which city."}, "spot": {"$ref": "#/$defs/spot"}},
    "required": ["city"],
    "additionalProperties": False,
    "$defs": {"spot": {"type": "object", "properties": {"x": {"type": "number", "description": "East."}}}},
}
SAID = {"name": "getWeather", "description": "Gives the weather of a city. It knows today and tomorrow."}
LISTS: list[tuple[str, str, Any]] = [
    ("openai", "openai", [{"type": "function", "function": {**SAID, "parameters": SCHEMA, "strict": False}}]),
    ("openai", "openai-responses", [{"type": "function", **SAID, "parameters": SCHEMA, "strict": None}]),
    ("anthropic", "anthropic", [{**SAID, "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"}}]),
    ("gemini", "gemini", [{"functionDeclarations": [{**SAID, "parametersJsonSchema": SCHEMA}]}]),
]


def workspace(folder: Path, files: dict[str, str]) -> Workspace:
    (folder / "ferrule.toml").write_text('namespace = "shop"\n[functions]\nbind = { get_weather = "weather.py:get" }\n')
    (folder / "weather.py").write_text(
        "def get(city: str, spot: dict | None = None) -> dict:\n    return {'city': city}\n"
    )
    (folder / "policy.toml").write_text('mode = "trusted"\n')
    for name, text in files.items():
        (folder / name).write_text(text)
    return Workspace.open(folder)


@pytest.mark.parametrize(("provider", "name", "listed"), LISTS)
def test_a_list_becomes_definitions_and_goes_out_as_it_came_in(
    tmp_path: Path, provider: str, name: str, listed: Any
) -> None:
    found = import_list(json.dumps({"model": "m", "tools": listed}).encode(), "tools.json", provider, "shop", "us")
    assert list(found.files) == ["get_weather.tool.md"]
    assert not found.diagnostics
    opened = workspace(tmp_path, found.files)
    assert not [one.message for one in opened.check().diagnostics if one.severity == "error"]
    (tool,) = [tool for file in opened.compile() for compiled in file.compiled for tool in compiled.tools]
    assert set(FACT_NAMES) == set(tool.inferred_facts)  # nobody said that it is harmless
    assert tool.facts.is_read_only is False
    assert tool.tool_kind == "function"
    assert FORMATS.get(name).write([tool], WriteOptions()).value == listed


def test_an_imported_function_is_bound_and_called(tmp_path: Path) -> None:
    document = json.dumps(LISTS[0][2]).encode()
    workspace(tmp_path, import_list(document, "tools.json", "openai", "shop").files)

    async def run() -> Any:
        async with ferrule.open(tmp_path) as app:
            return await app.surface(principal="ann").call("get_weather", {"city": "Oslo"})

    assert asyncio.run(run()).value == {"city": "Oslo"}


def test_an_edited_definition_goes_out_as_edited(tmp_path: Path) -> None:
    found = import_list(json.dumps(LISTS[0][2]).encode(), "tools.json", "openai", "shop")
    text = found.files["get_weather.tool.md"].replace(f"  description: {SAID['description']}", "  description: Edited.")
    opened = workspace(tmp_path, {"get_weather.tool.md": text})
    (tool,) = [tool for file in opened.compile() for compiled in file.compiled for tool in compiled.tools]
    (written,) = json.loads(json.dumps(FORMATS.get("openai").write([tool], WriteOptions()).value))
    assert written["function"]["description"] == "Edited."
    assert written["function"]["strict"] is False


def test_what_cannot_be_read_is_told_at_its_line() -> None:
    text = '[\n {"type": "function", "function": {"name": "ok"}},\n {"type": "function", "function": {"name": 5}}\n]'
    found = import_list(text.encode(), "tools.json", "openai", "shop")
    assert list(found.files) == ["tool_ok.tool.md"]
    assert [one.line for one in found.diagnostics] == [3]
    for broken in (b"", b"{", b"\xff\xfe", b"5", b'{"a": 1}'):
        nothing = import_list(broken, "tools.json", "openai", "shop")
        assert not nothing.files
        assert nothing.diagnostics


def test_ids_of_functions_whose_names_look_alike_are_told_apart() -> None:
    listed = [{"type": "function", "function": {"name": name}} for name in ("getA", "get_a", "GetA", "é", "x" * 80)]
    found = import_list(json.dumps(listed).encode(), "tools.json", "openai", "shop")
    assert len(found.files) == 5


@pytest.mark.parametrize("provider, form, listed", LISTS)
def test_a_list_for_another_provider_is_refused_and_not_half_read(provider: str, form: str, listed: Any) -> None:
    for other in {"openai", "anthropic", "gemini"} - {provider}:
        found = import_list(json.dumps(listed).encode(), "tools.json", other, "shop")
        told = [(one.message, one.hint) for one in found.diagnostics]
        if found.files:  # Gemini and OpenAI both look under `parameters`
            assert "city" in found.files["get_weather.tool.md"]
        else:
            assert (f"this is written for {FORMATS.get(form).title}", f"'ferrule import {provider}' reads it") in told


def test_a_schema_where_the_provider_has_none_is_told() -> None:
    listed = [{"type": "function", "function": {**SAID, "parameters": SCHEMA}}, {"name": "b", "input_schema": SCHEMA}]
    found = import_list(json.dumps(listed).encode(), "tools.json", "openai", "shop")
    assert list(found.files) == ["get_weather.tool.md"]
    assert "the schema of 'b' is under `input_schema`" in found.diagnostics[0].message
