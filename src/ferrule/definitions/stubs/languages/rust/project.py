"""What all tools of a plan share: registration, services, settings, and with `--project` what makes it build and run."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

import msgspec

from ferrule.contracts.language import Plan, Section, Service, SourceFile, ToolPlan
from ferrule.definitions.stubs.languages.rust.contents import GENERATED
from ferrule.definitions.stubs.languages.rust.injection import (
    factory,
    interface,
    needs_config,
    parameters,
    section_fields,
    section_types,
    service_modules,
    service_variable,
)
from ferrule.definitions.stubs.languages.rust.layout import (
    Shape,
    attribute,
    bound,
    braced,
    call,
    constant,
    signature,
    typed,
)
from ferrule.definitions.stubs.languages.rust.readmes import client_readme, readme
from ferrule.definitions.stubs.languages.rust.text import (
    KEYWORDS,
    documentation,
    json_text,
    lines,
    literal,
    member_names,
    one_line,
    raw,
)
from ferrule.model.value import JsonValue

ALLOWED = "#![allow(dead_code, unused_imports, clippy::all)]\n"
"""Of types: what they are called, how large they are and which of them somebody uses is not ours to say."""
_SUPPORTING = "#![allow(dead_code, unused_imports, unused_macros)]\n"
CHECKING = (
    *("alternatives", "categories", "evaluated", "finite", "json", "keywords", "machine", "numbers", "pattern"),
    *("reading", "resources", "schema", "wire"),
)
CALLING = ("client", "events", "failure", "http", "results")
_RUNNING = ("mcp", "settings", "tool")
_PACKAGE = re.compile(r"[^a-z0-9_-]+")
_VERSION = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")


@cache
def _support(name: str) -> str:
    return (files("ferrule.definitions.stubs.languages.rust") / "support" / f"{name}.rs").read_text(encoding="utf-8")


def support_files(folder: str, names: tuple[str, ...]) -> list[SourceFile]:
    """The hand-written files that stubs rest on, and the module of them."""
    made = [SourceFile(f"{folder}/{name}.rs", f"{GENERATED}\n{_support(name)}", "generated") for name in names]
    modules = "".join(f"pub mod {name};\n" for name in sorted(names))
    return [SourceFile(f"{folder}/mod.rs", f"{GENERATED}\n{_SUPPORTING}\n{modules}", "generated"), *made]


def shared_files(plan: Plan) -> list[SourceFile]:
    """Everything of implementation stubs that is no single tool's."""
    has_builtin = any(tool.builtin for tool in plan.tools)
    stems = sorted(tool.stem for tool in plan.tools)
    modules = "".join(f"pub mod {stem};\n" for stem in stems)
    made = [
        SourceFile("src/tools/mod.rs", _registration(plan, modules), "generated"),
        SourceFile("src/tools/generated/mod.rs", f"{GENERATED}\n{ALLOWED}\n{modules}", "generated"),
        *support_files("src/tools/support", CHECKING + _RUNNING + ((*CALLING, "forward") if has_builtin else ())),
    ]
    if needs_config(plan.project, plan.tools):
        made.append(SourceFile("src/config.rs", _config(plan), "generated"))
    if plan.project.services:
        made += _services(plan)
    return made + (_project(plan) if plan.is_project else [])


def _registration(plan: Plan, modules: str) -> str:
    services = {each.name: each for each in plan.project.services}
    given = {tool.stem: parameters(tool, plan.project) for tool in plan.tools}
    asked = {each.name for tool in plan.tools for each in tool.inject if each.kind == "service"}
    body = ""
    if asked & services.keys() or any(each.passed == "&logger" for found in given.values() for each in found):
        body += "    let logger = Logger::default();\n"
    if asked & services.keys() or any("config" in each.passed for found in given.values() for each in found):
        body += "    let config = Arc::new(crate::config::Config::from_env()?);\n"
    for name, service in services.items():
        if name in asked:
            module = service_modules(plan.project)[name]
            made = f"crate::services::{module}::{factory(service)}(&logger, &config)?"
            body += bound(service_variable(module), made, 4)
    body += "    let mut tools = Vec::new();\n" + "".join(_registered(tool, plan) for tool in plan.tools)
    uses = "use std::sync::Arc;\n\n" if "= Arc::new(" in body else ""
    logger = "Logger, " if "= Logger::default()" in body else ""
    return f"""{GENERATED}
//! The tools, and what they are given.

{uses}use self::support::tool::{{{logger}Tool, ToolError}};

pub mod generated;
pub mod support;

{modules}
/// Every tool, in the order of the definitions. Services are made once.
pub fn all() -> Result<Vec<Tool>, ToolError> {{
{body if plan.tools else "    let tools = Vec::new();" + chr(10)}    Ok(tools)
}}
"""


def _registered(tool: ToolPlan, plan: Plan) -> str:
    given = parameters(tool, plan.project)
    if not given:
        return call("let tool = Tool::new", [f"{tool.stem}::descriptor()", f"{tool.stem}::handle"], ";", 4) + (
            "    tools.push(tool);\n"
        )
    kept = dict.fromkeys(re.split(r"\W", each.passed.lstrip("&"))[0] for each in given)
    clones = "".join(bound(name, f"{name}.clone()", 8) for name in kept)
    passed = ["input", "context", *(each.passed for each in given)]
    return (
        f"    tools.push({{\n{clones}        let descriptor = {tool.stem}::descriptor();\n"
        f"        Tool::new(descriptor, move |input, context| {{\n"
        f"{call(f'let output = {tool.stem}::handle', passed, '?;', 12)}            Ok(output)\n        }})\n    }});\n"
    )


def _config(plan: Plan) -> str:
    project = plan.project
    fields, types = section_fields(project), section_types(project)
    settings = {each.name: dict(each.settings) for each in project.sections}
    members = "".join(
        f"{_renamed(name, fields[name])}{typed(f'pub {fields[name]}:', Shape(types[name]), ',', 4)}\n"
        for name in fields
    )
    used = {_setting(value) for each in project.sections for value in each.settings.values()}
    head = braced("pub struct Config")
    sections = "".join(f"\n{_section(each, types[each.name])}" for each in project.sections)
    return f"""{GENERATED}
//! Settings of the agent file. `$NAME` in them is a variable of the environment.

#![allow(dead_code)]

use serde::Deserialize;
{"use serde_json::Value;" + chr(10) if "Value" in used else ""}
use crate::tools::support::schema::Mismatch;
use crate::tools::support::settings;

{constant("const SETTINGS: &str =", raw(json_text(msgspec.Raw(msgspec.json.encode(settings)))))}
/// All settings.
#[derive(Debug, Clone, PartialEq, Deserialize)]
{head}{f"{chr(10)}{members}" if members else ""}}}

impl Config {{
    /// The settings, with what the environment says now.
    pub fn from_env() -> Result<Self, Mismatch> {{
        settings::read(SETTINGS)
    }}
}}
{sections}"""


def _renamed(name: str, field: str) -> str:
    return attribute(f"rename = {literal(name)}") if name != field else ""


def _section(section: Section, name: str) -> str:
    fields = member_names(section.settings)
    members = "".join(
        f"{_renamed(key, fields[key])}{typed(f'pub {fields[key]}:', Shape(_setting(value)), ',', 4)}\n"
        for key, value in section.settings.items()
    )
    head = braced(f"pub struct {name}")
    words = f"/// The settings of {' '.join(lines(section.name))}."
    derived = "#[derive(Debug, Clone, PartialEq, Deserialize)]"
    return f"{words}\n{derived}\n{head}{f'{chr(10)}{members}' if members else ''}}}\n"


def _setting(value: JsonValue) -> str:
    match value:
        case bool():
            return "bool"
        case int() if -(2**63) <= value < 2**63:
            return "i64"
        case float():
            return "f64"
        case str():
            return "String"
        case _:
            return "Value"


def _services(plan: Plan) -> list[SourceFile]:
    modules = service_modules(plan.project)
    declared = "".join(f"pub mod {module};\n" for module in sorted(modules.values()))
    text = f"{GENERATED}\n//! What tools are given.\n\n{declared}"
    made = [SourceFile("src/services/mod.rs", text, "generated")]
    for each in plan.project.services:
        made.append(SourceFile(f"src/services/{modules[each.name]}.rs", _service(each), "yours"))
    return made


def _service(service: Service) -> str:
    trait = interface(service)
    head = documentation([lines(service.description) or [f"{trait}."]], mark="//!")
    parameters = ["logger: &Logger", "config: &Config"]
    made = signature(f"pub fn {factory(service)}", parameters, f"Result<Arc<dyn {trait}>, ToolError>")
    return f"""{head}
use std::sync::Arc;

use crate::config::Config;
use crate::tools::support::tool::{{Logger, ToolError}};

/// What tools can ask of it.
pub trait {trait}: Send + Sync {{
    // TODO: write the methods that tools need.
}}

/// Makes it, once for all tools.
{made}    // TODO: make what has to be there, and say why where it cannot be made.
    let _ = (logger, config);
    Ok(Arc::new({trait}Impl))
}}

struct {trait}Impl;

impl {trait} for {trait}Impl {{}}
"""


def _project(plan: Plan) -> list[SourceFile]:
    package = _package(plan)
    crate = package.replace("-", "_")
    modules = "pub mod config;\n" if needs_config(plan.project, plan.tools) else ""
    modules += "pub mod services;\n" if plan.project.services else ""
    about = documentation([lines(plan.project.description) or lines(plan.project.name)], mark="//!")
    return [
        SourceFile("Cargo.toml", _cargo(plan, package), "yours"),
        SourceFile("README.md", readme(plan, package), "yours"),
        SourceFile(".gitignore", "/target\n", "yours"),
        SourceFile("src/lib.rs", f"{GENERATED}\n{about}\n{modules}pub mod tools;\n", "generated"),
        SourceFile("src/main.rs", _main(crate), "yours"),
    ]


def client_project(plan: Plan) -> list[SourceFile]:
    """What makes a library of client stubs."""
    package = _package(plan)
    about = documentation([lines(plan.project.description) or lines(plan.project.name)], mark="//!")
    return [
        SourceFile("Cargo.toml", _cargo(plan, package), "yours"),
        SourceFile("README.md", client_readme(plan, package), "yours"),
        SourceFile(".gitignore", "/target\n", "yours"),
        SourceFile("src/lib.rs", f"{GENERATED}\n{about}\npub mod client;\n", "generated"),
    ]


def _package(plan: Plan) -> str:
    name = _PACKAGE.sub("-", (plan.project.module or plan.project.name).rsplit("/", 1)[-1].lower()).strip("-_")
    name = name if name and name[0].isalpha() else f"tools-{name}".strip("-")
    taken = {"test", "core", "std", "alloc", "proc_macro", "serde", "serde_json", "self", "super", "crate"}
    return f"{name}-tools" if name.replace("-", "_") in taken or name in KEYWORDS else name[:60]


def _cargo(plan: Plan, package: str) -> str:
    version = plan.project.version if _VERSION.fullmatch(plan.project.version) else "0.1.0"
    about = _toml(one_line(plan.project.description))
    return f"""[package]
name = "{package}"
version = "{version}"
edition = "2021"
rust-version = "1.63"
description = {about}
publish = false

[dependencies]
serde = {{ version = "1.0.100", features = ["derive"] }}
serde_json = "1.0.80"
"""


def _toml(text: str) -> str:
    return '"' + "".join(one if " " <= one <= "~" and one not in '"\\' else f"\\U{ord(one):08x}" for one in text) + '"'


def _main(crate: str) -> str:
    return f"""//! Serves the tools over standard input and output, as the Model Context Protocol says.

use std::process::ExitCode;

use {crate}::tools;
use {crate}::tools::support::mcp;

fn main() -> ExitCode {{
    match tools::all() {{
        Ok(tools) => {{
            mcp::serve(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), tools);
            ExitCode::SUCCESS
        }}
        Err(error) => {{
            eprintln!("the tools cannot be made: {{}}", error);
            ExitCode::FAILURE
        }}
    }}
}}
"""
