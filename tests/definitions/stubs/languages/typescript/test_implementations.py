"""What a person fills in: the file of a TypeScript tool, and the beginning of its test."""

from __future__ import annotations

from typing import Any

from ferrule.definitions.stubs.languages.typescript import implementations
from ferrule.definitions.stubs.languages.typescript.dependencies import Dependencies
from tests.definitions.stubs.languages.plans import WHOLE, injected, plan_of, tool_plan


def written(gives: Any = None, **more: Any) -> str:
    tool = tool_plan(gives=gives, **more)
    return implementations.implementation(tool, Dependencies(plan_of(tool)).of(tool))


def test_a_persons_file_names_its_contract() -> None:
    assert 'export const contract: GetWeatherContract = "0a1b2c3d";' in written()


def test_what_is_injected_is_imported_and_used() -> None:
    text = written(inject=injected("shop", "logger"))
    assert 'import type { Shop } from "../services/shop.js";' in text
    assert "type Logger" in text
    assert "export function createGetWeatherTool(shop: Shop, logger: Logger): Tool {" in text
    assert "    void [shop, logger, input, call];\n" in text


def test_a_body_that_nobody_has_written_answers_as_well_as_it_can() -> None:
    assert "return { not_implemented: definition.name };" in written()
    assert 'return definition.decodeOutput(\'{"degrees":' in written(WHOLE)
    thrown = written(WHOLE, placeholder=None)
    assert (
        "throw new NotImplementedError(definition.name);" in thrown and "createTool,\n  NotImplementedError" in thrown
    )
    assert "NotImplementedError" not in written(WHOLE)


def test_a_test_to_begin_with_takes_the_tool_from_the_box() -> None:
    text = implementations.test_skeleton(tool_plan())
    assert 'from "../src/tools/generated/get_weather.js"' in text and "STEM" not in text
