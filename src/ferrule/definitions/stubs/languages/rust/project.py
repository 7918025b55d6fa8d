"""The files that all Rust tools of a plan share: registration, services, settings, and with `--project` the crate."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from ferrule.contracts.language import SourceFile, StubPlan, ToolPlan
from ferrule.definitions.stubs.comments import one_line
from ferrule.definitions.stubs.languages.rust.config import write_config
from ferrule.definitions.stubs.languages.rust.readmes import write_client_readme, write_readme
from ferrule.definitions.stubs.languages.rust.registration import write_registration, write_services
from ferrule.definitions.stubs.languages.rust.surroundings import RustSurroundings
from ferrule.definitions.stubs.languages.rust.text import GENERATED, KEYWORDS, document_lines, write_documentation

_PACKAGE = re.compile(r"[^a-z0-9_-]+")
_VERSION = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")
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
def _read_support(name: str) -> str:
    return (files("ferrule.definitions.stubs.languages.rust") / "support" / f"{name}.rs").read_text(encoding="utf-8")


def copy_support(folder: str, names: Mapping[str, str]) -> list[SourceFile]:
    """Returns the hand-written files that stubs rest on: what each module is called, and the file it is."""
    return [
        SourceFile(f"{folder}/{module}.rs", f"{GENERATED}{_read_support(name)}", "generated")
        for module, name in names.items()
    ]


def write_shared(plan: StubPlan, tools: Sequence[ToolPlan], around: RustSurroundings) -> list[SourceFile]:
    """Writes the files of implementation stubs that belong to no single tool."""
    modules = "".join(f"pub mod {stem};\n" for stem in sorted(tool.stem for tool in tools))
    made = [
        SourceFile("src/tools/mod.rs", write_registration(tools, around, modules), "generated"),
        SourceFile("src/tools/generated/mod.rs", f"{GENERATED}\n{modules}", "generated"),
        *copy_support("src/tools/support", {"mod": "tool", "mcp": "mcp", "values": "values"}),
    ]
    if around.needs_config:
        made.append(write_config(around))
    if around.services:
        made += write_services(around)
    return made + (_write_project(plan, around) if plan.is_project else [])


def _write_project(plan: StubPlan, around: RustSurroundings) -> list[SourceFile]:
    package = _name_package(plan)
    modules = "pub mod config;\n" if around.needs_config else ""
    modules += "pub mod services;\n" if around.services else ""
    return [
        *_write_crate(plan, package, f"{modules}pub mod tools;\n"),
        SourceFile("README.md", write_readme(plan, package), "yours"),
        SourceFile("src/main.rs", _write_main(package.replace("-", "_")), "yours"),
    ]


def write_client_project(plan: StubPlan) -> list[SourceFile]:
    """Writes the crate of client stubs."""
    package = _name_package(plan)
    return [
        *_write_crate(plan, package, "pub mod client;\n"),
        SourceFile("README.md", write_client_readme(plan, package), "yours"),
    ]


def _write_crate(plan: StubPlan, package: str, modules: str) -> list[SourceFile]:
    about = write_documentation(
        [document_lines(plan.project.description) or document_lines(plan.project.name)], mark="//!"
    )
    return [
        SourceFile("Cargo.toml", _write_cargo(plan, package), "yours"),
        SourceFile(".gitignore", "/target\n", "yours"),
        SourceFile("src/lib.rs", f"{GENERATED}\n{about}\n{modules}", "generated"),
    ]


def _name_package(plan: StubPlan) -> str:
    name = _PACKAGE.sub("-", (plan.project.module or plan.project.name).rsplit("/", 1)[-1].lower()).strip("-_")
    name = name if name and name[0].isalpha() else f"tools-{name}".strip("-")
    taken = {"test", "core", "std", "alloc", "proc_macro", "serde", "serde_json", "serde_repr", "tokio", "reqwest"}
    return f"{name}-tools" if name.replace("-", "_") in taken | KEYWORDS else name[:60]


def _write_cargo(plan: StubPlan, package: str) -> str:
    version = plan.project.version if _VERSION.fullmatch(plan.project.version) else "0.1.0"
    return f"""[package]
name = "{package}"
version = "{version}"
edition = "2021"
rust-version = "1.63"
description = {_quote_toml(one_line(plan.project.description))}
publish = false

[dependencies]
{_CALLING if plan.kind == "client" else ""}{_COMMON}tokio = {{ version = "1.24", features = {_TOKIO[plan.kind]} }}
"""


def _quote_toml(text: str) -> str:
    return '"' + "".join(one if " " <= one <= "~" and one not in '"\\' else f"\\U{ord(one):08x}" for one in text) + '"'


def _write_main(crate: str) -> str:
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
