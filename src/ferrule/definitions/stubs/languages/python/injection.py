"""Turns what tools are given beside their input (loggers, settings, services) into typed parameters.

It also has the small texts that the modules of tools, their tests and their registry share.
"""

from __future__ import annotations

from typing import NamedTuple

from ferrule.contracts.language import Injected, Project, Section, Service, ToolPlan
from ferrule.contracts.type_tree import (
    Alias,
    Anything,
    Boolean,
    Integer,
    Member,
    Named,
    Null,
    Number,
    Record,
    Text,
    Type,
    TypeTree,
    Words,
)
from ferrule.definitions.stubs.identifiers import Style, identifiers, pascal, snake
from ferrule.definitions.stubs.languages.python.annotations import Annotations
from ferrule.definitions.stubs.languages.python.records import KEYWORDS, class_of, record_of
from ferrule.definitions.stubs.languages.python.source_text import imported, plain_lines
from ferrule.model.value import JsonValue

_SNAKE = Style(snake, KEYWORDS, longest=60)
_PASCAL = Style(pascal, KEYWORDS, longest=60)
_TYPES = ("Input", "Output", "Contract")
"""How the names of tools' own types end."""
_TAKEN = frozenset({"context", "input", "logger", "config", "ferrule", "logging"})


class Parameter(NamedTuple):
    """One parameter of a tool's function."""

    name: str
    annotation: str
    entry: str
    """What Ferrule calls it."""
    module: str
    """Where its type is imported from; empty where it needs no import of its own."""


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
        interface = _interface(each, taken)
        factory = _SNAKE.made(each.factory or f"new_{each.name}")
        found[each.name] = ServiceText(each, modules[each.name], interface, factory)
        taken.add(interface)
    return found


def _interface(service: Service, taken: set[str]) -> str:
    """The class of a service: its interface, and where something else is called so, with more words."""
    name = _PASCAL.made(service.interface or service.name)
    ways = (name, f"{name}Service", _PASCAL.made(f"{service.name} {name}"), _PASCAL.marked(f"{service.name} {name}"))
    return next((each for each in ways if each not in taken and not each.endswith(_TYPES)), f"{ways[-1]}Service")


def section_types(project: Project) -> dict[str, str]:
    """The type of each section of the settings."""
    return identifiers(
        [section.name for section in project.sections], Style(_config_case, KEYWORDS, longest=60), {"Config"}
    )


def _config_case(parts: object, acronyms: frozenset[str]) -> str:
    return f"{pascal(tuple(parts), acronyms)}Config"  # type: ignore[arg-type]  # words, as every case is given


def parameters(tool: ToolPlan, project: Project) -> list[Parameter]:
    """What a tool's function is given, in the order of its definition."""
    services, sections = services_of(project), section_types(project)
    names = _names(tool)
    found: list[Parameter] = []
    for entry in dict.fromkeys(tool.inject):
        name = names[_key(entry)]
        match entry.kind:
            case "logger":
                found.append(Parameter(name, "logging.Logger", "logger", "logging"))
            case "config":
                found.append(Parameter(name, "Config", "config", "config"))
            case "section":
                kind = sections.get(entry.name, "Mapping[str, Any]")
                module = "config" if entry.name in sections else "mapping"
                found.append(Parameter(name, kind, f"config.{entry.name}", module))
            case "service":
                known = services.get(entry.name)
                kind = known.interface if known else "Any"
                found.append(Parameter(name, kind, entry.name, f"services.{known.module}" if known else "any"))
    return found


def _key(entry: Injected) -> str:
    return {"logger": "logger", "config": "config", "section": f"{entry.name} config", "service": entry.name}[
        entry.kind
    ]


def _names(tool: ToolPlan) -> dict[str, str]:
    plain = {word: word for word in ("logger", "config")}
    others = [_key(entry) for entry in tool.inject if entry.kind in ("section", "service")]
    return identifiers(others, _SNAKE, _TAKEN) | plain


def config_types(project: Project) -> tuple[list[str], set[str]]:
    """The lines of the types of an agent's settings, and what they need."""
    names = section_types(project)
    records: dict[str, Record] = {}
    members = [
        Member(name=each.name, type=_of_section(each, names[each.name], records), is_required=True)
        for each in project.sections
    ]
    records["Config"] = _record("Config", members, "All settings of the agent.")
    annotations = Annotations(TypeTree(Named("Config"), tuple(records.values())), "typeddict")
    lines: list[str] = []
    for each in records.values():
        lines += ["", "", *class_of(record_of(each, annotations, None))]
    return lines, annotations.uses


def _of_section(section: Section, name: str, records: dict[str, Record]) -> Type:
    members = [
        Member(name=key, type=_kind(value), is_required=True, words=Words()) for key, value in section.settings.items()
    ]
    records[name] = _record(name, members, f"The settings of `{section.name}`.")
    return Named(name)


def _kind(value: JsonValue) -> Type:
    match value:
        case bool():
            return Boolean()
        case int():
            return Integer()
        case float():
            return Number()
        case str():
            return Text()
        case _:
            return Anything()


def _record(name: str, members: list[Member], description: str) -> Record:
    return Record(
        name=name,
        members=tuple(members),
        openness="silent",
        extra=Anything(),
        pointer="#",
        words=Words(description=description),
    )


def joined_lines(lines: list[str]) -> str:
    """The text of a file."""
    return "\n".join(lines) + "\n"


def name_of(tool: ToolPlan) -> str:
    """What a tool is called, on one line."""
    return " ".join(plain_lines(tool.name)) or tool.stem


def parameter_imports(given: list[Parameter], root: str) -> tuple[list[str], list[str], list[str]]:
    """What the types of parameters need: of the standard library, of services, and of the settings."""
    modules = {each.module for each in given}
    standard = ["import logging"] if "logging" in modules else []
    standard += ["from collections.abc import Mapping"] if "mapping" in modules else []
    own: list[str] = []
    for module in sorted(module for module in modules if module.startswith("services.")):
        own += imported(module, [each.annotation for each in given if each.module == module])
    config = imported(f"{root}_config", [each.annotation for each in given if each.module == "config"])
    return standard, own, config


def gives_null(tool: ToolPlan) -> bool:
    """Whether a tool gives null and nothing else: type checkers want nobody to take that for a value."""
    tree = tool.output
    made: Type | None = tree.root if tree is not None else None
    while tree is not None and isinstance(made, Named) and isinstance(declared := tree.declared(made.name), Alias):
        made = declared.type
    return isinstance(made, Null)
