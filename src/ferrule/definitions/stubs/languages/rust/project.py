"""What all tools of a plan share: registration, services, settings, and with `--project` what makes it build and run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from ferrule.contracts.language import SourceFile, StubPlan, ToolPlan
from ferrule.definitions.stubs.comments import one_line
from ferrule.definitions.stubs.languages.rust.config import config_file
from ferrule.definitions.stubs.languages.rust.readmes import client_readme, readme
from ferrule.definitions.stubs.languages.rust.registration import registration, service_files
from ferrule.definitions.stubs.languages.rust.surroundings import RustSurroundings
from ferrule.definitions.stubs.languages.rust.text import GENERATED, KEYWORDS, documentation, lines

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
def _support(name: str) -> str:
    return (files("ferrule.definitions.stubs.languages.rust") / "support" / f"{name}.rs").read_text(encoding="utf-8")


def support_files(folder: str, names: Mapping[str, str]) -> list[SourceFile]:
    """The hand-written files that stubs rest on: what each module is called, and the file it is."""
    return [
        SourceFile(f"{folder}/{module}.rs", f"{GENERATED}{_support(name)}", "generated")
        for module, name in names.items()
    ]


def shared_files(plan: StubPlan, tools: Sequence[ToolPlan], around: RustSurroundings) -> list[SourceFile]:
    """Everything of implementation stubs that is no single tool's."""
    modules = "".join(f"pub mod {stem};\n" for stem in sorted(tool.stem for tool in tools))
    made = [
        SourceFile("src/tools/mod.rs", registration(tools, around, modules), "generated"),
        SourceFile("src/tools/generated/mod.rs", f"{GENERATED}\n{modules}", "generated"),
        *support_files("src/tools/support", {"mod": "tool", "mcp": "mcp", "values": "values"}),
    ]
    if around.needs_config:
        made.append(config_file(around))
    if around.services:
        made += service_files(around)
    return made + (_project(plan, around) if plan.is_project else [])


def _project(plan: StubPlan, around: RustSurroundings) -> list[SourceFile]:
    package = _package(plan)
    modules = "pub mod config;\n" if around.needs_config else ""
    modules += "pub mod services;\n" if around.services else ""
    return [
        *_crate(plan, package, f"{modules}pub mod tools;\n"),
        SourceFile("README.md", readme(plan, package), "yours"),
        SourceFile("src/main.rs", _main(package.replace("-", "_")), "yours"),
    ]


def client_project(plan: StubPlan) -> list[SourceFile]:
    """What makes a library of client stubs."""
    package = _package(plan)
    return [
        *_crate(plan, package, "pub mod client;\n"),
        SourceFile("README.md", client_readme(plan, package), "yours"),
    ]


def _crate(plan: StubPlan, package: str, modules: str) -> list[SourceFile]:
    about = documentation([lines(plan.project.description) or lines(plan.project.name)], mark="//!")
    return [
        SourceFile("Cargo.toml", _cargo(plan, package), "yours"),
        SourceFile(".gitignore", "/target\n", "yours"),
        SourceFile("src/lib.rs", f"{GENERATED}\n{about}\n{modules}", "generated"),
    ]


def _package(plan: StubPlan) -> str:
    name = _PACKAGE.sub("-", (plan.project.module or plan.project.name).rsplit("/", 1)[-1].lower()).strip("-_")
    name = name if name and name[0].isalpha() else f"tools-{name}".strip("-")
    taken = {"test", "core", "std", "alloc", "proc_macro", "serde", "serde_json", "serde_repr", "tokio", "reqwest"}
    return f"{name}-tools" if name.replace("-", "_") in taken | KEYWORDS else name[:60]


def _cargo(plan: StubPlan, package: str) -> str:
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
