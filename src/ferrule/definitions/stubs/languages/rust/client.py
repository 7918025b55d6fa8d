"""Writes client stubs: a typed method of `Client` for each tool."""

from __future__ import annotations

from ferrule.contracts.language import SourceFile, StubOutput, StubPlan, ToolNote, ToolPlan
from ferrule.definitions.stubs.languages.rust.project import copy_support, write_client_project
from ferrule.definitions.stubs.languages.rust.text import (
    GENERATED,
    document_lines,
    write_documentation,
    write_literal,
    write_signature,
)
from ferrule.definitions.stubs.languages.rust.tools import name_output, write_header, write_imports, write_types


def write_client(plan: StubPlan) -> StubOutput:
    """Returns all files of client stubs."""
    files: list[SourceFile] = []
    notes: list[ToolNote] = []
    for tool in plan.tools:
        types, found = write_types(tool)
        used = write_imports(types, "super::support", "{CallOptions, Called, Client};")
        text = f"{write_header(tool)}\n{used}\n{_write_method(tool)}\n{types}"
        files.append(SourceFile(f"src/client/{tool.stem}.rs", text, "generated", tool.tool_id))
        notes += found
    files.append(SourceFile("src/client/mod.rs", _write_module(plan), "generated"))
    files += copy_support("src/client/support", {"mod": "client", "values": "values"})
    return StubOutput((*files, *(write_client_project(plan) if plan.is_project else ())), tuple(notes))


def _write_method(tool: ToolPlan) -> str:
    parameters = ("&self", f"input: &{tool.input.root.name}", "options: &CallOptions")
    head = write_signature(f"pub async fn {tool.stem}", parameters, f"Called<{name_output(tool)}>", 4)
    return f"""impl Client {{
{write_documentation([document_lines(tool.description)], 4)}{head}        let name = {write_literal(tool.name)};
        self.call_tool(name, input, options).await
    }}
}}
"""


def _write_module(plan: StubPlan) -> str:
    modules = "".join(f"pub mod {stem};\n" for stem in sorted(tool.stem for tool in plan.tools))
    return f"""{GENERATED}
//! Calls tools of a running Ferrule: `Client::from_env()?.tool_name(&input, &options).await`.

pub mod support;

{modules}
pub use self::support::{{CallError, CallOptions, CallProgress, Client, ErrorClass, Failure}};
"""
