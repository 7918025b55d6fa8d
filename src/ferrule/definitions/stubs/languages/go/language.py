"""The language `go`: implementation stubs in ADL's shape, a project that serves them over MCP, and client stubs.

Ferrule checks every call before a tool runs, so stubs are types and not validators: plain structs with tags of `encoding/json`,
and nothing but the standard library. The few lines that all tools of a package share are copied into it from `support/`, each
file only where something uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ferrule.contracts.language import NextStep, SourceFile, StubOutput, StubPlan, ToolPlan
from ferrule.definitions.stubs.languages.go import client
from ferrule.definitions.stubs.languages.go.names import SUPPORT, WINDOWS_NAMES, list_support_names
from ferrule.definitions.stubs.languages.go.project import read_module, write_project, write_registry, write_service
from ferrule.definitions.stubs.languages.go.settings import write_config
from ferrule.definitions.stubs.languages.go.surroundings import GoSurroundings
from ferrule.definitions.stubs.languages.go.text import copy_support
from ferrule.definitions.stubs.languages.go.tools import (
    PACKAGE,
    write_builtin,
    write_generated,
    write_implementation,
    write_test,
)
from ferrule.definitions.stubs.languages.go.types import PackageScope


class Go:
    """Stubs in Go."""

    name = "go"
    title = "Go"
    flavours: tuple[str, ...] = ()
    reserved_types = frozenset(
        each for each in (*list_support_names(), *client.list_error_constants()) if each[0].isupper()
    ) | {"Tools"}
    reserved_beginnings: tuple[str, ...] = ("New", "Test")
    reserved_endings: tuple[str, ...] = ("Tool", "Handler")
    reserved_stems = frozenset(("registry", *WINDOWS_NAMES, *(f"ferrule_{each}" for each in SUPPORT)))

    def module_in(self, read: Callable[[str], bytes | None]) -> str:
        """Reads the module that the output folder is, as its `go.mod` says: it is the person's."""
        return read_module(read)

    def write(self, plan: StubPlan) -> StubOutput:
        """Writes all files of a plan."""
        scope = PackageScope(plan)
        files = client.write_client(plan, scope) if plan.kind == "client" else _write_implementation(plan, scope)
        package = client.PACKAGE if plan.kind == "client" else PACKAGE
        is_program = plan.is_project and plan.kind == "implementation"
        steps = (NextStep("go test ./..."),) if is_program else ()
        return StubOutput((*files, *_copy_values(files, package)), tuple(scope.notes), steps)


def _write_implementation(plan: StubPlan, scope: PackageScope) -> list[SourceFile]:
    around = GoSurroundings(plan)
    files = [file for tool in plan.tools for file in _write_tool(tool, scope, around)]
    files += [write_registry(plan, around), copy_support("tools", PACKAGE)]
    if any(tool.builtin for tool in plan.tools):
        files.append(copy_support("builtin", PACKAGE))
    files += [write_service(each, around) for each in around.services.values()]
    if around.needs_config:
        files.append(write_config(around))
    return [*files, copy_support("server", PACKAGE), *write_project(plan, around)] if plan.is_project else files


def _write_tool(tool: ToolPlan, scope: PackageScope, around: GoSurroundings) -> list[SourceFile]:
    if tool.builtin:
        return [write_builtin(tool)]
    return [write_implementation(tool, around), write_generated(tool, scope), write_test(tool)]


def _copy_values(files: Sequence[SourceFile], package: str) -> list[SourceFile]:
    """Copies what the types of some files need."""
    text = "".join(file.text for file in files if file.path.startswith(f"{package}/"))
    names = ["values"]
    names += ["optional"] if "Optional[" in text else []
    names += ["extra"] if "decodeExtra[" in text else []
    return [copy_support(each, package) for each in names]


LANGUAGE = Go()
