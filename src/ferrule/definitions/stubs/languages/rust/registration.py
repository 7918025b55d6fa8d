"""The module that lists all tools, and the services that they are given."""

from __future__ import annotations

from collections.abc import Sequence

from ferrule.contracts.language import SourceFile, ToolPlan
from ferrule.definitions.stubs.languages.rust.surroundings import RustSurroundings
from ferrule.definitions.stubs.languages.rust.text import (
    GENERATED,
    document_lines,
    write_assignment,
    write_call,
    write_documentation,
    write_signature,
)
from ferrule.definitions.stubs.surroundings import ServiceNames


def write_registration(tools: Sequence[ToolPlan], around: RustSurroundings, modules: str) -> str:
    """Writes `src/tools/mod.rs`."""
    services = around.used
    passed = [each.passed for tool in tools for each in around.function_parameters(tool)]
    body = ""
    if services or any("config" in each for each in passed):
        body += "    let config = Arc::new(crate::config::Config::from_env());\n"
    for each in services:
        made = f"crate::services::{each.module}::{each.factory}(Logger, config.clone())?"
        body += write_assignment(f"let {each.variable} =", made, ";", 4)
    registered = "".join(_register_tool(tool, around) for tool in tools)
    logger = "Logger, " if services or "Logger" in passed else ""
    return f"""{GENERATED}
//! The tools, and what they are given.

{"use std::sync::Arc;" + chr(10) * 2 if "Arc::new(" in body else ""}use self::support::{{{logger}Tool, ToolError}};

pub mod generated;
pub mod support;

{modules}
/// Every tool, in the order of the definitions. Services are made once.
pub fn all() -> Result<Vec<Tool>, ToolError> {{
{body}    let {"mut " if tools else ""}tools = Vec::new();
{registered}    Ok(tools)
}}
"""


def _register_tool(tool: ToolPlan, around: RustSurroundings) -> str:
    given = around.function_parameters(tool)
    if not given:
        return f"    let descriptor = {tool.stem}::descriptor();\n    tools.push(Tool::new(descriptor, {tool.stem}::handle));\n"
    kept = dict.fromkeys(each.passed.split(".")[0] for each in given if "." in each.passed)
    # What the handler is given moves into its closure, and other tools need it too.
    clones = "".join(write_assignment(f"let {name} =", f"{name}.clone()", ";", 8) for name in kept)
    passed = ["input", "context", *(each.passed for each in given)]
    return (
        f"    tools.push({{\n{clones}        let descriptor = {tool.stem}::descriptor();\n"
        f"        Tool::new(descriptor, move |input, context| {{\n"
        f"{write_call(f'{tool.stem}::handle', passed, '', 12)}        }})\n    }});\n"
    )


def write_services(around: RustSurroundings) -> list[SourceFile]:
    """Writes a module for each service: a person's."""
    services = around.services.values()
    declared = "".join(f"pub mod {module};\n" for module in sorted(each.module for each in services))
    text = f"{GENERATED}\n//! What tools are given.\n\n{declared}"
    made = [SourceFile("src/services/mod.rs", text, "generated")]
    return [*made, *(SourceFile(f"src/services/{each.module}.rs", _write_service(each), "yours") for each in services)]


def _write_service(names: ServiceNames) -> str:
    trait = names.interface
    head = write_documentation([document_lines(names.service.description) or [f"{trait}."]], mark="//!")
    made = write_signature(
        f"pub fn {names.factory}",
        ["logger: Logger", "config: Arc<Config>"],
        f"Result<Arc<dyn {trait}>, ToolError>",
    )
    return f"""{head}
use std::sync::Arc;

use crate::config::Config;
use crate::tools::support::{{Logger, ToolError}};

/// What tools can ask of it.
pub trait {trait}: Send + Sync {{
    // TODO: write the methods that tools need; the crate async-trait lets them be async.
}}

/// Makes it, once for all tools.
{made}    // TODO: make what has to be there, and say why where it cannot be made.
    let _ = (logger, config);
    Ok(Arc::new({trait}Impl))
}}

struct {trait}Impl;

impl {trait} for {trait}Impl {{}}
"""
