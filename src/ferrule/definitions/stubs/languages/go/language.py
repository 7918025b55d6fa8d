"""The language `go`: implementation stubs in ADL's shape, a project that serves them over MCP, and client stubs.

Ferrule checks every call before a tool runs, so stubs are types and not validators: plain structs with tags of `encoding/json`,
and nothing but the standard library. The few lines that all tools of a package share are copied into it from `support/`, each
file only where something uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ferrule.contracts.language import NextStep, SourceFile, StubOutput, StubPlan, ToolPlan
from ferrule.definitions.stubs.languages.go import client
from ferrule.definitions.stubs.languages.go.names import SUPPORT, WINDOWS_NAMES, support_names
from ferrule.definitions.stubs.languages.go.project import module_in, project_files, registry_file, service_file
from ferrule.definitions.stubs.languages.go.settings import write_config
from ferrule.definitions.stubs.languages.go.surroundings import GoSurroundings
from ferrule.definitions.stubs.languages.go.text import shared_file
from ferrule.definitions.stubs.languages.go.tools import (
    PACKAGE,
    builtin_file,
    generated_file,
    implementation_file,
    test_file,
)
from ferrule.definitions.stubs.languages.go.types import Scope


class Go:
    """Stubs in Go."""

    name = "go"
    title = "Go"
    flavours: tuple[str, ...] = ()
    reserved_types = frozenset(each for each in (*support_names(), *client.error_constants()) if each[0].isupper()) | {
        "Tools"
    }
    reserved_beginnings: tuple[str, ...] = ("New", "Test")
    reserved_endings: tuple[str, ...] = ("Tool", "Handler")
    reserved_stems = frozenset(("registry", *WINDOWS_NAMES, *(f"ferrule_{each}" for each in SUPPORT)))

    def module_in(self, read: Callable[[str], bytes | None]) -> str:
        """Reads the module that the output folder is, as its `go.mod` says: it is the person's."""
        return module_in(read)

    def write(self, plan: StubPlan) -> StubOutput:
        """Writes all files of a plan."""
        scope = Scope(plan)
        files = client.client_files(plan, scope) if plan.kind == "client" else _implementation(plan, scope)
        package = client.PACKAGE if plan.kind == "client" else PACKAGE
        is_program = plan.is_project and plan.kind == "implementation"
        steps = (NextStep("go test ./..."),) if is_program else ()
        return StubOutput((*files, *_values(files, package)), tuple(scope.notes), steps)


def _implementation(plan: StubPlan, scope: Scope) -> list[SourceFile]:
    around = GoSurroundings(plan)
    files = [file for tool in plan.tools for file in _tool_files(tool, scope, around)]
    files += [registry_file(plan, around), shared_file("tools", PACKAGE)]
    if any(tool.builtin for tool in plan.tools):
        files.append(shared_file("builtin", PACKAGE))
    files += [service_file(each, around) for each in around.services.values()]
    if around.needs_config:
        files.append(write_config(around))
    return [*files, shared_file("server", PACKAGE), *project_files(plan, around)] if plan.is_project else files


def _tool_files(tool: ToolPlan, scope: Scope, around: GoSurroundings) -> list[SourceFile]:
    if tool.builtin:
        return [builtin_file(tool)]
    return [implementation_file(tool, around), generated_file(tool, scope), test_file(tool)]


def _values(files: Sequence[SourceFile], package: str) -> list[SourceFile]:
    """Copies what the types of some files need."""
    text = "".join(file.text for file in files if file.path.startswith(f"{package}/"))
    names = ["values"]
    names += ["optional"] if "Optional[" in text else []
    names += ["extra"] if "decodeExtra[" in text else []
    return [shared_file(each, package) for each in names]


LANGUAGE = Go()
