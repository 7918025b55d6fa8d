"""Names what tools are given: the services and the settings of a plan (ADL-45)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ferrule.contracts.language import Injected, Section, Service, StubPlan, ToolPlan
from ferrule.definitions.stubs.identifiers import Style
from ferrule.definitions.stubs.languages.typescript.text import (
    KEYWORDS,
    Names,
    camel_style,
    member_name,
    pascal_style,
    string,
)

_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,80}")
_SYMBOL = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


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


class Dependencies:
    """The services and settings of a plan."""

    def __init__(self, plan: StubPlan) -> None:
        self._camel = camel_style(plan.project.acronyms)
        self._pascal = pascal_style(plan.project.acronyms)
        used = [each for tool in plan.tools for each in tool.inject]
        files, types = Names(), Names(["Config"])
        self.services = tuple(self._service_file(each, files) for each in _services(plan, used))
        self.sections = tuple(
            SectionType(each, types.give(f"{self._pascal.made(each.name)}Config"), _access(each.name))
            for each in _sections(plan, used)
        )
        self.needed = tuple(each for each in self.services if Injected("service", each.service.name) in used)
        """The services that tools are given."""

    def of(self, tool: ToolPlan) -> list[Dependency]:
        """Returns the parameters of a tool, in the order of its definition."""
        names = Names(("input", "call"))
        types = Names(("Config", "Logger", "Promise", f"{tool.type_name}Tool"))
        return [self._dependency(each, names, types) for each in tool.inject]

    def _dependency(self, injected: Injected, names: Names, types: Names) -> Dependency:
        match injected.kind:
            case "logger":
                return Dependency(names.give("logger"), "Logger", "Logger", "ferrule/tool")
            case "config":
                return Dependency(names.give("config"), "Config", "Config", "config")
            case "section":
                section = next(each for each in self.sections if each.section.name == injected.name)
                name = names.give(f"{self._camel.made(injected.name).removesuffix('_')}Config")
                return _dependency(name, section.type, types.give(section.type), "config")
            case "service":
                service = next(each for each in self.services if each.service.name == injected.name)
                made = self._camel.made(injected.name)
                local = types.give(service.interface, f"{service.interface}Service")
                return _dependency(
                    names.give(made, f"{made}Service"), service.interface, local, f"services/{service.file}"
                )

    def _service_file(self, service: Service, files: Names) -> ServiceFile:
        interface = _symbol(service.interface, service.name, self._pascal)
        factory = _symbol(service.factory, f"new {service.name}", self._camel)
        plain = service.name if _FILE.fullmatch(service.name) else self._camel.made(service.name)
        # Some disks do not tell capitals apart.
        unique = files.give(plain.lower(), f"{plain.lower()}_service")
        file = plain if unique == plain.lower() else unique
        interface += "Service" if interface in ("Config", "Logger") else ""
        factory = factory[0].lower() + factory[1:]
        return ServiceFile(service, file, interface, f"{factory}Service" if factory in KEYWORDS else factory)


def _services(plan: StubPlan, used: Sequence[Injected]) -> Iterable[Service]:
    known = {each.name: each for each in plan.project.services}
    for each in used:
        if each.kind == "service":
            known.setdefault(each.name, Service(name=each.name, interface="", factory=""))
    return known.values()


def _sections(plan: StubPlan, used: Sequence[Injected]) -> Iterable[Section]:
    known = {each.name: each for each in plan.project.sections}
    for each in used:
        if each.kind == "section":
            known.setdefault(each.name, Section(name=each.name, settings={}))
    return known.values()


def _symbol(text: str, otherwise: str, style: Style) -> str:
    """Returns a name that a definition gives, made legal where it is not."""
    is_legal = _SYMBOL.fullmatch(text) and len(text) <= style.longest and text not in KEYWORDS
    return text if is_legal else style.made(text or otherwise)


def _dependency(name: str, exported: str, local: str, source: str) -> Dependency:
    return Dependency(name, local, exported if exported == local else f"{exported} as {local}", source)


def _access(name: str) -> str:
    key = member_name(name)
    return f"config.{key}" if key == name else f"config[{string(name)}]"
