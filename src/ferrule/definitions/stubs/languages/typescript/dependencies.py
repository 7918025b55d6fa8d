"""What tools are given: the services and the settings of a plan, with the names they have in source (ADL-45)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ferrule.contracts.language import Injected, Plan, Section, Service, ToolPlan
from ferrule.definitions.stubs.languages.typescript.text import (
    Names,
    camel_style,
    member_name,
    pascal_style,
    string,
    symbol,
)

_NOT_TYPES = ("NotImplementedError", "Promise", "Tool", "ToolCall", "contract", "createTool", "definition")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,80}")


class ServiceFile(NamedTuple):
    """A service with its names."""

    service: Service
    file: str
    """Without its ending, below `src/services`."""
    interface: str
    factory: str


class SectionType(NamedTuple):
    """A group of settings with its names."""

    section: Section
    type: str
    """`DatabaseConfig`."""
    access: str
    """How it is reached: `config.database`."""


class Dependency(NamedTuple):
    """A parameter of what makes a tool."""

    name: str
    type: str
    imported: str
    """What is imported for the type: its name, or `Name as Other`."""
    source: str
    """Where from, beginning at `src`."""
    injected: Injected


class Dependencies:
    """The services and settings of a plan."""

    def __init__(self, plan: Plan) -> None:
        self._camel = camel_style(plan.project.acronyms)
        self._pascal = pascal_style(plan.project.acronyms)
        used = [each for tool in plan.tools for each in tool.inject]
        self.services = self._service_files(plan.project.services, used)
        self.sections = self._section_types(plan.project.sections, used)
        self.needed = tuple(
            each for each in self.services if any(one == Injected("service", each.service.name) for one in used)
        )
        """The services that tools are given."""

    def of(self, tool: ToolPlan) -> list[Dependency]:
        """The parameters of a tool, in the order of its definition."""
        names = Names(("args", "call", "contract", "createTool", "definition", "input", "run"))
        types = Names((*_NOT_TYPES, *self._types(tool)))
        return [self._dependency(each, names, types) for each in tool.inject]

    def _types(self, tool: ToolPlan) -> Iterable[str]:
        taken = {f"{tool.type_name}Contract", tool.input.root.name}
        taken |= {tool.output.root.name} if tool.output is not None else set()
        kinds = {each.kind for each in tool.inject}
        taken |= {"Logger"} if "logger" in kinds else set()
        return taken | ({"Config"} if "config" in kinds else set())

    def _dependency(self, injected: Injected, names: Names, types: Names) -> Dependency:
        match injected.kind:
            case "logger":
                return Dependency(names.given("logger", "logger_"), "Logger", "Logger", "ferrule/tool", injected)
            case "config":
                return Dependency(names.given("config", "config_"), "Config", "Config", "config", injected)
            case "section":
                section = next(each for each in self.sections if each.section.name == injected.name)
                name = names.given(f"{self._camel.made(injected.name).removesuffix('_')}Config")
                return _typed(name, section.type, types.given(section.type), "config", injected)
            case "service":
                service = next(each for each in self.services if each.service.name == injected.name)
                made = self._camel.made(injected.name)
                local = types.given(service.interface, f"{service.interface}Service")
                name = names.given(made, f"{made}Service")
                return _typed(name, service.interface, local, f"services/{service.file}", injected)

    def _service_files(self, services: Iterable[Service], used: list[Injected]) -> tuple[ServiceFile, ...]:
        known = {each.name: each for each in services}
        for each in used:
            if each.kind == "service" and each.name not in known:
                known[each.name] = Service(name=each.name, interface="", factory="")
        files = Names()
        return tuple(self._service_file(each, files) for each in known.values())

    def _service_file(self, service: Service, files: Names) -> ServiceFile:
        interface = symbol(service.interface, service.name, self._pascal)
        factory = symbol(service.factory, f"new {service.name}", self._camel)
        plain = service.name if _FILE.fullmatch(service.name) else self._camel.made(service.name)
        # Some disks do not tell capitals apart.
        unique = files.given(plain.lower(), f"{plain.lower()}_service")
        file = plain if unique == plain.lower() else unique
        if interface in ("Config", "Logger"):
            interface += "Service"
        return ServiceFile(service, file, interface, _lowered(factory))

    def _section_types(self, sections: Iterable[Section], used: list[Injected]) -> tuple[SectionType, ...]:
        known = {each.name: each for each in sections}
        for each in used:
            if each.kind == "section" and each.name not in known:
                known[each.name] = Section(name=each.name, settings={})
        names = Names()
        return tuple(
            SectionType(each, names.given(f"{self._pascal.made(each.name)}Config"), _access(each.name))
            for each in known.values()
        )


def _typed(name: str, exported: str, local: str, source: str, injected: Injected) -> Dependency:
    imported = exported if exported == local else f"{exported} as {local}"
    return Dependency(name, local, imported, source, injected)


def _access(name: str) -> str:
    key = member_name(name)
    return f"config.{key}" if key == name else f"config[{string(name)}]"


def _lowered(name: str) -> str:
    return name[0].lower() + name[1:]
