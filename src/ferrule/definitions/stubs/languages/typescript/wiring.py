"""What puts tools together: the tool box, the services it is built from, and the settings (ADL-45)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from ferrule.contracts.language import Injected, Plan, ToolNote
from ferrule.contracts.type_tree import Note
from ferrule.definitions.stubs.languages.typescript.dependencies import Dependencies, ServiceFile
from ferrule.definitions.stubs.languages.typescript.layout import LINE, After, Doc, Group, Indent, laid_out
from ferrule.definitions.stubs.languages.typescript.parts import SHARED, call, imported, signature, statement, unused
from ferrule.definitions.stubs.languages.typescript.text import (
    KEYWORDS,
    Names,
    camel_style,
    clause,
    comment,
    is_held,
    member_name,
    pointer_part,
    said,
    string,
)
from ferrule.model.value import JsonValue

_BOX = "All tools, ready to be run. Services are made once."


def tool_box(plan: Plan, dependencies: Dependencies) -> str:
    """`src/tools/index.ts`."""
    makers = [f"create{tool.type_name}Tool" for tool in plan.tools]
    names = Names(("Config", "Logger", "ToolBox", "buildToolBox", "config", "logger", "toolBox", *makers, *KEYWORDS))
    factories, variables, lines = {}, {}, []
    for each in dependencies.needed:
        factory = names.given(each.factory, f"{each.factory}Service")
        imported_as = each.factory if factory == each.factory else f"{each.factory} as {factory}"
        factories[each.file] = imported([imported_as], f"../services/{each.file}.js")
        made = camel_style(plan.project.acronyms).made(each.service.name)
        variables[each.service.name] = variable = names.given(made, f"{made}Service")
        doc = Group([f"const {variable} =", After(call(factory, ["logger", "config"]))])
        lines.append(statement(doc, 2))
    imports = [
        imported(["Config"], "../config.js", is_type=True),
        imported(["ToolBox", "type Logger"], "../ferrule/tool.js"),
        *factories.values(),
        *(
            imported([maker], f"./generated/{tool.stem}.js" if tool.builtin else f"./{tool.stem}.js")
            for tool, maker in zip(plan.tools, makers, strict=True)
        ),
    ]
    lines.append("  const toolBox = new ToolBox();\n")
    for tool, maker in zip(plan.tools, makers, strict=True):
        given = [_argument(each, dependencies, variables) for each in tool.inject]
        lines.append(statement(call("toolBox.add", [call(maker, given)]), 2))
    spare = _spare(plan, dependencies)
    if spare:
        lines.insert(0, unused(spare, 2))
    begins = signature("export function buildToolBox", ["logger: Logger", "config: Config"], "ToolBox")
    body = "".join((comment([_BOX]), begins, *lines, "  return toolBox;\n}\n"))
    return "\n".join((SHARED, "".join(imports), body))


def _spare(plan: Plan, dependencies: Dependencies) -> list[str]:
    """What the tool box is given and hands to nobody."""
    kinds = {each.kind for tool in plan.tools for each in tool.inject}
    if dependencies.needed:
        return []
    return [*([] if "logger" in kinds else ["logger"]), *([] if kinds & {"config", "section"} else ["config"])]


def _argument(injected: Injected, dependencies: Dependencies, variables: Mapping[str, str]) -> Doc:
    match injected.kind:
        case "logger" | "config":
            return injected.kind
        case "section":
            return next(each.access for each in dependencies.sections if each.section.name == injected.name)
        case "service":
            return variables[injected.name]


def service(found: ServiceFile) -> str:
    """A service that a person writes."""
    imports = imported(["Config"], "../config.js", is_type=True)
    imports += imported(["Logger"], "../ferrule/tool.js", is_type=True)
    begins = signature(f"export function {found.factory}", ["logger: Logger", "config: Config"], found.interface)
    words = said(found.service.description) or ["What tools use of the service."]
    made = f"  // TODO: make it instead.\n{unused(['logger', 'config'], 2)}  return {{}};\n}}\n"
    return "\n".join(
        (
            imports,
            f"{comment(words)}export interface {found.interface} {{\n  // TODO: what tools need.\n}}\n",
            f"/** Makes the service, when the tool box is built. */\n{begins}{made}",
        )
    )


def config(dependencies: Dependencies) -> str:
    """`src/config.ts`."""
    sections = {each.section.name: dict(each.section.settings) for each in dependencies.sections}
    given = string(msgspec.json.encode(sections).decode())
    blocks = [_section(each.type, each.section.name, each.section.settings) for each in dependencies.sections]
    members = "".join(f"  {member_name(each.section.name)}: {each.type};\n" for each in dependencies.sections)
    body = f"{{\n{members}}}" if members else "{}"
    text = laid_out(Group(["const GIVEN =", Group(Indent([LINE, given])), ";"]))
    return "\n".join(
        (
            SHARED,
            imported(["readSettings"], "./ferrule/settings.js")
            + imported(["Logger"], "./ferrule/tool.js", is_type=True),
            *blocks,
            f"{comment(['All settings.'])}export interface Config {body}\n",
            f"{comment(['As the agent file gives them. `${NAME}` is an environment variable.'])}{text}\n",
            _LOADING,
        )
    )


_LOADING = """\
/** The settings, with the environment's part of them. */
export function loadConfig(logger?: Logger): Config {
  return readSettings(GIVEN, (variable) => {
    logger?.warn(`the environment variable ${variable} is not set`);
  }) as Config;
}
"""


def _section(name: str, called: str, settings: Mapping[str, JsonValue]) -> str:
    members = "".join(f"  {member_name(key)}: {_type(value)};\n" for key, value in settings.items())
    body = f"{{\n{members}}}" if members else "{}"
    return f"{comment([f'The settings called {clause(called)}.'])}export interface {name} {body}\n"


def _type(value: JsonValue) -> str:
    match value:
        case str():
            return "string"
        case bool():
            return "boolean"
        case int():
            return "number" if is_held(value) else "bigint"
        case float():
            return "number"
        case list():
            return "unknown[]"
        case dict():
            return "{ [name: string]: unknown }"
        case _:
            return "unknown"


def setting_notes(plan: Plan, dependencies: Dependencies) -> Iterator[ToolNote]:
    """Settings that are no numbers though the agent file writes some, told of the first tool that is given them."""
    for each in dependencies.sections:
        given = {Injected("section", each.section.name), Injected("config")}
        found = [tool for tool in plan.tools if given & {*tool.inject}] or plan.tools
        for pointer in _large(dict(each.section.settings), f"#/config/{pointer_part(each.section.name)}"):
            for tool in found[:1]:
                yield ToolNote(tool.tool_id, Note(pointer, "no number can hold this integer; it is a bigint"))


def _large(value: JsonValue, pointer: str) -> Iterator[str]:
    match value:
        case int() if not is_held(value):
            yield pointer
        case dict():
            for name, item in value.items():
                yield from _large(item, f"{pointer}/{pointer_part(name)}")
        case list():
            for index, item in enumerate(value):
                yield from _large(item, f"{pointer}/{index}")
