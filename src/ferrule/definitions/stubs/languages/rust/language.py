"""Rust: serde types, async handlers, and a client on reqwest."""

from __future__ import annotations

from ferrule.contracts.language import NextStep, SourceFile, StubOutput, StubPlan, ToolNote
from ferrule.definitions.stubs.languages.rust.client import client_files
from ferrule.definitions.stubs.languages.rust.project import shared_files
from ferrule.definitions.stubs.languages.rust.surroundings import RustSurroundings
from ferrule.definitions.stubs.languages.rust.text import RESERVED_STEMS, RESERVED_TYPES
from ferrule.definitions.stubs.languages.rust.tools import generated_file, handler_file


class Rust:
    """Stubs in Rust."""

    name = "rust"
    title = "Rust"
    flavours: tuple[str, ...] = ()
    reserved_types = RESERVED_TYPES
    reserved_endings: tuple[str, ...] = ()
    reserved_stems = RESERVED_STEMS

    def write(self, plan: StubPlan) -> StubOutput:
        """All files of a plan."""
        return client_files(plan) if plan.kind == "client" else _implementation(plan)


def _implementation(plan: StubPlan) -> StubOutput:
    # Built-in tools are Ferrule's to run, so there is nothing to implement.
    tools = tuple(tool for tool in plan.tools if not tool.builtin)
    around = RustSurroundings(plan)
    files: list[SourceFile] = []
    notes: list[ToolNote] = []
    for tool in tools:
        made, found = generated_file(tool)
        files += [handler_file(tool, around), made]
        notes += found
    steps = (NextStep("cargo test"),) if plan.is_project else ()
    return StubOutput((*files, *shared_files(plan, tools, around)), tuple(notes), steps)


LANGUAGE = Rust()
