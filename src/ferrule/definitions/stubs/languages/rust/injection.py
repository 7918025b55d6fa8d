"""What a tool is given when it is made (ADL `inject`), as parameters of its function. Services are real parameters here."""

from __future__ import annotations

import re
from typing import NamedTuple

from ferrule.contracts.language import Injected, Project, Service, ToolPlan
from ferrule.definitions.stubs.identifiers import pascal, words
from ferrule.definitions.stubs.languages.rust.text import DEVICES, KEYWORDS, RESERVED_TYPES, member_names, type_names

_TYPE = re.compile(r"[A-Z][A-Za-z0-9]*")


class Parameter(NamedTuple):
    """One thing that is injected."""

    name: str
    type: str
    passed: str
    """How `all()` passes it."""


def parameters(tool: ToolPlan, project: Project) -> list[Parameter]:
    """What a tool is given, in the order of its definition. What the agent file does not declare is left out."""
    services = {each.name: each for each in project.services}
    fields, types = section_fields(project), section_types(project)
    modules = service_modules(project)
    known = [each for each in tool.inject if each.kind in ("logger", "config") or each.name in {**services, **fields}]
    names = member_names(map(_wanted, known), ["input", "context"])
    found: list[Parameter] = []
    for each in known:
        name = names[_wanted(each)]
        if each.kind == "logger":
            found.append(Parameter(name, "Logger", "Logger"))
        elif each.kind == "config":
            found.append(Parameter(name, "Arc<crate::config::Config>", "config.clone()"))
        elif each.kind == "section" and each.name in fields:
            found.append(Parameter(name, f"crate::config::{types[each.name]}", f"config.{fields[each.name]}.clone()"))
        elif each.kind == "service" and each.name in services:
            module = modules[each.name]
            kind = f"Arc<dyn crate::services::{module}::{interface(services[each.name])}>"
            found.append(Parameter(name, kind, f"{service_variable(module)}.clone()"))
    return found


def _wanted(injected: Injected) -> str:
    return {"logger": "logger", "config": "config", "section": f"{injected.name}_config"}.get(
        injected.kind, injected.name
    )


def needs_config(project: Project, tools: tuple[ToolPlan, ...]) -> bool:
    """Whether there has to be a configuration."""
    is_asked = any(each.kind == "config" for tool in tools for each in tool.inject)
    return bool(project.sections or project.services) or is_asked


def interface(service: Service) -> str:
    """The name of a service's trait."""
    name = service.interface if _TYPE.fullmatch(service.interface) else pascal(words(service.interface))
    return f"{name}Service" if name in RESERVED_TYPES else name


def factory(service: Service) -> str:
    """The name of the function that makes a service."""
    return next(iter(member_names([service.factory]).values()))


def service_modules(project: Project) -> dict[str, str]:
    """The module of each service."""
    return member_names((each.name for each in project.services), ["mod", *KEYWORDS, *DEVICES])


def service_variable(module: str) -> str:
    """What `all()` calls a service."""
    return f"{module.rstrip('_')}_service"


def section_fields(project: Project) -> dict[str, str]:
    """The field of the configuration for each group of settings."""
    return member_names(each.name for each in project.sections)


def section_types(project: Project) -> dict[str, str]:
    """The type of each group of settings: `ReportsConfig`."""
    given = type_names((each.name for each in project.sections), project.acronyms)
    return {name: f"{made}Config" for name, made in given.items()}
