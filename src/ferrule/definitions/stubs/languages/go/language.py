"""The language `go`: implementation stubs in ADL's shape, a project that serves them over MCP, and client stubs.

A package of stubs has everything it needs within itself: the files of `support/` are copied into it. So stubs can be put
into any module, and use nothing but the standard library of Go. Where a type in Go is looser than the tree, a note says so:
what no integer of Go holds is a `json.Number`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ferrule.contracts.language import Plan, SourceFile, Step, ToolNote, Written
from ferrule.contracts.type_tree import Alias, Declaration, Enumeration, Integer, Note, Record, Type, Union
from ferrule.definitions.stubs.languages.go.client import client_files
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
from ferrule.definitions.stubs.languages.go.project import module_in, project_files, registry_file, service_file
from ferrule.definitions.stubs.languages.go.settings import config_files
from ferrule.definitions.stubs.languages.go.shapes import integer, whole_numbers
from ferrule.definitions.stubs.languages.go.surroundings import Surroundings
from ferrule.definitions.stubs.languages.go.text import shared_file
from ferrule.definitions.stubs.languages.go.tools import (
    PACKAGE,
    builtin_file,
    builtin_test_file,
    generated_file,
    implementation_file,
    test_file,
)

_MESSAGE = "its bounds go beyond 64 bits, so it is a json.Number in Go"


def notes(plan: Plan) -> tuple[ToolNote, ...]:
    """What the stubs of a plan cannot say exactly."""
    return tuple(
        ToolNote(tool.tool_id, Note(pointer, _MESSAGE))
        for tool in plan.tools
        for tree in (tool.input, tool.output)
        if tree is not None
        for declared in tree.declarations
        for pointer in _loose(declared)
    )


def _loose(declared: Declaration) -> Iterator[str]:
    match declared:
        case Record():
            for member in declared.members:
                if _has_loose(member.type):
                    step = member.name.replace("~", "~0").replace("/", "~1")
                    yield f"{declared.pointer}/properties/{step}"
        case Union():
            yield from (each.pointer for each in declared.variants if _has_loose(each.type))
        case Alias():
            if _has_loose(declared.type):
                yield declared.pointer
        case Enumeration():
            if declared.kind == "integer" and not whole_numbers(declared):
                yield declared.pointer


def _has_loose(type_: Type) -> bool:
    if isinstance(type_, Integer):
        return integer(type_).go == "json.Number"
    inner = [getattr(type_, name, None) for name in ("item", "value", "inner", "rest")]
    parts = [*getattr(type_, "items", ()), *(each for each in inner if hasattr(each, "__struct_fields__"))]
    return any(map(_has_loose, parts))


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
