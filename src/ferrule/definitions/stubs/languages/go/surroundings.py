"""Names the packages beside the tools' own: the settings, a package for each service, and the module around them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ferrule.contracts.language import Project, StubPlan, ToolPlan
from ferrule.definitions.stubs.identifiers import ACRONYMS, identifiers, split_words
from ferrule.definitions.stubs.languages.go.names import (
    exported_style,
    folder_style,
    list_support_names,
    lower_first,
    package_name,
    safe_stem,
    unexported_style,
)
from ferrule.definitions.stubs.languages.go.text import quote
from ferrule.definitions.stubs.surroundings import NamedParameter, Naming, ServiceNames, ToolSurroundings

_MODULE_PART = re.compile(r"[A-Za-z0-9_-](?:[A-Za-z0-9._~-]*[A-Za-z0-9_-])?")
_STANDARD_WORDS = """
    archive bufio builtin bytes cmd cmp compress container context crypto database debug embed encoding errors
    expvar flag fmt go hash html image index internal io iter log main maps math mime net os path plugin reflect
    regexp runtime slices sort std strconv strings structs sync syscall test testing text time unicode unique unsafe
    vendor weak
"""
_STANDARD = frozenset(_STANDARD_WORDS.split())


class GoDependency(NamedTuple):
    """A field of a tool, with the parameter that sets it."""

    field: str
    go: str
    argument: str
    """What the registry passes."""
    imported: str = ""


class GoSurroundings(ToolSurroundings):
    """The packages beside the tools' own."""

    def __init__(self, plan: StubPlan) -> None:
        self.module = name_module(plan.project)
        self.acronyms = plan.project.acronyms | ACRONYMS
        folders = _folders(each.name for each in plan.project.services)
        taken: set[str] = set()
        self.packages = {name: package_name(folder, taken) for name, folder in folders.items()}
        """The package of each service."""
        makers = {f"{lower_first(tool.type_name)}Tool" for tool in plan.tools}
        naming = Naming(
            values=unexported_style(self.acronyms),
            types=exported_style(self.acronyms),
            factories=exported_style(self.acronyms),
            fields=exported_style(self.acronyms),
            modules=_folders,
            config="cfg",
            no_types={"Config"},
            # A parameter that is called like a package would hide it.
            no_parameters={"ctx", "input", "tool", *self.packages.values()},
            no_variables={"logger", "cfg", "err", *makers, *list_support_names(), *self.packages.values()},
        )
        super().__init__(plan, naming)

    @property
    def config_import(self) -> str:
        """The import of the settings."""
        return quote(f"{self.module}/config")

    def service_import(self, names: ServiceNames) -> str:
        """Returns the import of a service."""
        path, package = quote(f"{self.module}/internal/{names.module}"), self.packages[names.service.name]
        return path if package == names.module else f"{package} {path}"

    def dependencies(self, tool: ToolPlan) -> list[GoDependency]:
        """Returns what a tool is given, in the order of its definition."""
        return [self._dependency(each) for each in self.parameters(tool)]

    def _dependency(self, given: NamedParameter) -> GoDependency:
        name, injected = given
        match injected.kind:
            case "logger":
                return GoDependency(name, "*slog.Logger", "logger")
            case "config":
                return GoDependency(name, "*config.Config", "cfg", self.config_import)
            case "section":
                section = self.sections[injected.name]
                return GoDependency(name, f"*config.{section.type}", f"&cfg.{section.field}", self.config_import)
            case _:
                service = self.services[injected.name]
                go = f"{self.packages[injected.name]}.{service.interface}"
                return GoDependency(name, go, service.variable, self.service_import(service))


def _folders(names: Iterable[str]) -> dict[str, str]:
    return {name: safe_stem(folder) for name, folder in identifiers(names, folder_style()).items()}


def name_module(project: Project) -> str:
    """Returns the path of the Go module: the agent file's, or one made of the project's name."""
    parts = project.module.split("/")
    if project.module and all(_MODULE_PART.fullmatch(part) for part in parts) and parts[0] not in _STANDARD:
        return project.module
    made = "-".join(split_words(project.name))
    return f"{made}-tools" if made in _STANDARD else made
