"""Writes what puts tools together: the tool box, the services that it makes, and the settings (ADL-45)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ferrule.contracts.language import Injected, StubPlan
from ferrule.definitions.stubs.languages.typescript.definitions import variables
from ferrule.definitions.stubs.languages.typescript.dependencies import Dependencies, SectionType, ServiceFile
from ferrule.definitions.stubs.languages.typescript.text import (
    KEYWORDS,
    SHARED,
    Call,
    Names,
    call,
    camel_style,
    comment,
    imported,
    listed,
    literal,
    own_line,
    property_name,
    said,
    scalar,
    string,
)
from ferrule.definitions.stubs.languages.typescript.types import SAFE
from ferrule.model.value import JsonValue

_VARIABLE = re.compile(r"^\$([A-Za-z_][A-Za-z0-9_]*)$|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::?-([^}]*))?\}")
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


def tool_box(plan: StubPlan, dependencies: Dependencies) -> str:
    """Returns `src/tools/index.ts`."""
    named = variables(plan)
    makers = {tool.stem: f"create{tool.type_name}Tool" for tool in plan.tools if not tool.builtin}
    definitions = [f"{name}Definition" for name in named.values()]
    names = Names(
        (
            "Config",
            "Logger",
            "ToolBox",
            "config",
            "logger",
            "remoteTool",
            "toolBox",
            *makers.values(),
            *definitions,
            *KEYWORDS,
        )
    )
    imports = [
        imported(["type Config"], "../config.js"),
        *([imported(["remoteTool"], "../ferrule/remote.js")] if len(makers) < len(plan.tools) else []),
        imported(["ToolBox", "type Logger"], "../ferrule/tool.js"),
    ]
    services: dict[str, str] = {}
    lines = []
    for each in dependencies.needed:
        factory = names.give(each.factory, f"{each.factory}Service")
        alias = each.factory if factory == each.factory else f"{each.factory} as {factory}"
        imports.append(imported([alias], f"../services/{each.file}.js"))
        made = camel_style(plan.project.acronyms).made(each.service.name)
        services[each.service.name] = variable = names.give(made, f"{made}Service")
        lines.append(call((factory, ["logger", "config"]), "  ", f"const {variable} = "))
    lines.append("  const toolBox = new ToolBox();\n")
    for tool in plan.tools:
        definition = f"{named[tool.stem]}Definition"
        if tool.builtin:
            work: Call = ("remoteTool", [definition])
        else:
            imports.append(imported([makers[tool.stem]], f"./{tool.stem}.js"))
            work = (makers[tool.stem], [_argument(each, dependencies, services) for each in tool.inject])
        imports.append(imported([definition], f"./generated/{tool.stem}.js"))
        lines.append(call(("toolBox.add", [definition, work]), "  "))
    kinds = {each.kind for tool in plan.tools for each in tool.inject}
    logger = "logger" if services or "logger" in kinds else "_logger"
    config = "config" if services or kinds & {"config", "section"} else "_config"
    begins = listed("export function buildToolBox(", [f"{logger}: Logger", f"{config}: Config"], "): ToolBox {")
    words = comment(["All tools, ready to be run. Services are made once."])
    return "\n".join((SHARED, "".join(imports), f"{words}{begins}{''.join(lines)}  return toolBox;\n}}\n"))


def _argument(injected: Injected, dependencies: Dependencies, services: Mapping[str, str]) -> str:
    match injected.kind:
        case "logger" | "config":
            return injected.kind
        case "section":
            return next(each.access for each in dependencies.sections if each.section.name == injected.name)
        case "service":
            return services[injected.name]


def service(found: ServiceFile) -> str:
    """Returns the file of a service, which a person writes."""
    imports = imported(["type Config"], "../config.js") + imported(["type Logger"], "../ferrule/tool.js")
    words = comment(said(found.service.description) or ["What tools use of the service."])
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


def config(dependencies: Dependencies) -> str:
    """Returns `src/config.ts`: types are what `loadConfig` returns."""
    sections = dependencies.sections
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


def _settings(found: SectionType) -> str:
    value = literal(dict(found.section.settings), "    ", _setting)
    return own_line(f"{property_name(found.section.name)}: {value},", "    ")


def _setting(value: JsonValue) -> str:
    """Returns a value of the agent file, with the environment's part of it."""
    if isinstance(value, int) and abs(value) > SAFE:
        return f"{value}n"
    found = list(_VARIABLE.finditer(value)) if isinstance(value, str) else []
    if not isinstance(value, str) or not found:
        return scalar(value)
    if found[0][0] == value:
        return _read(found[0])
    ends = [0, *(each.end() for each in found)]
    texts = [value[end : each.start()] for end, each in zip(ends, found, strict=False)]
    parts = [f"{_plain(text)}${{{_read(each)}}}" for text, each in zip(texts, found, strict=True)]
    return f"`{''.join(parts)}{_plain(value[ends[-1] :])}`"


def _read(found: re.Match[str]) -> str:
    otherwise = [] if found[3] is None else [string(found[3])]
    return f"variable({', '.join(['logger', string(found[1] or found[2]), *otherwise])})"


def _plain(text: str) -> str:
    """Returns a text as a part of a template."""
    inside = string(text + "'")[1:-2] if '"' in text else string(text)[1:-1]
    return inside.replace('\\"', '"').replace("`", "\\`").replace("${", "\\${")
