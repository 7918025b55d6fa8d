"""Turns what tools are given beside their input (loggers, settings, services) into typed parameters."""

from __future__ import annotations

from typing import NamedTuple

from ferrule.contracts.language import Injected, Project, Service, StubPlan, ToolPlan
from ferrule.definitions.stubs.identifiers import Style, identifiers, pascal, snake
from ferrule.definitions.stubs.languages.python.records import KEYWORDS
from ferrule.definitions.stubs.languages.python.source_text import (
    docstring,
    imported,
    kept,
    natural,
    plain_lines,
    quoted,
)
from ferrule.model.value import JsonValue

_SNAKE = Style(snake, KEYWORDS, longest=60)
_PASCAL = Style(pascal, KEYWORDS, longest=60)
_TYPES = ("Input", "Output")
"""How the names of tools' own types end."""
_TAKEN = frozenset({"context", "input", "logger", "config", "ferrule", "logging"})
_HIDING = frozenset({"str", "int", "float", "bool", "Any", "TypedDict"})
_INDENT = " " * 4


class Parameter(NamedTuple):
    """One parameter of a tool's function."""

    name: str
    kind: str
    """Its type."""
    entry: str
    """What Ferrule calls it."""
    module: str
    """Where its type is imported from; empty where that is plain."""

    @property
    def text(self) -> str:
        """As a function declares it. A logger is known by its type."""
        return (
            f"{self.name}: {self.kind}"
            if self.entry == "logger"
            else f"{self.name}: Annotated[{self.kind}, ferrule.Inject({quoted(self.entry)})]"
        )


class ServiceText(NamedTuple):
    """A service with its names in Python."""

    service: Service
    module: str
    interface: str
    factory: str


def services_of(project: Project) -> dict[str, ServiceText]:
    """The services by their names."""
    modules = identifiers([each.name for each in project.services], _SNAKE)
    taken = {"Any", "Annotated", "Config", "Mapping", *section_types(project).values()}
    found: dict[str, ServiceText] = {}
    for each in project.services:
        name = _PASCAL.made(each.interface or each.name)
        ways = (name, f"{name}Service", _PASCAL.made(f"{each.name} {name}"), _PASCAL.marked(f"{each.name} {name}"))
        fitting = (way for way in ways if way not in taken and not way.endswith(_TYPES))
        interface = next(fitting, f"{ways[-1]}Service")
        factory = _SNAKE.made(each.factory or f"new_{each.name}")
        found[each.name] = ServiceText(each, modules[each.name], interface, factory)
        taken.add(interface)
    return found


def section_types(project: Project) -> dict[str, str]:
    """The type of each section of the settings."""
    words = {section.name: f"{section.name} config" for section in project.sections}
    named = identifiers(list(words.values()), _PASCAL, {"Config"})
    return {name: named[said] for name, said in words.items()}


def parameters(tool: ToolPlan, project: Project) -> list[Parameter]:
    """What a tool's function is given, in the order of its definition."""
    services, sections = services_of(project), section_types(project)
    names = _names(tool)
    found: list[Parameter] = []
    for entry in dict.fromkeys(tool.inject):
        name = names[_key(entry)]
        match entry.kind:
            case "logger":
                found.append(Parameter(name, "logging.Logger", "logger", ""))
            case "config":
                found.append(Parameter(name, "Config", "config", "tools._generated._config"))
            case "section":
                known = entry.name in sections
                kind = sections[entry.name] if known else "Mapping[str, Any]"
                module = "tools._generated._config" if known else ""
                found.append(Parameter(name, kind, f"config.{entry.name}", module))
            case "service":
                service = services.get(entry.name)
                module = f"services.{service.module}" if service else ""
                found.append(Parameter(name, service.interface if service else "Any", entry.name, module))
    return found


def _key(entry: Injected) -> str:
    return f"{entry.name} config" if entry.kind == "section" else entry.name or entry.kind


def _names(tool: ToolPlan) -> dict[str, str]:
    others = [_key(entry) for entry in tool.inject if entry.kind in ("section", "service")]
    return identifiers(others, _SNAKE, _TAKEN) | {"logger": "logger", "config": "config"}


def import_lines(wanted: list[tuple[str, str]], aliased: list[tuple[str, str, str]] | None = None) -> list[str]:
    """Imports of the project's own modules: of types, and of other things under another name."""
    names: dict[str, list[str]] = {module: [] for module, *_ in (*wanted, *(aliased or ()))}
    others: dict[str, list[str]] = {}
    for module, name in wanted:
        names[module].append(name)
    for module, name, alias in sorted(aliased or (), key=lambda each: natural(each[1])):
        others.setdefault(module, []).append(kept(f"from {module} import {name} as {alias}"))
    lines: list[str] = []
    for module in sorted(names, key=natural):
        lines += [*imported(module, names[module]), *others.get(module, ())]
    return ["", *lines] if lines else []


def imports_of(given: list[Parameter]) -> tuple[list[str], list[tuple[str, str]]]:
    """What the types of parameters need of the standard library, and of the project."""
    kinds = {each.kind for each in given}
    standard = ["import logging"] if "logging.Logger" in kinds else []
    standard += ["from collections.abc import Mapping"] if "Mapping[str, Any]" in kinds else []
    return standard, list(dict.fromkeys((each.module, each.kind) for each in given if each.module))


def has_config(plan: StubPlan) -> bool:
    """Whether there are types of settings to write."""
    return bool(plan.project.sections) or any(each.kind == "config" for tool in plan.tools for each in tool.inject)


def config_lines(project: Project) -> list[str]:
    """The types of an agent's settings, with what they need."""
    names = section_types(project)
    body: list[str] = []
    for each in project.sections:
        said = {key: _kind(value) for key, value in each.settings.items()}
        body += _settings(names[each.name], said, f"The settings of `{' '.join(plain_lines(each.name))}`.")
    body += _settings(
        "Config", {each.name: names[each.name] for each in project.sections}, "All settings of the agent."
    )
    text = "\n".join(body)
    used = [name for name in ("Any", "TypeAlias", "TypedDict") if f"{name}" in text.replace(":", " ")]
    mapping = ["from collections.abc import Mapping"] if "Mapping[" in text else []
    return [*mapping, *imported("typing", used), *body]


def _settings(name: str, said: dict[str, str], about: str) -> list[str]:
    """A dictionary of settings; any mapping where Python could not name one of them."""
    if all(key.isascii() and key.isidentifier() and key not in KEYWORDS | _HIDING for key in said):
        fields = [f"{_INDENT}{key}: {kind}" for key, kind in said.items()]
        between = [""] if fields else []
        return ["", "", f"class {name}(TypedDict):", *docstring([about], _INDENT), *between, *fields]
    return ["", "", f"{name}: TypeAlias = Mapping[str, Any]", *docstring([about])]


def _kind(value: JsonValue) -> str:
    return {bool: "bool", int: "int", float: "float", str: "str"}.get(type(value), "Any")
