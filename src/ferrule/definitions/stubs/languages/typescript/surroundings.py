"""Writes what TypeScript tools are given as parameters of their makers (ADL-45)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ferrule.contracts.language import StubPlan, ToolPlan
from ferrule.definitions.stubs.identifiers import UniqueNames
from ferrule.definitions.stubs.languages.typescript.text import KEYWORDS, camel_style, pascal_style, quote, quote_member
from ferrule.definitions.stubs.surroundings import NamedParameter, Naming, SectionNames, ToolSurroundings

_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,80}")
_OWN_NAMES = "Config Logger ToolBox config logger remoteTool toolBox"
"""What the file that makes all tools declares and imports already."""


class MakerParameter(NamedTuple):
    """A parameter of a tool's maker."""

    name: str
    type: str
    source: str
    """The module of the type, from `src`."""
    argument: str
    """What the tool box passes."""


class TypeScriptSurroundings(ToolSurroundings):
    """The services and settings of a plan."""

    def __init__(self, plan: StubPlan, definitions: Iterable[str] = ()) -> None:
        style = camel_style(plan.project.acronyms)
        tools = [f"{tool.type_name}Tool" for tool in plan.tools]
        naming = Naming(
            values=style,
            types=pascal_style(plan.project.acronyms),
            factories=style,
            fields=style,
            modules=_name_files,
            no_types={"Config", "Logger", "Promise", *tools},
            no_parameters={"input", "call"},
            no_variables={*_OWN_NAMES.split(), *KEYWORDS, *(f"create{tool}" for tool in tools), *definitions},
        )
        super().__init__(plan, naming)

    def dependencies(self, tool: ToolPlan) -> list[MakerParameter]:
        """Returns the parameters of a tool, in the order of its definition."""
        return [self._dependency(each) for each in self.parameters(tool)]

    def _dependency(self, given: NamedParameter) -> MakerParameter:
        name, injected = given
        match injected.kind:
            case "logger":
                return MakerParameter(name, "Logger", "ferrule/tool", "logger")
            case "config":
                return MakerParameter(name, "Config", "config", "config")
            case "section":
                section = self.sections[injected.name]
                return MakerParameter(name, section.type, "config", access_section(section))
            case _:
                service = self.services[injected.name]
                return MakerParameter(name, service.interface, f"services/{service.module}", service.variable)


def access_section(names: SectionNames) -> str:
    """Writes how a group of settings is reached."""
    name = names.section.name
    key = quote_member(name)
    return f"config.{key}" if key == name else f"config[{quote(name)}]"


def _name_files(names: Iterable[str]) -> dict[str, str]:
    """Names the files of services: what the agent file calls them, where a file can be called so."""
    style, taken, found = camel_style(frozenset()), UniqueNames(), dict[str, str]()
    for name in names:
        plain = name if _FILE.fullmatch(name) else style.make(name)
        # Some disks do not tell capitals apart.
        unique = taken.give(plain.lower(), f"{plain.lower()}_service")
        found[name] = plain if unique == plain.lower() else unique
    return found
