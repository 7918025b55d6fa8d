"""Rust: serde types, async handlers, and a client on reqwest."""

from __future__ import annotations

from ferrule.contracts.language import NextStep, SourceFile, StubOutput, StubPlan, ToolNote
from ferrule.definitions.stubs.languages.rust.client import write_client
from ferrule.definitions.stubs.languages.rust.project import write_shared
from ferrule.definitions.stubs.languages.rust.surroundings import RustSurroundings
from ferrule.definitions.stubs.languages.rust.text import RESERVED_STEMS, RESERVED_TYPES
from ferrule.definitions.stubs.languages.rust.tools import write_generated, write_handler


class Rust:
    """Stubs in Rust."""

    name = "rust"
    title = "Rust"
    flavours: tuple[str, ...] = ()
    reserved_types = RESERVED_TYPES
    reserved_endings: tuple[str, ...] = ()
    reserved_stems = RESERVED_STEMS

    def write(self, plan: StubPlan) -> StubOutput:
        """Returns all files of a plan."""
        return write_client(plan) if plan.kind == "client" else _implementation(plan)


def _implementation(plan: StubPlan) -> StubOutput:
    # Built-in tools are Ferrule's to run, so there is nothing to implement.
    tools = tuple(tool for tool in plan.tools if not tool.builtin)
    around = RustSurroundings(plan)
    files: list[SourceFile] = []
    notes: list[ToolNote] = []
    for tool in tools:
        made, found = write_generated(tool)
        files += [write_handler(tool, around), made]
        notes += found
    steps = (NextStep("cargo test"),) if plan.is_project else ()
    return StubOutput((*files, *write_shared(plan, tools, around)), tuple(notes), steps)


LANGUAGE = Rust()
