"""What tools are given: the settings, the services, and how tools name them."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import NamedTuple

from ferrule.contracts.language import Injected, Project, Service, StubPlan, ToolPlan
from ferrule.definitions.stubs.identifiers import ACRONYMS, Style, identifiers, pascal, words
from ferrule.definitions.stubs.languages.go.names import (
    folder_style,
    lower_first,
    package_name,
    safe_stem,
    support_names,
    take_name,
    unexported,
)
from ferrule.definitions.stubs.languages.go.text import quote

_MODULE_PART = re.compile(r"[A-Za-z0-9_-](?:[A-Za-z0-9._~-]*[A-Za-z0-9_-])?")
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_STANDARD_WORDS = """
    archive bufio builtin bytes cmd cmp compress container context crypto database debug embed encoding errors
    expvar flag fmt go hash html image index internal io iter log main maps math mime net os path plugin reflect
    regexp runtime slices sort std strconv strings structs sync syscall test testing text time unicode unique unsafe
    vendor weak
"""
LOGGER = "*slog.Logger"
_STANDARD = frozenset(_STANDARD_WORDS.split())


class Package(NamedTuple):
    """The package of a service."""

    service: Service
    folder: str
    name: str
    interface: str
    implementation: str
    factory: str


class Dependency(NamedTuple):
    """What a tool is given, as a field and a parameter."""

    field: str
    go: str
    argument: str
    """What the registry gives."""
    imported: str = ""


class Surroundings:
    """The packages beside the tools' own."""

    def __init__(self, plan: StubPlan) -> None:
        self.project = plan.project
        self.module = module_of(plan.project)
        self.acronyms = plan.project.acronyms | ACRONYMS
        self.packages = {each.service.name: each for each in _packages(plan.project, self.acronyms)}
        self.sections = section_types(plan.project, self.acronyms)
        self.injected = {each for tool in plan.tools for each in tool.inject}
        self.needs_config = bool(plan.project.services or plan.project.sections) or any(
            each.kind in ("config", "section") for each in self.injected
        )
        makers = {f"{lower_first(tool.type_name)}Tool" for tool in plan.tools}
        self.variables = _variables(self.packages, self.acronyms, makers | support_names())
        self.used = [self.packages[each.name] for each in self._services() if each.name in self.packages]

    def _services(self) -> list[Service]:
        names = {each.name for each in self.injected if each.kind == "service"}
        return [each for each in self.project.services if each.name in names]

    @property
    def config_import(self) -> str:
        """Returns the import of the settings."""
        return quote(f"{self.module}/config")

    def service_import(self, package: Package) -> str:
        """Returns the import of a service."""
        path = quote(f"{self.module}/internal/{package.folder}")
        return path if package.name == package.folder else f"{package.name} {path}"

    def dependencies(self, tool: ToolPlan) -> list[Dependency]:
        """Returns what a tool is given, in the order of its definition.

        A section or a service that the agent file does not have is left out: there is no type of it.
        """
        taken = {"ctx", "input", "tool", *(package.name for package in self.packages.values())}
        return [self._dependency(each, taken) for each in tool.inject if self._is_known(each)]

    def _is_known(self, injected: Injected) -> bool:
        if injected.kind == "service":
            return injected.name in self.packages
        return injected.kind != "section" or injected.name in self.sections

    def _dependency(self, injected: Injected, taken: set[str]) -> Dependency:
        match injected.kind:
            case "logger":
                return Dependency(take_name("logger", taken), LOGGER, "logger")
            case "config":
                return Dependency(take_name("cfg", taken), "*config.Config", "cfg", self.config_import)
            case "section":
                section = self.sections[injected.name]
                field = take_name(lower_first(section.type), taken)
                return Dependency(field, f"*config.{section.type}", f"&cfg.{section.field}", self.config_import)
            case _:
                package = self.packages[injected.name]
                variable = self.variables[injected.name]
                go = f"{package.name}.{package.interface}"
                return Dependency(take_name(variable, taken), go, variable, self.service_import(package))


def _variables(packages: dict[str, Package], acronyms: frozenset[str], others: Set[str]) -> dict[str, str]:
    """Names each service where it is given: as in the agent file, or like its interface where a package has that name."""
    taken = {"logger", "cfg", "err", *others, *(each.name for each in packages.values())}
    style = unexported(acronyms)
    found: dict[str, str] = {}
    for name, package in packages.items():
        ways = (style.made(name), lower_first(package.interface), f"{lower_first(package.interface)}Service")
        found[name] = take_name(next((way for way in ways if way not in taken), ways[-1]), taken, "Service")
    return found


def module_of(project: Project) -> str:
    """Returns the path of the Go module: the agent file's, or one made of the project's name."""
    parts = project.module.split("/")
    if project.module and all(_MODULE_PART.fullmatch(part) for part in parts) and parts[0] not in _STANDARD:
        return project.module
    made = "-".join(words(project.name))
    return f"{made}-tools" if made in _STANDARD else made


def _packages(project: Project, acronyms: frozenset[str]) -> list[Package]:
    folders = identifiers((each.name for each in project.services), folder_style())
    taken: set[str] = set()
    return [_package(each, safe_stem(folders[each.name]), acronyms, taken) for each in project.services]


def _package(service: Service, folder: str, acronyms: frozenset[str], packages: set[str]) -> Package:
    taken: set[str] = {"config", "slog"}
    interface = take_name(_exported(service.interface, service.name, acronyms), taken)
    implementation = take_name(lower_first(interface), taken, "Impl")
    factory = take_name(_exported(service.factory, f"new {service.interface or service.name}", acronyms), taken)
    return Package(service, folder, package_name(folder, packages), interface, implementation, factory)


def _exported(written: str, otherwise: str, acronyms: frozenset[str]) -> str:
    if _IDENTIFIER.fullmatch(written):
        return written[0].upper() + written[1:]
    return Style(pascal, acronyms=acronyms).made(written or otherwise)


class SectionType(NamedTuple):
    """A group of settings in Go."""

    field: str
    type: str


def section_types(project: Project, acronyms: frozenset[str]) -> dict[str, SectionType]:
    """Names the field and the type of each section."""
    names = identifiers((each.name for each in project.sections), Style(pascal, acronyms=acronyms))
    return {name: SectionType(field, f"{field}Config") for name, field in names.items()}
