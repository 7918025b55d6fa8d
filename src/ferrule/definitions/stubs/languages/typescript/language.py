"""The language `typescript`: what `ferrule gen typescript` writes.

The support files are hand-written TypeScript in `support/`, copied with a header.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from ferrule.contracts.language import Plan, SourceFile, Step, ToolPlan, Written
from ferrule.definitions.stubs.languages.typescript.client import client_index
from ferrule.definitions.stubs.languages.typescript.definitions import Defined, defined
from ferrule.definitions.stubs.languages.typescript.dependencies import Dependencies
from ferrule.definitions.stubs.languages.typescript.implementations import implementation, test_skeleton
from ferrule.definitions.stubs.languages.typescript.parts import SHARED
from ferrule.definitions.stubs.languages.typescript.project import generated_files, project_files
from ferrule.definitions.stubs.languages.typescript.wiring import config, service, setting_notes, tool_box

_CHECKING = """
    alternatives arrays checker definition document equality json numbers objects patternMachine patternTree patterns scalars
    schema
"""
_CALLING = ("answers", "client", "errors", "events", "following", "host")
_TOOLS = ("host", "logger", "settings", "tool")


def support_names(*, is_client: bool, is_served: bool, is_remote: bool) -> list[str]:
    """Which files a plan needs: a client, tools, tools that are served, tools that are done elsewhere."""
    names = {*_CHECKING.split()}
    names.update(_CALLING if is_client else _TOOLS)
    if is_served:
        names.add("mcp")
    if is_remote:
        names.update((*_CALLING, "remote"))
    return sorted(names)


@cache
def support_text(name: str) -> str:
    """One of them."""
    return f"{SHARED}\n{(files(__package__) / 'support' / f'{name}.ts').read_text(encoding='utf-8')}"


_TYPES = """
    CallOptions CallProgress Client ClientOptions Config Definition FerruleClient Logger NotImplementedError Promise Tool
    ToolBox ToolCall Types Waiting
"""
_DEVICES = ("aux", "con", "nul", "prn", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)))


class TypeScript:
    """Interfaces, checked by the schema where types end."""

    name = "typescript"
    title = "TypeScript"
    flavours: tuple[str, ...] = ()
    reserved_types = frozenset(_TYPES.split())
    reserved_endings: tuple[str, ...] = ("Contract", "Tool")
    reserved_stems = frozenset(("index", "generated", *_DEVICES))

    def write(self, plan: Plan) -> Written:
        """All files of a plan."""
        return _client(plan) if plan.kind == "client" else _implementation(plan)


def _client(plan: Plan) -> Written:
    made = [defined(tool, "../ferrule", is_client=True) for tool in plan.tools]
    files = [
        *_support("src/client/ferrule", support_names(is_client=True, is_served=False, is_remote=False)),
        *_defined("src/client/tools", plan, made),
        SourceFile("src/client/index.ts", client_index(plan, made), "generated"),
        *_project(plan),
    ]
    return Written(tuple(files), tuple(note for each in made for note in each.notes))


def _implementation(plan: Plan) -> Written:
    made = [defined(tool, "../../ferrule") for tool in plan.tools]
    dependencies = Dependencies(plan)
    is_remote = any(tool.builtin for tool in plan.tools)
    names = support_names(is_client=False, is_served=plan.is_project, is_remote=is_remote)
    files = [
        *_support("src/ferrule", names),
        SourceFile("src/config.ts", config(dependencies), "generated"),
        *_defined("src/tools/generated", plan, made),
        SourceFile("src/tools/index.ts", tool_box(plan, dependencies), "generated"),
        *(each for tool in plan.tools if not tool.builtin for each in _yours(tool, dependencies)),
        *(SourceFile(f"src/services/{each.file}.ts", service(each), "yours") for each in dependencies.services),
        *_project(plan),
    ]
    steps = (Step("npm install && npm test"),) if plan.is_project else ()
    notes = (*(note for each in made for note in each.notes), *setting_notes(plan, dependencies))
    return Written(tuple(files), notes, steps)


def _support(folder: str, names: list[str]) -> Iterator[SourceFile]:
    for name in names:
        yield SourceFile(f"{folder}/{name}.ts", support_text(name), "generated")


def _defined(folder: str, plan: Plan, made: list[Defined]) -> Iterator[SourceFile]:
    for tool, each in zip(plan.tools, made, strict=True):
        yield SourceFile(f"{folder}/{tool.stem}.ts", each.text, "generated", tool.tool_id)


def _yours(tool: ToolPlan, dependencies: Dependencies) -> Iterator[SourceFile]:
    text = implementation(tool, dependencies.of(tool))
    yield SourceFile(f"src/tools/{tool.stem}.ts", text, "yours", tool.tool_id)
    yield SourceFile(f"test/{tool.stem}.test.ts", test_skeleton(tool), "yours", tool.tool_id)


def _project(plan: Plan) -> Iterator[SourceFile]:
    if plan.is_project:
        for path, text in generated_files(plan).items():
            yield SourceFile(path, text, "generated")
        for path, text in project_files(plan).items():
            yield SourceFile(path, text, "yours")


LANGUAGE = TypeScript()
