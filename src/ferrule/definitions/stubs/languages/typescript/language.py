"""The language `typescript`: what `ferrule gen typescript` writes.

The support files are hand-written TypeScript in `support/`, copied with a header.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from ferrule.contracts.language import NextStep, SourceFile, StubOutput, StubPlan
from ferrule.definitions.stubs.languages.typescript.client import client_index
from ferrule.definitions.stubs.languages.typescript.definitions import DefinitionFile, definition_file, variables
from ferrule.definitions.stubs.languages.typescript.implementation import implementation, test_skeleton
from ferrule.definitions.stubs.languages.typescript.project import main, packages, project_files
from ferrule.definitions.stubs.languages.typescript.surroundings import TypeScriptSurroundings
from ferrule.definitions.stubs.languages.typescript.text import SHARED
from ferrule.definitions.stubs.languages.typescript.wiring import config, service, tool_box

_TYPES = """
    Array CallDefinition CallDetails CallOptions Client Config ConnectionOptions FerruleClient FerruleError JsonSchema Logger
    Promise Tool ToolBox ToolCall ToolDefinition
"""
_DEVICES = ("aux", "con", "nul", "prn", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)))


class TypeScript:
    """Interfaces, and one async function for each tool. The flavours say who checks values at the boundary."""

    name = "typescript"
    title = "TypeScript"
    flavours: tuple[str, ...] = ("ajv", "zod")
    reserved_types = frozenset(_TYPES.split())
    reserved_endings: tuple[str, ...] = ("Tool",)
    reserved_stems = frozenset(("index", "generated", *_DEVICES))

    def write(self, plan: StubPlan) -> StubOutput:
        """Returns all files of a plan."""
        named = variables(plan)
        made = [definition_file(tool, plan, named[tool.stem]) for tool in plan.tools]
        is_client = plan.kind == "client"
        files = [*(_client(plan, made) if is_client else _implementation(plan, made, named))]
        notes = [note for each in made for note in each.notes]
        if plan.is_project:
            files += [SourceFile(path, text, "yours") for path, text in project_files(plan).items()]
            steps = (NextStep("npm install && npm run build"),) if is_client else (NextStep("npm install && npm test"),)
        else:
            steps = (NextStep(f"npm install {' '.join(packages(plan))}"),)
        return StubOutput(tuple(files), tuple(notes), steps)


def _client(plan: StubPlan, made: list[DefinitionFile]) -> Iterator[SourceFile]:
    yield from _support("src/client/ferrule", plan, "client", "connection")
    for tool, each in zip(plan.tools, made, strict=True):
        yield SourceFile(f"src/client/tools/{tool.stem}.ts", each.text, "generated", tool.tool_id)
    yield SourceFile("src/client/index.ts", client_index(plan), "generated")


def _implementation(plan: StubPlan, made: list[DefinitionFile], named: dict[str, str]) -> Iterator[SourceFile]:
    around = TypeScriptSurroundings(plan, (f"{name}Definition" for name in named.values()))
    remote = ("connection", "remote") if any(tool.builtin for tool in plan.tools) else ()
    yield from _support("src/ferrule", plan, "tool", *remote, *(("server",) if plan.is_project else ()))
    yield SourceFile("src/config.ts", config(around), "generated")
    yield SourceFile("src/tools/index.ts", tool_box(plan, around), "generated")
    for tool, each in zip(plan.tools, made, strict=True):
        yield SourceFile(f"src/tools/generated/{tool.stem}.ts", each.text, "generated", tool.tool_id)
        if not tool.builtin:
            text = implementation(tool, around.dependencies(tool))
            yield SourceFile(f"src/tools/{tool.stem}.ts", text, "yours", tool.tool_id)
            test = test_skeleton(tool, named[tool.stem])
            yield SourceFile(f"test/{tool.stem}.test.ts", test, "yours", tool.tool_id)
    for found in around.services.values():
        yield SourceFile(f"src/services/{found.module}.ts", service(found), "yours")
    if plan.is_project:
        yield SourceFile("src/main.ts", main(plan), "generated")


def _support(folder: str, plan: StubPlan, *names: str) -> Iterator[SourceFile]:
    checking = ("validation",) if plan.flavour == "ajv" else ()
    for name in sorted((*names, *checking)):
        yield SourceFile(f"{folder}/{name}.ts", support_text(name), "generated")


@cache
def support_text(name: str) -> str:
    """Returns a support file."""
    return f"{SHARED}{(files(__package__) / 'support' / f'{name}.ts').read_text(encoding='utf-8')}"


LANGUAGE = TypeScript()
