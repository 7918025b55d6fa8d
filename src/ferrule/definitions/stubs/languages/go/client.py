"""Client stubs: a package with a method for each tool of a running Ferrule."""

from __future__ import annotations

from ferrule.contracts.language import SourceFile, StubPlan, ToolPlan
from ferrule.definitions.stubs.languages.go.names import safe_stem
from ferrule.definitions.stubs.languages.go.project import write_module
from ferrule.definitions.stubs.languages.go.surroundings import name_module
from ferrule.definitions.stubs.languages.go.text import (
    align_columns,
    copy_support,
    one_line,
    quote,
    write_comment,
    write_header,
    write_source,
)
from ferrule.definitions.stubs.languages.go.tools import write_types
from ferrule.definitions.stubs.languages.go.types import PackageScope
from ferrule.model.failure import ERROR_CLASSES

PACKAGE = "ferruleclient"
_OWN_CLASSES = ("pending", "connection", "request", "unexpected_result")
"""What is no class of a call of Ferrule: a call that waits for an answer, and what goes wrong on the way."""


def write_client(plan: StubPlan, scope: PackageScope) -> list[SourceFile]:
    """Writes the files of the package."""
    files = [_write_tool(tool, scope) for tool in plan.tools]
    files.append(copy_support("client", PACKAGE, _write_error_classes()))
    if not plan.is_project:
        return files
    module = name_module(plan.project)
    page = SourceFile("README.md", _write_page(plan, module), "yours")
    return [*files, write_module(module, plan.project.language_version), page]


def list_error_constants() -> dict[str, str]:
    """Names the error classes in Go."""
    return {f"Err{''.join(map(str.capitalize, each.split('_')))}": each for each in (*ERROR_CLASSES, *_OWN_CLASSES)}


def _write_error_classes() -> str:
    rows = [[name, "ErrorClass", f"= {quote(each)}"] for name, each in list_error_constants().items()]
    lines = ["", "// The classes of errors.", "const (", *align_columns(rows), ")", ""]
    return "\n".join(lines)


def _write_tool(tool: ToolPlan, scope: PackageScope) -> SourceFile:
    name = tool.type_name
    takes = f"ctx context.Context, input {name}Input, options ...CallOptions"
    lines = [
        *write_comment([f"{name} calls the tool {one_line(tool.name)}.", tool.description]),
        f"func (c *Client) {name}({takes}) ({name}Output, error) {{",
        f"\treturn call[{name}Output](ctx, c, {quote(tool.name)}, input, options)",
        "}",
        "",
        *write_types(tool, scope),
    ]
    path = f"{PACKAGE}/{safe_stem(tool.stem)}_gen.go"
    return SourceFile(path, write_source(write_header(tool), PACKAGE, lines), "generated", tool.tool_id)


def _write_page(plan: StubPlan, module: str) -> str:
    name = next((tool.type_name for tool in plan.tools), "")
    call = f"result, err := client.{name}(ctx, {PACKAGE}.{name}Input{{}})" if name else "// a method for each tool"
    return f"""# {module}

The package `{module}/{PACKAGE}` calls tools that Ferrule serves: a method for each, with typed input and output.

```go
client, err := {PACKAGE}.NewClient("", "") // as FERRULE_URL and FERRULE_TOKEN say
{call}
```

Say where Ferrule is: `ferrule serve` listens at http://127.0.0.1:8787. A call that fails gives a `CallError`, and `errors.Is`
tells its class: `errors.Is(err, {PACKAGE}.ErrPermissionDenied)`. One that waits for a person gives `ErrPending`.

Generated files end in `_gen.go`: `ferrule gen` writes them anew when a definition changes.
"""
