"""Writes what puts tools together: the tool box, the services that it makes, and the settings (ADL-45)."""

from __future__ import annotations

from ferrule.contracts.language import StubPlan
from ferrule.definitions.stubs.identifiers import UniqueNames
from ferrule.definitions.stubs.languages.typescript.definitions import variables
from ferrule.definitions.stubs.languages.typescript.surroundings import TypeScriptSurroundings
from ferrule.definitions.stubs.languages.typescript.text import (
    SHARED,
    Call,
    call,
    comment,
    imported,
    listed,
    literal,
    own_line,
    property_name,
    scalar,
    string,
    write_lines,
)
from ferrule.definitions.stubs.languages.typescript.types import SAFE
from ferrule.definitions.stubs.surroundings import SectionNames, ServiceNames, Variable, has_variables, split_setting
from ferrule.model.value import JsonValue

_READING = """\
/** An environment variable; one that is not set is told, and empty. */
function variable(logger: Logger, name: string, otherwise?: string): string {
  const value = process.env[name] || otherwise;
  if (value === undefined) {
    logger.warn(`the environment variable ${name} is not set`);
  }
  return value ?? "";
}
"""


def tool_box(plan: StubPlan, around: TypeScriptSurroundings) -> str:
    """Returns `src/tools/index.ts`."""
    named = variables(plan)
    makers = {tool.stem: f"create{tool.type_name}Tool" for tool in plan.tools if not tool.builtin}
    imports = [
        imported(["type Config"], "../config.js"),
        *([imported(["remoteTool"], "../ferrule/remote.js")] if len(makers) < len(plan.tools) else []),
        imported(["ToolBox", "type Logger"], "../ferrule/tool.js"),
    ]
    lines = []
    factories = UniqueNames(each.variable for each in around.used)
    for each in around.used:
        factory = factories.give(each.factory, f"{each.factory}Service")
        alias = each.factory if factory == each.factory else f"{each.factory} as {factory}"
        imports.append(imported([alias], f"../services/{each.module}.js"))
        lines.append(call((factory, ["logger", "config"]), "  ", f"const {each.variable} = "))
    lines.append("  const toolBox = new ToolBox();\n")
    for tool in plan.tools:
        definition = f"{named[tool.stem]}Definition"
        if tool.builtin:
            work: Call = ("remoteTool", [definition])
        else:
            imports.append(imported([makers[tool.stem]], f"./{tool.stem}.js"))
            work = (makers[tool.stem], [each.argument for each in around.dependencies(tool)])
        imports.append(imported([definition], f"./generated/{tool.stem}.js"))
        lines.append(call(("toolBox.add", [definition, work]), "  "))
    kinds = {each.kind for tool in plan.tools for each in tool.inject}
    logger = "logger" if around.used or "logger" in kinds else "_logger"
    config = "config" if around.used or kinds & {"config", "section"} else "_config"
    begins = listed("export function buildToolBox(", [f"{logger}: Logger", f"{config}: Config"], "): ToolBox {")
    words = comment(["All tools, ready to be run. Services are made once."])
    return "\n".join((SHARED, "".join(imports), f"{words}{begins}{''.join(lines)}  return toolBox;\n}}\n"))


def service(found: ServiceNames) -> str:
    """Returns the file of a service, which a person writes."""
    imports = imported(["type Config"], "../config.js") + imported(["type Logger"], "../ferrule/tool.js")
    words = comment(write_lines(found.service.description) or ["What tools use of the service."])
    begins = listed(
        f"export function {found.factory}(", ["logger: Logger", "config: Config"], f"): {found.interface} {{"
    )
    return "\n".join(
        (
            imports,
            f"{words}export interface {found.interface} {{\n  // TODO: what tools need.\n}}\n",
            f"/** Makes the service, when the tool box is built. */\n{begins}  // TODO: make it instead.\n  return {{}};\n}}\n",
        )
    )


def config(around: TypeScriptSurroundings) -> str:
    """Returns `src/config.ts`: types are what `loadConfig` returns."""
    sections = around.sections.values()
    settings = "".join(map(_settings, sections))
    logger = "logger" if "variable(" in settings else "_logger"
    body = f"  return {{\n{settings}  }};\n" if settings else "  return {};\n"
    loading = f"export function loadConfig({logger}: Logger) {{\n{body}}}\n"
    types = [own_line(f"export type {each.type} = Config[{string(each.section.name)}];") for each in sections]
    return "\n".join(
        (
            SHARED,
            imported(["type Logger"], "./ferrule/tool.js"),
            f"{comment(['The settings of the agent file, with the environment in its place.'])}{loading}",
            f"export type Config = ReturnType<typeof loadConfig>;\n{''.join(types)}",
            *([_READING] if logger == "logger" else []),
        )
    )


def _settings(found: SectionNames) -> str:
    value = literal(dict(found.section.settings), "    ", _setting)
    return own_line(f"{property_name(found.section.name)}: {value},", "    ")


def _setting(value: JsonValue) -> str:
    """Returns a value of the agent file, with the environment's part of it."""
    if isinstance(value, int) and abs(value) > SAFE:
        return f"{value}n"
    if not has_variables(value):
        return scalar(value)
    parts = split_setting(value)
    if len(parts) == 1 and isinstance(parts[0], Variable):
        return _read(parts[0])
    return f"`{''.join(_plain(each) if isinstance(each, str) else f'${{{_read(each)}}}' for each in parts)}`"


def _read(variable: Variable) -> str:
    otherwise = [] if variable.otherwise is None else [string(variable.otherwise)]
    return f"variable({', '.join(['logger', string(variable.name), *otherwise])})"


def _plain(text: str) -> str:
    """Returns a text as a part of a template."""
    inside = string(text + "'")[1:-2] if '"' in text else string(text)[1:-1]
    return inside.replace('\\"', '"').replace("`", "\\`").replace("${", "\\${")
