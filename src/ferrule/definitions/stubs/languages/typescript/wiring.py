"""Writes what puts tools together: the tool box, the services that it makes, and the settings (ADL-45)."""

from __future__ import annotations

from ferrule.contracts.language import StubPlan
from ferrule.definitions.stubs.identifiers import UniqueNames
from ferrule.definitions.stubs.languages.typescript.definitions import name_variables
from ferrule.definitions.stubs.languages.typescript.surroundings import TypeScriptSurroundings
from ferrule.definitions.stubs.languages.typescript.text import (
    SHARED,
    CallText,
    quote,
    quote_property,
    write_call,
    write_comment,
    write_import,
    write_line,
    write_lines,
    write_list,
    write_literal,
    write_scalar,
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


def write_tool_box(plan: StubPlan, around: TypeScriptSurroundings) -> str:
    """Returns `src/tools/index.ts`."""
    named = name_variables(plan)
    makers = {tool.stem: f"create{tool.type_name}Tool" for tool in plan.tools if not tool.builtin}
    imports = [
        write_import(["type Config"], "../config.js"),
        *([write_import(["remoteTool"], "../ferrule/remote.js")] if len(makers) < len(plan.tools) else []),
        write_import(["ToolBox", "type Logger"], "../ferrule/tool.js"),
    ]
    lines = []
    factories = UniqueNames(each.variable for each in around.used)
    for each in around.used:
        factory = factories.give(each.factory, f"{each.factory}Service")
        alias = each.factory if factory == each.factory else f"{each.factory} as {factory}"
        imports.append(write_import([alias], f"../services/{each.module}.js"))
        lines.append(write_call((factory, ["logger", "config"]), "  ", f"const {each.variable} = "))
    lines.append("  const toolBox = new ToolBox();\n")
    for tool in plan.tools:
        definition = f"{named[tool.stem]}Definition"
        if tool.builtin:
            work: CallText = ("remoteTool", [definition])
        else:
            imports.append(write_import([makers[tool.stem]], f"./{tool.stem}.js"))
            work = (makers[tool.stem], [each.argument for each in around.dependencies(tool)])
        imports.append(write_import([definition], f"./generated/{tool.stem}.js"))
        lines.append(write_call(("toolBox.add", [definition, work]), "  "))
    kinds = {each.kind for tool in plan.tools for each in tool.inject}
    logger = "logger" if around.used or "logger" in kinds else "_logger"
    config = "config" if around.used or kinds & {"config", "section"} else "_config"
    begins = write_list("export function buildToolBox(", [f"{logger}: Logger", f"{config}: Config"], "): ToolBox {")
    words = write_comment(["All tools, ready to be run. Services are made once."])
    return "\n".join((SHARED, "".join(imports), f"{words}{begins}{''.join(lines)}  return toolBox;\n}}\n"))


def write_service(found: ServiceNames) -> str:
    """Returns the file of a service, which a person writes."""
    imports = write_import(["type Config"], "../config.js") + write_import(["type Logger"], "../ferrule/tool.js")
    words = write_comment(write_lines(found.service.description) or ["What tools use of the service."])
    begins = write_list(
        f"export function {found.factory}(", ["logger: Logger", "config: Config"], f"): {found.interface} {{"
    )
    return "\n".join(
        (
            imports,
            f"{words}export interface {found.interface} {{\n  // TODO: what tools need.\n}}\n",
            f"/** Makes the service, when the tool box is built. */\n{begins}  // TODO: make it instead.\n  return {{}};\n}}\n",
        )
    )


def write_config(around: TypeScriptSurroundings) -> str:
    """Returns `src/config.ts`: types are what `loadConfig` returns."""
    sections = around.sections.values()
    settings = "".join(map(_write_settings, sections))
    logger = "logger" if "variable(" in settings else "_logger"
    body = f"  return {{\n{settings}  }};\n" if settings else "  return {};\n"
    loading = f"export function loadConfig({logger}: Logger) {{\n{body}}}\n"
    types = [write_line(f"export type {each.type} = Config[{quote(each.section.name)}];") for each in sections]
    return "\n".join(
        (
            SHARED,
            write_import(["type Logger"], "./ferrule/tool.js"),
            f"{write_comment(['The settings of the agent file, with the environment in its place.'])}{loading}",
            f"export type Config = ReturnType<typeof loadConfig>;\n{''.join(types)}",
            *([_READING] if logger == "logger" else []),
        )
    )


def _write_settings(found: SectionNames) -> str:
    value = write_literal(dict(found.section.settings), "    ", _write_setting)
    return write_line(f"{quote_property(found.section.name)}: {value},", "    ")


def _write_setting(value: JsonValue) -> str:
    """Returns a value of the agent file, with the environment's part of it."""
    if isinstance(value, int) and abs(value) > SAFE:
        return f"{value}n"
    if not has_variables(value):
        return write_scalar(value)
    parts = split_setting(value)
    if len(parts) == 1 and isinstance(parts[0], Variable):
        return _read(parts[0])
    return f"`{''.join(_escape_template(each) if isinstance(each, str) else f'${{{_read(each)}}}' for each in parts)}`"


def _read(variable: Variable) -> str:
    otherwise = [] if variable.otherwise is None else [quote(variable.otherwise)]
    return f"variable({', '.join(['logger', quote(variable.name), *otherwise])})"


def _escape_template(text: str) -> str:
    """Returns a text as a part of a template."""
    inside = quote(text + "'")[1:-2] if '"' in text else quote(text)[1:-1]
    return inside.replace('\\"', '"').replace("`", "\\`").replace("${", "\\${")
