"""Client stubs: a package with a method for each tool of a running Ferrule."""

from __future__ import annotations

from ferrule.contracts.language import Plan, SourceFile, ToolPlan
from ferrule.definitions.stubs.languages.go.names import CALLING, VALUES, Scope, safe_stem
from ferrule.definitions.stubs.languages.go.project import module_file
from ferrule.definitions.stubs.languages.go.surroundings import module_of
from ferrule.definitions.stubs.languages.go.text import header, shared_file, source
from ferrule.definitions.stubs.languages.go.tools import method, types

PACKAGE = "ferruleclient"


def client_files(plan: Plan, scope: Scope) -> list[SourceFile]:
    """The files of the package."""
    shared = [shared_file(each, PACKAGE) for each in (*VALUES, *CALLING)]
    files = [*(_tool_file(tool, scope) for tool in plan.tools), *shared]
    return [*files, *_project(plan)] if plan.is_project else files


def _project(plan: Plan) -> list[SourceFile]:
    """What makes the package a module of its own."""
    module = module_of(plan.project)
    return [module_file(module, plan.project.language_version), SourceFile("README.md", _page(plan, module), "yours")]


def _page(plan: Plan, module: str) -> str:
    name = next((tool.type_name for tool in plan.tools), "")
    call = f"result, err := client.{name}(ctx, {PACKAGE}.{name}Input{{}})" if name else "// a method for each tool"
    return f"""# {module}

The package `{module}/{PACKAGE}` calls tools that Ferrule serves: a method for each, with typed input and output.

```go
client, err := {PACKAGE}.NewClient() // FERRULE_URL and FERRULE_TOKEN, or WithURL and WithToken
{call}
```

Say where Ferrule is: `ferrule serve` listens at http://127.0.0.1:8787. A call that fails gives an error of its class
(`errors.As`), all of them with a `CallError`; one that waits for a person a `PendingError`.

Generated files end in `_gen.go`: `ferrule gen` writes them anew when a definition changes.
"""


def _tool_file(tool: ToolPlan, scope: Scope) -> SourceFile:
    lines = [*method(tool), *types(tool, scope)]
    text = source(header(tool), PACKAGE, lines, ["context", *scope.json_import()])
    return SourceFile(f"{PACKAGE}/{safe_stem(tool.stem)}_gen.go", text, "generated", tool.tool_id)
