"""Client stubs: a package with a method for each tool of a running Ferrule."""

from __future__ import annotations

from ferrule.contracts.language import Plan, SourceFile, ToolPlan
from ferrule.languages.go.files import header, shared_file, source
from ferrule.languages.go.names import CALLING, VALUES, Scope, safe_stem
from ferrule.languages.go.project import module_file
from ferrule.languages.go.surroundings import module_of
from ferrule.languages.go.tools import method, types

PACKAGE = "ferruleclient"


def client_files(plan: Plan, scope: Scope) -> list[SourceFile]:
    """The files of the package."""
    shared = [shared_file(each, PACKAGE) for each in (*VALUES, *CALLING)]
    files = [*(_tool_file(tool, scope) for tool in plan.tools), *shared]
    return [*files, module_file(module_of(plan.project), plan.project.language_version)] if plan.is_project else files


def _tool_file(tool: ToolPlan, scope: Scope) -> SourceFile:
    lines = [*method(tool), *types(tool, scope)]
    text = source(header(tool), PACKAGE, lines, ["context", *scope.json_import()])
    return SourceFile(f"{PACKAGE}/{safe_stem(tool.stem)}_gen.go", text, "generated", tool.tool_id)
