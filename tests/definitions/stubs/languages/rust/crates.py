"""Crates made of generated stubs, compiled with warnings as errors into one shared folder, and programs that drive them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ferrule.contracts.language import Injected, Project, SourceFile, StubKind, StubPlan, ToolPlan
from ferrule.definitions.stubs.identifiers import ACRONYMS, Style, identifiers, pascal, snake
from ferrule.definitions.stubs.languages.rust.language import LANGUAGE
from ferrule.definitions.stubs.tree import make_type_tree
from tests.definitions.stubs.languages.toolchains import cargo, rustfmt

_PROFILE = "\n[profile.dev]\ndebug = 0\nincremental = false\n"
_STRICT = "#![deny(warnings)]\n"


class Given(NamedTuple):
    """A tool to make stubs of."""

    name: str
    schema: Any
    output: Any = None
    description: str = "What it does."
    inject: tuple[Injected, ...] = ()
    title: str = ""
    tags: tuple[str, ...] = ()
    builtin: str = ""


def planned(tools: Sequence[Given], kind: StubKind = "implementation", **project: Any) -> StubPlan:
    """The plan of some tools."""
    names = [tool.name for tool in tools]
    stems = identifiers(names, Style(snake, longest=60), LANGUAGE.reserved_stems)
    types = identifiers(names, Style(pascal, longest=80), LANGUAGE.reserved_types)
    taken = set(LANGUAGE.reserved_types)
    is_project = bool(project.pop("is_project", False))
    made = tuple(_planned(tool, stems[tool.name], types[tool.name], taken) for tool in tools)
    about = {"name": "try-out", "version": "1.2.3", "acronyms": ACRONYMS, **project}
    return StubPlan(kind=kind, project=Project(**about), tools=made, is_project=is_project)


def _planned(tool: Given, stem: str, name: str, taken: set[str]) -> ToolPlan:
    raw = msgspec.Raw(json.dumps(tool.schema).encode())
    output = None if tool.output is None else msgspec.Raw(json.dumps(tool.output).encode())
    return ToolPlan(
        tool_id=f"try.{tool.name}",
        name=tool.name,
        stem=stem,
        type_name=name,
        title=tool.title,
        description=tool.description,
        tags=tool.tags,
        digest="sha256:" + "0" * 64,
        contract="0a1b2c3d",
        input=make_type_tree(tool.schema, f"{name}Input", taken=taken),
        output=None if output is None else make_type_tree(tool.output, f"{name}Output", taken=taken),
        input_schema=raw,
        output_schema=output,
        inject=tool.inject,
        builtin=tool.builtin,
    )


def write(files: Iterable[SourceFile], folder: Path) -> None:
    """Puts files where they belong."""
    for each in files:
        path = folder / each.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(each.text, encoding="utf-8")


def well_formed(folder: Path) -> None:
    """Fails where rustfmt would change a file."""
    sources = [str(path) for path in sorted(folder.rglob("*.rs"))]
    rustfmt().run("--check", *sources, cwd=folder)


def library(plan: StubPlan, folder: Path, main: str, name: str = "tried") -> None:
    """A crate of stubs with a program of ours; nothing of it may be warned of."""
    project = msgspec.structs.replace(plan.project, name=name)
    write(LANGUAGE.write(msgspec.structs.replace(plan, project=project, is_project=True)).files, folder)
    library = folder / "src" / "lib.rs"
    library.write_text(_STRICT + library.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "src" / "main.rs").write_text(_STRICT + main)
    with (folder / "Cargo.toml").open("a") as manifest:
        manifest.write(_PROFILE)


def built(folder: Path, name: str = "tried") -> Path:
    """The program of a crate."""
    cargo().run("build", "--quiet", cwd=folder)
    return Path(cargo().env["CARGO_TARGET_DIR"]) / "debug" / name


def talked(program: Path, lines: Iterable[Any], **env: str) -> list[Any]:
    """What a program answers to lines of JSON, one for each."""
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    done = subprocess.run(
        [program], input=text.encode(), capture_output=True, timeout=120, check=False, env={**os.environ, **env}
    )
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()]


def echo_main(plan: StubPlan, crate: str = "tried") -> str:
    """A program that reads lines with a tool and a text: it reads the text as the tool's input and writes that again."""
    arms = "".join(
        f"        {json.dumps(tool.stem)} => echo::<generated::{tool.stem}::{tool.input.root.name}>(value),\n"
        for tool in plan.tools
    )
    return f"""use std::io::BufRead;

use serde_json::{{json, Value}};
use {crate}::tools::generated;
use {crate}::tools::support::values::read;

fn main() {{
    for line in std::io::stdin().lock().lines() {{
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        println!("{{}}", answer(&line).unwrap_or_else(|why| json!({{ "error": why.to_string() }})));
    }}
}}

fn echo<T: serde::de::DeserializeOwned + serde::Serialize>(value: Value) -> serde_json::Result<Value> {{
    serde_json::to_value(read::<T>(value)?)
}}

fn answer(line: &Value) -> serde_json::Result<Value> {{
    let value = serde_json::from_str(line["text"].as_str().unwrap())?;
    let value = match line["tool"].as_str().unwrap() {{
{arms}        _ => panic!("no such tool"),
    }};
    Ok(json!({{ "text": value?.to_string() }}))
}}
"""
