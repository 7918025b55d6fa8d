"""Writes what makes the tools a program: their registration, their services, the module, `main.go` and a page about it.

Tools are registered in the order of the definitions (ADL-43); each service is a package of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ferrule.contracts.language import SourceFile, StubPlan, ToolPlan
from ferrule.definitions.stubs.languages.go.names import lower_first
from ferrule.definitions.stubs.languages.go.surroundings import GoSurroundings
from ferrule.definitions.stubs.languages.go.text import (
    SHARED,
    align_columns,
    one_line,
    quote,
    write_comment,
    write_source,
)
from ferrule.definitions.stubs.languages.go.tools import PACKAGE, name_maker
from ferrule.definitions.stubs.surroundings import ServiceNames

GO = "1.24"
"""The oldest Go that compiles the stubs."""
_NEWER = re.compile(r"1\.([0-9]{2})(\.[0-9]{1,3})?")
_MODULE_WORDS = """\
// The files that ferrule gen writes import one another by this name. When you change it, run ferrule gen again.
"""
_MODULE = re.compile(rb'(?m)^module[ \t]+"?([A-Za-z0-9][A-Za-z0-9._~/-]*)"?[ \t]*(//.*)?$')


def write_project(plan: StubPlan, around: GoSurroundings) -> list[SourceFile]:
    """Writes the files of a project."""
    return [
        write_module(around.module, plan.project.language_version, _MODULE_WORDS),
        SourceFile("main.go", _write_main(plan, around), "generated"),
        SourceFile("README.md", _write_readme(plan, around), "yours"),
        SourceFile(".gitignore", "/bin/\n", "yours"),
    ]


def write_module(module: str, version: str, first: str = "") -> SourceFile:
    """Writes what makes a folder a Go module. It is the person's, who may need other modules. `version`: the agent file's."""
    newer = _NEWER.fullmatch(version)
    wanted = version if newer is not None and int(newer[1]) >= int(GO.partition(".")[2]) else GO
    return SourceFile("go.mod", f"{first}module {module}\n\ngo {wanted}\n", "yours")


def read_module(read: Callable[[str], bytes | None]) -> str:
    """Reads the module that a folder is, as its `go.mod` says."""
    found = _MODULE.search((read("go.mod") or b"").replace(b"\r\n", b"\n"))
    return found[1].decode() if found is not None else ""


def _write_main(plan: StubPlan, around: GoSurroundings) -> str:
    given = "logger, config.Load(logger)" if around.needs_config else "logger"
    name, version = quote(plan.project.name), quote(plan.project.version)
    lines = [
        "// main serves the tools over MCP: requests come in from standard input, answers go to standard output, and the log to",
        "// standard error.",
        "func main() {",
        "\tlogger := slog.New(slog.NewTextHandler(os.Stderr, nil))",
        f"\tall, err := tools.Tools({given})",
        "\tif err == nil {",
        f"\t\terr = tools.Serve(context.Background(), {name}, {version}, all, os.Stdin, os.Stdout)",
        "\t}",
        "\tif err != nil {",
        '\t\tlogger.Error("the server cannot go on", "error", err)',
        "\t\tos.Exit(1)",
        "\t}",
        "}",
    ]
    imports = [quote(f"{around.module}/{PACKAGE}"), *([around.config_import] if around.needs_config else [])]
    return write_source(SHARED, "main", lines, imports)


def _write_readme(plan: StubPlan, around: GoSurroundings) -> str:
    project = plan.project
    program = around.module.rpartition("/")[2]
    told = f"{_escape_markdown(project.description)}\n\n" if project.description.strip() else ""
    listed = "".join(f"- {_escape_markdown(tool.name)}\n" for tool in plan.tools)
    return f"""# {_escape_markdown(project.name)}

{told}Tools of an agent, written in Go and served over MCP:

{listed}
The work of each tool is in `tools/`, in the file without `_gen` in its name. `ferrule gen go` writes the other files anew
when a definition changes and leaves yours alone. They import one another by the name of
the module: `go.mod` says how to give it another one.

```console
go build -o bin/{program} .
go test ./...
```

`bin/{program}` speaks MCP over standard input and output. In the `ferrule.toml` of their workspace, this lets Ferrule run
the tools with it:

```toml
{plan.program_settings(program.replace(".", "-").replace("~", "-"), plan.workspace_path(f"bin/{program}"))}```
"""


def _escape_markdown(text: str) -> str:
    """Writes a text as one line of Markdown that means nothing but itself."""
    return "".join(f"\\{one}" if one in "\\`*_{}[]<>#|!&~" else one for one in one_line(text))


def write_registry(plan: StubPlan, around: GoSurroundings) -> SourceFile:
    """Writes what makes every tool, and each service that one of them needs once."""
    takes = "logger *slog.Logger, cfg *config.Config" if around.needs_config else "logger *slog.Logger"
    lines = [
        "// Tools makes all tools, in the order of the definitions.",
        f"func Tools({takes}) ([]Tool, error) {{",
        *(line for each in around.used for line in _write_service(each, around)),
        "\treturn []Tool{",
        *(f"\t\t{_write_call(tool, around)}," for tool in plan.tools),
        "\t}, nil",
        "}",
    ]
    imports = [around.service_import(each) for each in around.used]
    if around.needs_config:
        imports.append(around.config_import)
    return SourceFile(f"{PACKAGE}/registry_gen.go", write_source(SHARED, PACKAGE, lines, imports), "generated")


def _write_service(names: ServiceNames, around: GoSurroundings) -> list[str]:
    name = names.service.name
    problem = quote(f"the service {name} cannot be made: ".replace("%", "%%") + "%w")
    return [
        f"\t{names.variable}, err := {around.packages[name]}.{names.factory}(logger, cfg)",
        "\tif err != nil {",
        f"\t\treturn nil, fmt.Errorf({problem}, err)",
        "\t}",
    ]


def _write_call(tool: ToolPlan, around: GoSurroundings) -> str:
    if tool.builtin:
        return f"{name_maker(tool)}()"
    given = ", ".join(each.argument for each in around.dependencies(tool))
    return f"{name_maker(tool)}(New{tool.type_name}Tool({given}))"


def write_service(names: ServiceNames, around: GoSurroundings) -> SourceFile:
    """Writes the stub of a service (ADL-44)."""
    interface, impl = names.interface, f"{lower_first(names.interface)}Impl"
    lines = [
        *write_comment([names.service.description or f"{interface} is the service {names.service.name}."]),
        f"type {interface} interface {{",
        "\t// TODO: say what tools may ask of it.",
        "}",
        "",
        f"type {impl} struct {{",
        *align_columns([["logger", "*slog.Logger"], ["cfg", "*config.Config"]]),
        "}",
        "",
        f"// {names.factory} makes the service.",
        f"func {names.factory}(logger *slog.Logger, cfg *config.Config) ({interface}, error) {{",
        "\t// TODO: open what it needs.",
        f"\treturn &{impl}{{logger: logger, cfg: cfg}}, nil",
        "}",
    ]
    path = f"internal/{names.module}/{names.module}.go"
    package = around.packages[names.service.name]
    return SourceFile(path, write_source("", package, lines, [around.config_import]), "yours")
