"""Names what tools are given beside their input, in the style of one language: loggers, settings and services (ADL `inject`).

A language says how it names things (`Naming`) and writes them as source. An entry that the agent file does not declare is left
out: a definition with one has an error (ADL-30), and is not generated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Set
from typing import NamedTuple

from ferrule.contracts.language import Injected, Section, Service, StubPlan, ToolPlan
from ferrule.definitions.stubs.identifiers import Style, UniqueNames, identifiers, snake
from ferrule.model.value import JsonValue

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9]{0,80}")
_VARIABLE = re.compile(r"^\$([A-Za-z_][A-Za-z0-9_]*)\Z|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::?-([^}]*))?\}")


class Naming(NamedTuple):
    """How a language names what tools are given."""

    values: Style
    """Parameters and variables."""
    types: Style
    """Interfaces of services, and groups of settings."""
    factories: Style
    fields: Style
    """Groups of settings, as members of all settings."""
    modules: Callable[[Iterable[str]], dict[str, str]]
    """Names the modules of services, from the services' names."""
    config: str = "config"
    """The parameter for all settings."""
    no_types: Set[str] = frozenset()
    no_parameters: Set[str] = frozenset()
    no_variables: Set[str] = frozenset()


class ServiceNames(NamedTuple):
    """A service with its names in source."""

    service: Service
    module: str
    interface: str
    factory: str
    variable: str
    """The service in the code that makes all tools."""


class SectionNames(NamedTuple):
    """A group of settings with its names in source."""

    section: Section
    field: str
    type: str


class NamedParameter(NamedTuple):
    """A parameter of a tool, and what it stands for."""

    name: str
    injected: Injected


class ToolSurroundings:
    """The services and settings of a plan."""

    def __init__(self, plan: StubPlan, naming: Naming) -> None:
        self.project = plan.project
        self._naming = naming
        types = UniqueNames(naming.no_types)
        fields = identifiers((each.name for each in plan.project.sections), naming.fields)
        self.sections = {
            each.name: SectionNames(each, fields[each.name], types.give(naming.types.make(f"{each.name} config")))
            for each in plan.project.sections
        }
        modules = naming.modules(each.name for each in plan.project.services)
        variables = UniqueNames(naming.no_variables)
        self.services = {
            each.name: self._service(each, modules[each.name], types, variables) for each in plan.project.services
        }
        injected = {each for tool in plan.tools for each in tool.inject}
        self.used = [each for each in self.services.values() if Injected("service", each.service.name) in injected]
        """The services that tools are given, in the order of the agent file."""
        self.needs_config = bool(self.services or self.sections) or Injected("config") in injected

    def _service(self, service: Service, module: str, types: UniqueNames, variables: UniqueNames) -> ServiceNames:
        wanted = _symbol(service.interface or service.name, self._naming.types)
        interface = types.give(wanted, f"{wanted}Service")
        factory = _symbol(service.factory or f"new {service.interface or service.name}", self._naming.factories)
        # In Go both are names of one package, and an agent file may call them alike.
        factory += "_" if factory == interface else ""
        return ServiceNames(service, module, interface, factory, variables.give(*self._wanted_names(service)))

    def _wanted_names(self, service: Service) -> tuple[str, str, str]:
        style = self._naming.values
        return (
            style.make(service.name),
            style.make(service.interface or service.name),
            style.make(f"{service.name} service"),
        )

    def parameters(self, tool: ToolPlan) -> list[NamedParameter]:
        """Returns the parameters of a tool, in the order of its definition."""
        names = UniqueNames(self._naming.no_parameters)
        found = []
        for each in dict.fromkeys(tool.inject):
            match each.kind:
                case "logger":
                    found.append(NamedParameter(names.give("logger"), each))
                case "config":
                    found.append(NamedParameter(names.give(self._naming.config), each))
                case "section" if each.name in self.sections:
                    found.append(NamedParameter(names.give(self._naming.values.make(f"{each.name} config")), each))
                case "service" if each.name in self.services:
                    wanted = self._wanted_names(self.services[each.name].service)
                    found.append(NamedParameter(names.give(*wanted), each))
        return found


def _symbol(written: str, style: Style) -> str:
    """Returns a name of the agent file as it is where that is legal, but for the case of its first letter."""
    if style.case is snake or not _IDENTIFIER.fullmatch(written):
        return style.make(written)
    is_upper = style.make("a")[0].isupper()
    name = (written[0].upper() if is_upper else written[0].lower()) + written[1:]
    return f"{name}_" if name in style.keywords else name


class Variable(NamedTuple):
    """An environment variable within a setting."""

    name: str
    otherwise: str | None
    """The text where it is not set; None where the setting names none."""


def split_setting(text: JsonValue) -> list[str | Variable]:
    """Splits a text at its environment variables: `${NAME}` and `${NAME:-default}`, or `$NAME` alone. Other values have none."""
    if not isinstance(text, str):
        return []
    parts: list[str | Variable] = []
    at = 0
    for found in _VARIABLE.finditer(text):
        parts += [text[at : found.start()]] if found.start() > at else []
        parts.append(Variable(found[1] or found[2], found[3]))
        at = found.end()
    return [*parts, text[at:]] if at < len(text) or not parts else parts


def has_variables(value: JsonValue) -> bool:
    """Tells whether a setting reads the environment, however deep."""
    if isinstance(value, dict | list):
        return any(map(has_variables, value.values() if isinstance(value, dict) else value))
    return any(isinstance(each, Variable) for each in split_setting(value))
