"""Writes client stubs: a typed method of `Client` for each tool."""

from __future__ import annotations

from ferrule.contracts.language import Plan, SourceFile, ToolNote, ToolPlan, Written
from ferrule.definitions.stubs.languages.rust.contents import GENERATED, contents, header, imports
from ferrule.definitions.stubs.languages.rust.layout import constant, signature
from ferrule.definitions.stubs.languages.rust.project import ALLOWED, CALLING, CHECKING, client_project, support_files
from ferrule.definitions.stubs.languages.rust.text import documentation, lines, literal


def client_files(plan: Plan) -> Written:
    """All files of client stubs."""
    files: list[SourceFile] = []
    notes: list[ToolNote] = []
    for tool in plan.tools:
        made = contents(tool)
        method = _method(tool)
        used = imports("super::support", method, made.text, "client::{CallOptions, Client};", "failure::CallError;")
        text = f"{header(tool)}\n{used}\n{method}\n{made.text}"
        files.append(SourceFile(f"src/client/{tool.stem}.rs", text, "generated", tool.tool_id))
        notes += made.notes
    files.append(SourceFile("src/client/mod.rs", _module(plan), "generated"))
    files += support_files("src/client/support", CHECKING + CALLING)
    return Written((*files, *(client_project(plan) if plan.is_project else ())), tuple(notes))


def _method(tool: ToolPlan) -> str:
    output = "Some(&OUTPUT)" if tool.output_schema is not None else "None"
    parameters = ("&self", "input: &Input", "options: &CallOptions")
    head = signature(f"pub fn {tool.stem}", parameters, "Result<Output, CallError>", 4)
    return f"""{constant("const NAME: &str =", literal(tool.name))}
impl Client {{
{documentation([lines(tool.description)], 4)}{head}        self.call_tool(NAME, input, {output}, options)
    }}
}}
"""


def _module(plan: Plan) -> str:
    modules = "".join(f"pub mod {stem};\n" for stem in sorted(tool.stem for tool in plan.tools))
    return f"""{GENERATED}
//! Calls tools of a running Ferrule: `Client::from_env()?.tool_name(&input, &CallOptions::new())`.

{ALLOWED}
pub mod support;

{modules}
pub use self::support::client::{{CallOptions, CallProgress, CancelToken, Client}};
pub use self::support::failure::{{CallError, Failure, Pending}};
pub use self::support::http::{{IsOver, Plain, Request, Response, Transport}};
pub use self::support::schema::Mismatch;
"""
