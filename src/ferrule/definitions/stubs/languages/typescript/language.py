"""The language `typescript`: what `ferrule gen typescript` writes.

The support files are hand-written TypeScript in `support/`, copied with a header.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from ferrule.contracts.language import NextStep, SourceFile, StubOutput, StubPlan
from ferrule.definitions.stubs.languages.typescript.client import write_client_index
from ferrule.definitions.stubs.languages.typescript.definitions import DefinitionFile, name_variables, write_definition
from ferrule.definitions.stubs.languages.typescript.implementation import write_implementation, write_test
from ferrule.definitions.stubs.languages.typescript.project import list_packages, write_main, write_project
from ferrule.definitions.stubs.languages.typescript.surroundings import TypeScriptSurroundings
from ferrule.definitions.stubs.languages.typescript.text import SHARED
from ferrule.definitions.stubs.languages.typescript.wiring import write_config, write_service, write_tool_box

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
        named = name_variables(plan)
        made = [write_definition(tool, plan, named[tool.stem]) for tool in plan.tools]
        is_client = plan.kind == "client"
        files = [*(_write_client(plan, made) if is_client else _write_implementation(plan, made, named))]
        notes = [note for each in made for note in each.notes]
        if plan.is_project:
            files += [SourceFile(path, text, "yours") for path, text in write_project(plan).items()]
            steps = (NextStep("npm install && npm run build"),) if is_client else (NextStep("npm install && npm test"),)
        else:
            steps = (NextStep(f"npm install {' '.join(list_packages(plan))}"),)
        return StubOutput(tuple(files), tuple(notes), steps)


def _write_client(plan: StubPlan, made: list[DefinitionFile]) -> Iterator[SourceFile]:
    yield from _copy_support("src/client/ferrule", plan, "client", "connection")
    for tool, each in zip(plan.tools, made, strict=True):
        yield SourceFile(f"src/client/tools/{tool.stem}.ts", each.text, "generated", tool.tool_id)
    yield SourceFile("src/client/index.ts", write_client_index(plan), "generated")


def _write_implementation(plan: StubPlan, made: list[DefinitionFile], named: dict[str, str]) -> Iterator[SourceFile]:
    around = TypeScriptSurroundings(plan, (f"{name}Definition" for name in named.values()))
    remote = ("connection", "remote") if any(tool.builtin for tool in plan.tools) else ()
    yield from _copy_support("src/ferrule", plan, "tool", *remote, *(("server",) if plan.is_project else ()))
    yield SourceFile("src/config.ts", write_config(around), "generated")
    yield SourceFile("src/tools/index.ts", write_tool_box(plan, around), "generated")
    for tool, each in zip(plan.tools, made, strict=True):
        yield SourceFile(f"src/tools/generated/{tool.stem}.ts", each.text, "generated", tool.tool_id)
        if not tool.builtin:
            text = write_implementation(tool, around.dependencies(tool))
            yield SourceFile(f"src/tools/{tool.stem}.ts", text, "yours", tool.tool_id)
            test = write_test(tool, named[tool.stem])
            yield SourceFile(f"test/{tool.stem}.test.ts", test, "yours", tool.tool_id)
    for found in around.services.values():
        yield SourceFile(f"src/services/{found.module}.ts", write_service(found), "yours")
    if plan.is_project:
        yield SourceFile("src/main.ts", write_main(plan), "generated")


def _copy_support(folder: str, plan: StubPlan, *names: str) -> Iterator[SourceFile]:
    checking = ("validation",) if plan.flavour == "ajv" else ()
    for name in sorted((*names, *checking)):
        yield SourceFile(f"{folder}/{name}.ts", read_support(name), "generated")


@cache
def read_support(name: str) -> str:
    """Returns a support file."""
    return f"{SHARED}{(files(__package__) / 'support' / f'{name}.ts').read_text(encoding='utf-8')}"


LANGUAGE = TypeScript()
