"""Implementation stubs of a tool: the generated types with their description, and the file that a person fills in."""

from __future__ import annotations

import re

import msgspec

from ferrule.contracts.language import SourceFile, ToolNote, ToolPlan
from ferrule.definitions.stubs.comments import name_source
from ferrule.definitions.stubs.languages.rust.surroundings import HandlerParameter, RustSurroundings
from ferrule.definitions.stubs.languages.rust.text import (
    document_lines,
    write_assignment,
    write_documentation,
    write_literal,
    write_raw,
    write_signature,
)
from ferrule.definitions.stubs.languages.rust.types import RustTypes

_MANY = 7
"""Clippy warns of functions with more parameters."""
_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)
_LITERAL = re.compile(r'r(#+)".*?"\1|"(?:[^"\\]|\\.)*"', re.DOTALL)


def write_header(tool: ToolPlan) -> str:
    """Returns the line that says where a file comes from."""
    return f"// {name_source(tool)}\n"


def name_output(tool: ToolPlan, module: str = "") -> str:
    """Names the type of a tool's result."""
    return "serde_json::Value" if tool.output is None else f"{module}{tool.output.root.name}"


def write_types(tool: ToolPlan) -> tuple[str, tuple[ToolNote, ...]]:
    """Returns the types of what a tool takes and gives, and where they are looser than the trees."""
    types = RustTypes((tool.input,) if tool.output is None else (tool.input, tool.output))
    text = types.write()
    return text, tuple(ToolNote(tool.tool_id, note) for note in dict.fromkeys(types.notes))


def write_imports(code: str, support: str, always: str) -> str:
    """Returns the lines that bring in what a file's code uses. `support`: the way to the support files; `always`: what it
    uses there."""
    plain = _LITERAL.sub('""', _COMMENT.sub("", code))
    serde = [name for name in ("Deserialize", "Serialize") if re.search(rf"\b{name}\b", plain)]
    repr_ = ["use serde_repr::{Deserialize_repr, Serialize_repr};\n"] if "Serialize_repr" in plain else []
    value = ["use serde_json::Value;\n"] if re.search(r"(?<!::)\bValue\b", plain) else []
    ours = [*(["values::present;"] if '"present"' in code else []), always]
    groups = (
        "use std::collections::BTreeMap;\n" if "BTreeMap<" in plain else "",
        "".join([f"use serde::{{{', '.join(serde)}}};\n" if serde else "", *value, *repr_]),
        "".join(f"use {support}::{each}\n" for each in ours),
    )
    return "\n".join(filter(None, groups))


def write_generated(tool: ToolPlan) -> tuple[SourceFile, tuple[ToolNote, ...]]:
    """Writes `src/tools/generated/<stem>.rs`."""
    types, notes = write_types(tool)
    used = write_imports(types, "super::super::support", "Descriptor;")
    text = f"{write_header(tool)}\n{used}\n{_write_descriptor(tool)}\n{types}"
    return SourceFile(f"src/tools/generated/{tool.stem}.rs", text, "generated", tool.tool_id), notes


def _write_descriptor(tool: ToolPlan) -> str:
    schemas = write_assignment("const INPUT_SCHEMA: &str =", write_raw(tool.input_schema), ";")
    output = "None"
    # The Model Context Protocol takes schemas of objects alone here.
    if tool.output_schema is not None and _is_object(tool.output_schema):
        schemas += write_assignment("const OUTPUT_SCHEMA: &str =", write_raw(tool.output_schema), ";")
        output = "Some(OUTPUT_SCHEMA)"
    said = [("name", tool.name), ("title", tool.title), ("description", tool.description)]
    fields = "".join(write_assignment(f"{name}:", write_literal(text), ",", 8) for name, text in said)
    return f"""{schemas}
/// What the tool is called and takes.
pub fn descriptor() -> Descriptor {{
    Descriptor {{
{fields}        input_schema: INPUT_SCHEMA,
        output_schema: {output},
        strict: false,
    }}
}}
"""


def _is_object(schema: msgspec.Raw) -> bool:
    value = msgspec.json.decode(schema)
    return isinstance(value, dict) and value.get("type") == "object"


def write_handler(tool: ToolPlan, around: RustSurroundings) -> SourceFile:
    """Writes `src/tools/<stem>.rs`: a person's."""
    given = around.function_parameters(tool)
    text = f"{_write_top(tool, given)}\n{_write_handle(tool, given)}\n{_TESTS}"
    return SourceFile(f"src/tools/{tool.stem}.rs", text, "yours", tool.tool_id)


def _write_top(tool: ToolPlan, given: list[HandlerParameter]) -> str:
    logger = "Logger, " if any(each.type == "Logger" for each in given) else ""
    arc = "use std::sync::Arc;\n\n" if any("Arc<" in each.type for each in given) else ""
    title = " ".join(document_lines(tool.title or tool.name)) or "A tool."
    return f"""{write_documentation([[title]], mark="//!")}
{arc}use super::generated::{tool.stem} as generated;
use super::support::{{Context, Descriptor, {logger}ToolError}};

/// What the tool is called and takes.
pub fn descriptor() -> Descriptor {{
    generated::descriptor()
}}
"""


def _write_handle(tool: ToolPlan, given: list[HandlerParameter]) -> str:
    plain = [f"input: generated::{tool.input.root.name}", "context: Context"]
    listed = [*plain, *(f"{each.name}: {each.type}" for each in given)]
    many = "#[allow(clippy::too_many_arguments)]\n" if len(listed) > _MANY else ""
    unused = "".join(f"    let _ = {name};\n" for name in ("input", "context", *(each.name for each in given)))
    gives = f"Result<{name_output(tool, 'generated::')}, ToolError>"
    return (
        f"{write_documentation([document_lines(tool.description)])}{many}{write_signature('pub async fn handle', listed, gives)}"
        f"    // TODO: write the tool. What it does not use yet stands here.\n{unused}"
        '    Err(ToolError::new("not implemented yet"))\n}\n'
    )


_TESTS = """#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    #[ignore = "write arguments that the tool takes, and what it has to give for them"]
    async fn gives_what_it_has_to() -> Result<(), ToolError> {
        let tools = super::super::all()?;
        let tool = tools.iter().find(|tool| tool.descriptor == descriptor());
        let tool = tool.expect("the tool is registered");
        let output = tool.call(json!({}), Context::default()).await?;
        assert_eq!(output, json!("what it has to give"));
        Ok(())
    }
}
"""
