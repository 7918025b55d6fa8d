"""The files of one tool in Rust: the generated types, and the file that a person fills in."""

from __future__ import annotations

import pytest

from ferrule.contracts.language import Project, Service
from ferrule.definitions.stubs.languages.rust.language import LANGUAGE
from ferrule.definitions.stubs.languages.rust.surroundings import RustSurroundings
from ferrule.definitions.stubs.languages.rust.tools import write_generated, write_handler
from tests.definitions.stubs.languages.plans import CITY, WHOLE, injected, plan_of, tool_plan


def test_a_persons_file_names_the_types_of_the_contract() -> None:
    tool = tool_plan(gives=WHOLE)
    generated, _ = write_generated(tool)
    own = write_handler(tool, RustSurroundings(plan_of(tool)))
    assert "input: generated::GetWeatherInput" in own.text
    assert "Result<generated::GetWeatherOutput, ToolError>" in own.text
    assert tool.contract not in own.text.lower() + generated.text.lower()
    assert (generated.path, generated.standing) == ("src/tools/generated/get_weather.rs", "generated")
    assert (own.path, own.standing) == ("src/tools/get_weather.rs", "yours")


@pytest.mark.parametrize("gives", [None, WHOLE])
def test_an_unwritten_body_fails(gives: object) -> None:
    tool = tool_plan(gives=gives)
    assert (
        '    Err(ToolError::new("not implemented yet"))\n' in write_handler(tool, RustSurroundings(plan_of(tool))).text
    )


def test_what_is_injected_stands_behind_input_and_context() -> None:
    tool = tool_plan(inject=injected("logger", "shop"))
    text = write_handler(tool, RustSurroundings(plan_of(tool))).text
    wanted = ("input: generated::GetWeatherInput", "context: Context", "logger: Logger", "shop: Arc<dyn")
    names = [text.index(each) for each in wanted]
    assert names == sorted(names)
    assert "use super::support::{Context, Descriptor, Logger, ToolError};" in text
    assert "    let _ = shop;\n" in text


def test_many_parameters_are_allowed_where_there_are_many() -> None:
    services = tuple(Service(name=f"s{at}", interface=f"S{at}", factory=f"NewS{at}") for at in range(6))
    project = Project(name="x", version="1", services=services)

    def text(count: int) -> str:
        tool = tool_plan(inject=injected(*(f"s{at}" for at in range(count))))
        return write_handler(tool, RustSurroundings(plan_of(tool, project=project))).text

    assert "too_many_arguments" in text(6)
    assert "too_many_arguments" not in text(5)


def test_a_tool_that_ferrule_brings_along_needs_no_stub() -> None:
    tool = tool_plan(builtin="read")
    assert not [each for each in LANGUAGE.write(plan_of(tool)).files if each.tool_id or "get_weather" in each.text]
    assert [each for each in LANGUAGE.write(plan_of(tool, kind="client")).files if each.tool_id]


def test_only_schemas_of_objects_are_listed_for_results() -> None:
    assert "output_schema: Some(OUTPUT_SCHEMA)" in write_generated(tool_plan(CITY, WHOLE))[0].text
    assert "output_schema: None" in write_generated(tool_plan(CITY, {"type": "string"}))[0].text


def test_a_file_imports_what_its_code_uses_and_not_what_its_texts_say() -> None:
    told = {"type": "object", "properties": {"a": {"type": "string", "description": "A Value: BTreeMap<String>."}}}
    text = write_generated(tool_plan(told))[0].text
    assert "use serde_json::Value;" not in text and "use std::collections" not in text
