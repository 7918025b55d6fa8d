"""The files of one tool in Rust: the generated types, and the file that a person fills in."""

from __future__ import annotations

from ferrule.contracts.language import Project, Service
from ferrule.definitions.stubs.languages.rust.tools import contract, generated_file, handler_file
from tests.definitions.stubs.languages.plans import WHOLE, injected, plan_of, tool_plan


def test_a_persons_file_stops_compiling_when_the_contract_changes() -> None:
    tool = tool_plan(gives=WHOLE)
    generated, _ = generated_file(tool)
    own = handler_file(tool, plan_of(tool))
    assert contract(tool) == "0A1B2C3D"
    assert "pub const CONTRACT_0A1B2C3D: () = ();" in generated.text
    assert "const _: () = generated::CONTRACT_0A1B2C3D;" in own.text
    assert (generated.path, generated.standing) == ("src/tools/generated/get_weather.rs", "generated")
    assert (own.path, own.standing) == ("src/tools/get_weather.rs", "yours")


def test_a_tool_that_nobody_has_written_answers_as_well_as_it_can() -> None:
    assert "Ok(decode_output(PLACEHOLDER.as_bytes())?)" in generated_file(tool_plan(gives=WHOLE))[0].text
    assert "ToolError::not_implemented(NAME)" in generated_file(tool_plan(gives=WHOLE, placeholder=None))[0].text
    assert '"message": "not implemented yet"' in generated_file(tool_plan())[0].text


def test_what_is_injected_stands_behind_input_and_context() -> None:
    tool = tool_plan(inject=injected("logger", "shop"))
    text = handler_file(tool, plan_of(tool)).text
    names = [
        text.index(each) for each in ("input: generated::Input", "context: &Context", "logger: &Logger", "shop: &dyn")
    ]
    assert names == sorted(names)
    assert "use super::support::tool::{Context, Descriptor, Logger, ToolError};" in text
    assert "    let _ = shop;\n" in text


def test_many_parameters_are_allowed_where_there_are_many() -> None:
    services = tuple(Service(name=f"s{at}", interface=f"S{at}", factory=f"NewS{at}") for at in range(6))
    project = Project(name="x", version="1", services=services)

    def text(count: int) -> str:
        tool = tool_plan(inject=injected(*(f"s{at}" for at in range(count))))
        return handler_file(tool, plan_of(tool, project=project)).text

    assert "too_many_arguments" in text(6)
    assert "too_many_arguments" not in text(5)


def test_a_tool_that_ferrule_brings_along_is_ready() -> None:
    file = handler_file(tool_plan(builtin="read"), plan_of())
    assert file.standing == "generated"
    assert "forward(&descriptor(), &input, context)" in file.text


def test_the_test_of_a_tool_sends_what_does_not_fit() -> None:
    def odd(schema: object) -> str:
        return handler_file(tool_plan(schema), plan_of()).text

    assert 'decode_input(b"[]")' in odd({"type": "object"})
    assert 'decode_input(b"no JSON")' in odd({})
