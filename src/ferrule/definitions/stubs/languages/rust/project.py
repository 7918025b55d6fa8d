"""What all tools of a plan share: registration, services, settings, and with `--project` what makes it build and run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from ferrule.contracts.language import Plan, Section, Service, SourceFile, ToolPlan
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
from ferrule.definitions.stubs.languages.rust.text import (
    GENERATED,
    KEYWORDS,
    assigned,
    call,
    documentation,
    lines,
    literal,
    member_names,
    one_line,
    signature,
)
from ferrule.model.value import JsonValue

_PACKAGE = re.compile(r"[^a-z0-9_-]+")
_VERSION = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")
_VARIABLE = re.compile(r"\$\{(\w+)(?::?-([^}]*))?\}", re.ASCII)
_WHOLE_VARIABLE = re.compile(r"\$(\w+)", re.ASCII)
_I64 = 2**63
_COMMON = """serde = { version = "1.0.100", features = ["derive"] }
serde_json = "1.0.80"
serde_repr = "0.1"
"""
_CALLING = """reqwest = { version = "0.11", default-features = false, features = ["json", "rustls-tls-native-roots"] }
"""
_TOKIO = {
    "implementation": '["io-std", "io-util", "macros", "rt-multi-thread", "sync", "time"]',
    "client": '["macros", "rt-multi-thread", "time"]',
}


@cache
def _support(name: str) -> str:
    return (files("ferrule.definitions.stubs.languages.rust") / "support" / f"{name}.rs").read_text(encoding="utf-8")


def support_files(folder: str, names: Mapping[str, str]) -> list[SourceFile]:
    """The hand-written files that stubs rest on: what each module is called, and the file it is."""
    return [
        SourceFile(f"{folder}/{module}.rs", f"{GENERATED}{_support(name)}", "generated")
        for module, name in names.items()
    ]


def shared_files(plan: Plan, tools: Sequence[ToolPlan]) -> list[SourceFile]:
    """Everything of implementation stubs that is no single tool's."""
    modules = "".join(f"pub mod {stem};\n" for stem in sorted(tool.stem for tool in tools))
    made = [
        SourceFile("src/tools/mod.rs", _registration(plan, tools, modules), "generated"),
        SourceFile("src/tools/generated/mod.rs", f"{GENERATED}\n{modules}", "generated"),
        *support_files("src/tools/support", {"mod": "tool", "mcp": "mcp", "values": "values"}),
    ]
    if needs_config(plan.project, plan.tools):
        made.append(SourceFile("src/config.rs", _config(plan), "generated"))
    if plan.project.services:
        made += _services(plan)
    return made + (_project(plan) if plan.is_project else [])


def _registration(plan: Plan, tools: Sequence[ToolPlan], modules: str) -> str:
    asked = {each.name for tool in tools for each in tool.inject if each.kind == "service"}
    services = [each for each in plan.project.services if each.name in asked]
    passed = [each.passed for tool in tools for each in parameters(tool, plan.project)]
    body = ""
    if services or any("config" in each for each in passed):
        body += "    let config = Arc::new(crate::config::Config::from_env());\n"
    for service in services:
        module = service_modules(plan.project)[service.name]
        made = f"crate::services::{module}::{factory(service)}(Logger, config.clone())?"
        body += assigned(f"let {service_variable(module)} =", made, ";", 4)
    registered = "".join(_registered(tool, plan) for tool in tools)
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


def _registered(tool: ToolPlan, plan: Plan) -> str:
    given = parameters(tool, plan.project)
    if not given:
        return f"    let descriptor = {tool.stem}::descriptor();\n    tools.push(Tool::new(descriptor, {tool.stem}::handle));\n"
    kept = dict.fromkeys(each.passed.split(".")[0] for each in given if "." in each.passed)
    clones = "".join(assigned(f"let {name} =", f"{name}.clone()", ";", 8) for name in kept)
    passed = ["input", "context", *(each.passed for each in given)]
    return (
        f"    tools.push({{\n{clones}        let descriptor = {tool.stem}::descriptor();\n"
        f"        Tool::new(descriptor, move |input, context| {{\n"
        f"{call(f'{tool.stem}::handle', passed, '', 12)}        }})\n    }});\n"
    )


def _config(plan: Plan) -> str:
    fields, types = section_fields(plan.project), section_types(plan.project)
    sections = [_section(each, types[each.name]) for each in plan.project.sections]
    members = [
        (fields[each.name], types[each.name], f"{types[each.name]}::from_env()") for each in plan.project.sections
    ]
    structs = "\n".join([_struct("Config", "All settings.", members), *sections])
    variable = _VARIABLE_OF if "variable(" in structs else ""
    about = "//! Settings of the agent file. `$NAME` in them is a variable of the environment."
    return f"{GENERATED}\n{about}\n\n{structs}{variable}"


_VARIABLE_OF = """
/// What the environment says; a variable that is not set or empty is the other text.
fn variable(name: &str, otherwise: &str) -> String {
    let value = std::env::var(name).unwrap_or_default();
    if value.is_empty() {
        return otherwise.to_string();
    }
    value
}
"""


def _struct(name: str, words: str, members: Sequence[tuple[str, str, str]]) -> str:
    declared = "".join(assigned(f"pub {field}:", kind, ",", 4) for field, kind, _ in members)
    made = "".join(assigned(f"{field}:", value, ",", 12) for field, _, value in members)
    body, value = (f" {{\n{declared}}}", f"{name} {{\n{made}        }}") if members else (" {}", f"{name} {{}}")
    return f"""/// {words}
#[derive(Debug, Clone, PartialEq)]
pub struct {name}{body}

impl {name} {{
    /// The settings, with what the environment says now.
    pub fn from_env() -> Self {{
        {value}
    }}
}}
"""


def _section(section: Section, name: str) -> str:
    fields = member_names(section.settings)
    members = [(fields[key], *_setting(value)) for key, value in section.settings.items()]
    return _struct(name, f"The settings of {' '.join(lines(section.name))}.", members)


def _setting(value: JsonValue) -> tuple[str, str]:
    """The type of a setting, and the expression that gives it."""
    match value:
        case bool():
            return "bool", json.dumps(value)
        case int() if -_I64 <= value < _I64:
            return "i64", str(value)
        case float():
            return "f64", repr(value)
        case str():
            return "String", _text(value)
        case _:
            return "serde_json::Value", f"serde_json::json!({_json(value)})"


def _text(text: str) -> str:
    """A text with what the environment says in place of `${NAME}` and `${NAME:-default}`, or of `$NAME` where it is all of it."""
    if whole := _WHOLE_VARIABLE.fullmatch(text):
        return f'variable({literal(whole[1])}, "")'
    parts, at = [], 0
    for found in _VARIABLE.finditer(text):
        parts += [literal(text[at : found.start()])] if found.start() > at else []
        parts.append(f"&variable({literal(found[1])}, {literal(found[2] or '')})")
        at = found.end()
    if not parts:
        return f"{literal(text)}.to_string()"
    parts += [literal(text[at:])] if at < len(text) else []
    return parts[0].lstrip("&") if len(parts) == 1 else f"[{', '.join(parts)}].concat()"


def _json(value: JsonValue) -> str:
    match value:
        case dict():
            return (
                f"{{ {', '.join(f'{literal(name)}: {_json(each)}' for name, each in value.items())} }}"
                if value
                else "{}"
            )
        case list():
            return f"[{', '.join(map(_json, value))}]"
        case str():
            return _text(value)
        case int() if not -_I64 <= value < _I64 and not isinstance(value, bool):
            return repr(float(value))
        case _:
            return json.dumps(value)


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
    made = signature(
        f"pub fn {factory(service)}",
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


def _project(plan: Plan) -> list[SourceFile]:
    package = _package(plan)
    modules = "pub mod config;\n" if needs_config(plan.project, plan.tools) else ""
    modules += "pub mod services;\n" if plan.project.services else ""
    return [
        *_crate(plan, package, f"{modules}pub mod tools;\n"),
        SourceFile("README.md", _readme(plan, package), "yours"),
        SourceFile("src/main.rs", _main(package.replace("-", "_")), "yours"),
    ]


def client_project(plan: Plan) -> list[SourceFile]:
    """What makes a library of client stubs."""
    package = _package(plan)
    return [
        *_crate(plan, package, "pub mod client;\n"),
        SourceFile("README.md", _client_readme(plan, package), "yours"),
    ]


def _crate(plan: Plan, package: str, modules: str) -> list[SourceFile]:
    about = documentation([lines(plan.project.description) or lines(plan.project.name)], mark="//!")
    return [
        SourceFile("Cargo.toml", _cargo(plan, package), "yours"),
        SourceFile(".gitignore", "/target\n", "yours"),
        SourceFile("src/lib.rs", f"{GENERATED}\n{about}\n{modules}", "generated"),
    ]


def _package(plan: Plan) -> str:
    name = _PACKAGE.sub("-", (plan.project.module or plan.project.name).rsplit("/", 1)[-1].lower()).strip("-_")
    name = name if name and name[0].isalpha() else f"tools-{name}".strip("-")
    taken = {"test", "core", "std", "alloc", "proc_macro", "serde", "serde_json", "serde_repr", "tokio", "reqwest"}
    return f"{name}-tools" if name.replace("-", "_") in taken | KEYWORDS else name[:60]


def _cargo(plan: Plan, package: str) -> str:
    version = plan.project.version if _VERSION.fullmatch(plan.project.version) else "0.1.0"
    return f"""[package]
name = "{package}"
version = "{version}"
edition = "2021"
rust-version = "1.63"
description = {_toml(one_line(plan.project.description))}
publish = false

[dependencies]
{_CALLING if plan.kind == "client" else ""}{_COMMON}tokio = {{ version = "1.24", features = {_TOKIO[plan.kind]} }}
"""


def _toml(text: str) -> str:
    return '"' + "".join(one if " " <= one <= "~" and one not in '"\\' else f"\\U{ord(one):08x}" for one in text) + '"'


def _main(crate: str) -> str:
    return f"""//! Serves the tools over standard input and output, as the Model Context Protocol says.

use std::process::ExitCode;

use {crate}::tools;
use {crate}::tools::support::mcp;

#[tokio::main]
async fn main() -> ExitCode {{
    match tools::all() {{
        Ok(tools) => {{
            mcp::serve(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), tools).await;
            ExitCode::SUCCESS
        }}
        Err(error) => {{
            eprintln!("the tools cannot be made: {{}}", error.message);
            ExitCode::FAILURE
        }}
    }}
}}
"""


def _titled(plan: Plan, package: str) -> str:
    """The beginning of a README: what the agent or the workspace is called and for."""
    title = " ".join(lines(plan.project.name)) or package
    about = "\n".join(lines(plan.project.description))
    return f"# {title}\n\n{about}\n" if about else f"# {title}\n"


def _readme(plan: Plan, package: str) -> str:
    return f"""{_titled(plan, package)}
An MCP server over standard input and output. `src/tools/<tool>.rs` is yours to write; what is in
`src/tools/generated` and `src/tools/support` is written again by every run of `ferrule gen rust`.

```console
cargo build --release
cargo test
target/release/{package}
```

Handlers are async functions on tokio. A call that its caller gives up is dropped at its next `.await`;
work that blocks belongs into `tokio::task::spawn_blocking`. The types say the shape of what comes in;
Ferrule checks it by its schema before it calls.

To let Ferrule run the tools, name the program in the `ferrule.toml` of their workspace:

```toml
{plan.program_settings(package, plan.placed(f"target/release/{package}"))}```
"""


def _client_readme(plan: Plan, package: str) -> str:
    crate = package.replace("-", "_")
    tool = next(iter(plan.tools), None)
    stem, kind = (tool.stem, tool.input.root.name) if tool is not None else ("tool_name", "ToolNameInput")
    return f"""{_titled(plan, package)}
A typed client of tools that a running Ferrule serves: `src/client` has a method of `Client` for each
tool, and is written again by every run of `ferrule gen rust`.

```rust
use {crate}::client::{stem}::{kind};
use {crate}::client::{{CallError, CallOptions, Client}};

async fn example(input: &{kind}) -> Result<(), CallError> {{
    let client = Client::from_env()?;
    let output = client.{stem}(input, &CallOptions::default()).await?;
    println!("{{:?}}", output);
    Ok(())
}}
```

| variable | what it says |
|---|---|
| `FERRULE_URL` | where the server is; `ferrule serve` is at `http://127.0.0.1:8787` if not told otherwise |
| `FERRULE_TOKEN` | the token to call with |

`Client::new(url, token)` takes both from the program instead. A token goes over https, or over http to
this machine; `Client::new` refuses any other address.

`CallOptions` has an idempotency key, somebody to tell progress to, and whether to wait for a person's
approval. Whoever drops a call, as `tokio::time::timeout` does, cancels it at the server too. A call that
failed is `CallError::Failed` with its `ErrorClass`; a call that waits for a person is
`CallError::Pending`, and `client.resume(…)` asks for its result later.
"""
