"""The registration of all tools, in the order of the definitions (ADL-43)."""

from __future__ import annotations

from ferrule.contracts.language import Plan, SourceFile, ToolPlan
from ferrule.definitions.stubs.languages.go.files import SHARED, source
from ferrule.definitions.stubs.languages.go.surroundings import Package, Surroundings
from ferrule.definitions.stubs.languages.go.text import quoted
from ferrule.definitions.stubs.languages.go.tools import PACKAGE


def registry_file(plan: Plan, around: Surroundings) -> SourceFile:
    """What makes every tool, and each service that one of them needs once."""
    takes = "logger *slog.Logger, cfg *config.Config" if around.needs_config else "logger *slog.Logger"
    lines = [
        "// Tools makes all tools, in the order of the definitions.",
        f"func Tools({takes}) ([]Tool, error) {{",
        *(line for package in around.used for line in _service(package, around)),
        "\treturn []Tool{",
        *(f"\t\t{_made(tool, around)}," for tool in plan.tools),
        "\t}, nil",
        "}",
    ]
    standard = ["log/slog", *(["fmt"] if around.used else [])]
    imports = [around.service_import(each) for each in around.used]
    if around.needs_config:
        imports.append(around.config_import)
    return SourceFile(f"{PACKAGE}/registry_gen.go", source(SHARED, PACKAGE, lines, standard, imports), "generated")


def _service(package: Package, around: Surroundings) -> list[str]:
    variable = around.variables[package.service.name]
    problem = quoted(f"the service {package.service.name} cannot be made: ".replace("%", "%%") + "%w")
    return [
        f"\t{variable}, err := {package.name}.{package.factory}(logger, cfg)",
        "\tif err != nil {",
        f"\t\treturn nil, fmt.Errorf({problem}, err)",
        "\t}",
    ]


def _made(tool: ToolPlan, around: Surroundings) -> str:
    if tool.builtin:
        return f"New{tool.type_name}Tool()"
    return f"New{tool.type_name}Tool({', '.join(each.argument for each in around.dependencies(tool))})"
