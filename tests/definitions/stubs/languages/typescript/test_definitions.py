"""The generated file of a TypeScript tool: its types, its schemas and what it is called."""

from __future__ import annotations

import msgspec

from ferrule.definitions.stubs.languages.typescript.definitions import defined, output_type
from tests.definitions.stubs.languages.plans import CITY, WHOLE, tool_plan


def test_a_definition_has_types_and_schemas() -> None:
    made = defined(tool_plan(CITY, WHOLE, tags=("a",)), "../../ferrule")
    assert made.types == ("GetWeatherInput", "GetWeatherOutput")
    for part in (
        'import { Definition } from "../../ferrule/definition.js";',
        "interface Types {\n  input: GetWeatherInput;\n  output: GetWeatherOutput;\n}",
        "/** Tells the weather. */\nexport const definition",
        '  tags: ["a"],',
        'export type GetWeatherContract = "0a1b2c3d";',
    ):
        assert part in made.text


def test_a_tool_that_says_nothing_of_its_result_gives_anything() -> None:
    tool = tool_plan()
    assert output_type(tool) == "unknown"
    assert "  output: null,\n" in defined(tool, ".").text


def test_a_client_names_no_contract() -> None:
    assert "Contract" not in defined(tool_plan(), ".", is_client=True).text


def test_a_tool_that_ferrule_brings_along_is_called_there() -> None:
    text = defined(tool_plan(builtin="delete"), ".").text
    assert (
        "export function delete_(\n  input: GetWeatherInput,\n  options?: CallOptions,\n): Promise<unknown> {" in text
    )
    assert "return createRemoteTool(definition);" in text and "Contract" not in text
    assert "callRemote" not in defined(tool_plan(builtin="delete"), ".", is_client=True).text


def test_a_schema_stands_on_one_line_with_its_numbers_as_they_were() -> None:
    schema = msgspec.Raw(b'{"type": "object",\n "maximum": 1.50}')
    assert "1.50" in defined(tool_plan(input_schema=schema), ".").text


def test_what_typescript_cannot_say_is_told_once() -> None:
    schema = {"type": "object", "properties": {"constructor": {"type": "string"}}}
    (note,) = defined(tool_plan(schema), ".").notes
    assert note.tool_id == "shop.get_weather" and note.note.pointer == "#/properties/constructor"
