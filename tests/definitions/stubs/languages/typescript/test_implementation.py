"""What a person fills in: the file of a TypeScript tool, and the beginning of its test."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.stubs.languages.typescript import implementation
from ferrule.definitions.stubs.languages.typescript.surroundings import TypeScriptSurroundings
from tests.definitions.stubs.languages.plans import WHOLE, injected, plan_of, tool_plan


def written(gives: Any = None, **more: Any) -> str:
    tool = tool_plan(gives=gives, **more)
    return implementation.write_implementation(tool, TypeScriptSurroundings(plan_of(tool)).dependencies(tool))


def test_a_persons_file_has_one_typed_function() -> None:
    text = written()
    assert "export function createGetWeatherTool(): GetWeatherTool {\n  return async (input, call) => {\n" in text


def test_what_is_injected_is_imported() -> None:
    text = written(inject=injected("shop", "logger"))
    assert 'import type { Shop } from "../services/shop.js";' in text
    assert 'import type { Logger } from "../ferrule/tool.js";' in text
    assert "createGetWeatherTool(\n  shop: Shop,\n  logger: Logger,\n): GetWeatherTool {" in text


@pytest.mark.parametrize("gives", [None, WHOLE])
def test_an_unwritten_body_fails(gives: Any) -> None:
    assert 'throw new Error("not implemented yet");' in written(gives)


def test_a_test_to_begin_with_takes_the_tool_from_the_box() -> None:
    text = implementation.write_test(tool_plan(), "getWeather")
    assert 'from "../src/tools/generated/get_weather.js"' in text and "IMPORT" not in text
