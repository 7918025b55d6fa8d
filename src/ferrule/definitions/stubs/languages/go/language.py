"""The language `go`: implementation stubs in ADL's shape, a project that serves them over MCP, and client stubs.

A package of stubs has everything it needs within itself: the files of `support/` are copied into it. So stubs can be put into
any module, and use nothing but the standard library of Go.
"""

from __future__ import annotations

from collections.abc import Callable

from ferrule.contracts.language import Plan, SourceFile, Step, Written
from ferrule.definitions.stubs.languages.go.client import client_files
from ferrule.definitions.stubs.languages.go.files import shared_file
from ferrule.definitions.stubs.languages.go.loose import notes
from ferrule.definitions.stubs.languages.go.names import (
    BUILTIN,
    CALLING,
    IMPLEMENTING,
    SERVING,
    VALUES,
    WINDOWS_NAMES,
    Scope,
    support_names,
)
from ferrule.definitions.stubs.languages.go.project import module_in, project_files
from ferrule.definitions.stubs.languages.go.registry import registry_file
from ferrule.definitions.stubs.languages.go.services import service_file
from ferrule.definitions.stubs.languages.go.settings import config_files
from ferrule.definitions.stubs.languages.go.surroundings import Surroundings
from ferrule.definitions.stubs.languages.go.tools import (
    PACKAGE,
    builtin_file,
    builtin_test_file,
    generated_file,
    implementation_file,
    test_file,
)


class Go:
    """Stubs in Go."""

    name = "go"
    title = "Go"
    flavours: tuple[str, ...] = ()
    reserved_types = frozenset(each for each in support_names() if each[0].isupper()) | {"Tools"}
    reserved_beginnings: tuple[str, ...] = ("New", "Decode", "Encode", "Test")
    reserved_endings: tuple[str, ...] = ("Tool", "Handler")
    reserved_stems = frozenset(
        (
            "registry",
            *WINDOWS_NAMES,
            *(f"ferrule_{each}" for each in (*VALUES, *IMPLEMENTING, *SERVING, *CALLING, *BUILTIN)),
        )
    )

    def module_in(self, read: Callable[[str], bytes | None]) -> str:
        """The module that the output folder is, as its `go.mod` says: it is the person's."""
        return module_in(read)

    def write(self, plan: Plan) -> Written:
        """All files of a plan."""
        scope = Scope(plan)
        files = client_files(plan, scope) if plan.kind == "client" else _implementation(plan, scope)
        is_program = plan.is_project and plan.kind == "implementation"
        return Written(tuple(files), notes(plan), (Step("go test ./..."),) if is_program else ())


def _implementation(plan: Plan, scope: Scope) -> list[SourceFile]:
    around = Surroundings(plan)
    files: list[SourceFile] = []
    for tool in plan.tools:
        if tool.builtin:
            files += [builtin_file(tool, scope), builtin_test_file(tool)]
        else:
            files += [implementation_file(tool, around), generated_file(tool, scope), test_file(tool)]
    files += [shared_file(each, PACKAGE) for each in _shared(plan)]
    files.append(registry_file(plan, around))
    files += [service_file(each, around) for each in around.packages.values()]
    if around.needs_config:
        files += config_files(around)
    return [*files, *project_files(plan, around)] if plan.is_project else files


def _shared(plan: Plan) -> tuple[str, ...]:
    calling = (*CALLING, *BUILTIN) if any(tool.builtin for tool in plan.tools) else ()
    return (*VALUES, *IMPLEMENTING, *(SERVING if plan.is_project else ()), *calling)


LANGUAGE = Go()
