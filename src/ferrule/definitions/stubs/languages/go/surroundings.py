"""What tools are given: the settings, the services, and how tools name them."""

from __future__ import annotations

import re
from typing import NamedTuple

from ferrule.contracts.language import Injected, Plan, Project, Service, ToolPlan
from ferrule.definitions.stubs.identifiers import ACRONYMS, Style, identifiers, pascal, words
from ferrule.definitions.stubs.languages.go.names import folder_style, package_style, safe_stem, unexported
from ferrule.definitions.stubs.languages.go.text import quoted

_MODULE_PART = re.compile(r"[A-Za-z0-9_-](?:[A-Za-z0-9._~-]*[A-Za-z0-9_-])?")
_FUNCTION = re.compile(r"(?:make|decode|encode|schemaOf)[A-Z]")
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

    def __init__(self, plan: Plan) -> None:
        self.project = plan.project
        self.module = module_of(plan.project)
        self.acronyms = plan.project.acronyms | ACRONYMS
        self.packages = {each.service.name: each for each in _packages(plan.project, self.acronyms)}
        self.sections = section_types(plan.project, self.acronyms)
        self.injected = {each for tool in plan.tools for each in tool.inject}
        self.needs_config = bool(plan.project.services or plan.project.sections) or any(
            each.kind in ("config", "section") for each in self.injected
        )
        self.variables = _variables(self.packages)
        self.used = [self.packages[each.name] for each in self._services() if each.name in self.packages]

    def _services(self) -> list[Service]:
        names = {each.name for each in self.injected if each.kind == "service"}
        return [each for each in self.project.services if each.name in names]

    @property
    def config_import(self) -> str:
        """The import of the settings."""
        return quoted(f"{self.module}/config")

    def service_import(self, package: Package) -> str:
        """The import of a service."""
        path = quoted(f"{self.module}/internal/{package.folder}")
        return path if package.name == package.folder else f"{package.name} {path}"

    def dependencies(self, tool: ToolPlan) -> list[Dependency]:
        """What a tool is given, in the order of its definition. A section or a service that the agent file does not have is left
        out: there is no type of it."""
        made: list[Dependency] = []
        taken = {f"make{tool.type_name}"}
        for each in tool.inject:
            if self._is_known(each):
                field = unexported(self.acronyms).made(each.name or each.kind)
                if field in taken and each.kind in ("section", "service"):
                    field = f"{field}{'Config' if each.kind == 'section' else 'Service'}"
                made.append(self._dependency(each, free(field, taken)))
        return made

    def _is_known(self, injected: Injected) -> bool:
        if injected.kind == "service":
            return injected.name in self.packages
        return injected.kind != "section" or injected.name in self.sections

    def _dependency(self, injected: Injected, field: str) -> Dependency:
        match injected.kind:
            case "logger":
                return Dependency(field, LOGGER, "logger")
            case "config":
                return Dependency(field, "*config.Config", "cfg", self.config_import)
            case "section":
                section = self.sections[injected.name]
                return Dependency(field, f"*config.{section.type}", f"&cfg.{section.field}", self.config_import)
            case _:
                package = self.packages[injected.name]
                go = f"{package.name}.{package.interface}"
                return Dependency(field, go, self.variables[injected.name], self.service_import(package))


def free(wanted: str, taken: set[str]) -> str:
    """A name that is not taken, and is now."""
    while wanted in taken:
        wanted += "_"
    taken.add(wanted)
    return wanted


def _variables(packages: dict[str, Package]) -> dict[str, str]:
    """What the registry keeps each service in."""
    taken = {each.name for each in packages.values()} | {"logger", "cfg", "err", "config", "fmt", "slog"}
    return {name: free(f"{package.name}Service", taken) for name, package in packages.items()}


def module_of(project: Project) -> str:
    """The path of the Go module: the agent file's, or one made of the project's name."""
    parts = project.module.split("/")
    if project.module and all(_MODULE_PART.fullmatch(part) for part in parts) and parts[0] not in _STANDARD:
        return project.module
    made = "-".join(words(project.name))
    return f"{made}-tools" if made in _STANDARD else made


def _packages(project: Project, acronyms: frozenset[str]) -> list[Package]:
    names = [each.name for each in project.services]
    folders = identifiers(names, folder_style())
    packages = identifiers(names, package_style(acronyms))
    return [
        _package(each, safe_stem(folders[each.name]), _apart(packages[each.name]), acronyms)
        for each in project.services
    ]


def _apart(name: str) -> str:
    """A package's name that no function of the generated files has."""
    return f"{name}_" if _FUNCTION.match(name) else name


def _package(service: Service, folder: str, name: str, acronyms: frozenset[str]) -> Package:
    taken: set[str] = set()
    interface = free(_exported(service.interface, service.name, acronyms), taken)
    factory = free(_exported(service.factory, f"new {service.interface or service.name}", acronyms), taken)
    return Package(service, folder, name, interface, factory)


def _exported(written: str, otherwise: str, acronyms: frozenset[str]) -> str:
    if _IDENTIFIER.fullmatch(written):
        return written[0].upper() + written[1:]
    return Style(pascal, acronyms=acronyms).made(written or otherwise)


class SectionType(NamedTuple):
    """A group of settings in Go."""

    field: str
    type: str


def section_types(project: Project, acronyms: frozenset[str]) -> dict[str, SectionType]:
    """The field and the type of each section."""
    names = identifiers((each.name for each in project.sections), Style(pascal, acronyms=acronyms))
    return {name: SectionType(field, f"{field}Config") for name, field in names.items()}
