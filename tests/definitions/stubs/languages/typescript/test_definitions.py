"""The generated file of a TypeScript tool: its types, its schemas and what it is called."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.contracts.language import ToolPlan
from ferrule.definitions.stubs.languages.typescript.definitions import name_output, write_definition
from tests.definitions.stubs.languages.plans import CITY, WHOLE, plan_of, tool_plan


def written(tool: ToolPlan, **more: Any) -> str:
    return write_definition(tool, plan_of(tool, **{"flavour": "ajv", **more}), "getWeather").text


def test_a_definition_has_types_and_schemas() -> None:
    text = written(tool_plan(CITY, WHOLE, tags=("a",)))
    for part in (
        'import { parser } from "../../ferrule/validation.js";',
        "export type GetWeatherTool = Tool<GetWeatherInput, GetWeatherOutput>;",
        'const outputSchema = {\n  type: "object",',
        "/**\n * Tells the weather.\n *\n * Tags: a.\n */\nexport const getWeatherDefinition",
        '  parseOutput: parser("output", outputSchema),',
    ):
        assert part in text


def test_a_tool_that_says_nothing_of_its_result_gives_anything() -> None:
    tool = tool_plan()
    assert name_output(tool) == "unknown"
    assert "outputSchema" not in written(tool)
    assert "  parseOutput: (value) => value,\n" in written(tool)


def test_a_client_checks_results_alone() -> None:
    text = written(tool_plan(CITY, WHOLE), kind="client")
    assert "CallDefinition<GetWeatherOutput>" in text and "outputSchema" in text
    assert "inputSchema" not in text and "Tool<" not in text
    assert "validation.js" not in written(tool_plan(), kind="client")


def test_zod_has_a_schema_for_each_type_and_no_other_checker() -> None:
    text = written(tool_plan(CITY, WHOLE), flavour="zod")
    assert (
        "export const GetWeatherInputSchema: z.ZodType<GetWeatherInput> = z.looseObject({\n  city: z.string(),\n});"
        in text
    )
    assert "  parseInput: (value) => GetWeatherInputSchema.parse(value),\n" in text
    assert "validation.js" not in text
    client = written(tool_plan(CITY, WHOLE), kind="client", flavour="zod")
    assert 'import { z } from "zod";' in client and "outputSchema" not in client


def test_a_schema_of_an_older_draft_is_written_in_the_words_that_ajv_reads() -> None:
    old = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"a": {"items": [True]}},
    }
    text = written(tool_plan(input_schema=msgspec.Raw(msgspec.json.encode(old))))
    assert "prefixItems" in text and "draft-07" not in text


def test_what_typescript_cannot_say_is_told_once() -> None:
    schema = {"type": "object", "properties": {"constructor": {"type": "string"}}}
    tool = tool_plan(schema)
    (note,) = write_definition(tool, plan_of(tool, flavour="ajv"), "getWeather").notes
    assert note.tool_id == "shop.get_weather" and note.note.pointer == "#/properties/constructor"
