"""Turns what tools are given beside their input (loggers, settings, services) into typed parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ferrule.contracts.language import StubPlan, ToolPlan
from ferrule.definitions.stubs.comments import split_lines
from ferrule.definitions.stubs.identifiers import Style, identifiers, pascal, snake
from ferrule.definitions.stubs.languages.python.records import KEYWORDS
from ferrule.definitions.stubs.languages.python.source_text import (
    keep_line,
    natural_key,
    quote,
    write_docstring,
    write_import,
)
from ferrule.definitions.stubs.plan import ROOTS
from ferrule.definitions.stubs.surroundings import Naming, ToolSurroundings
from ferrule.model.value import JsonValue

_SNAKE = Style(snake, KEYWORDS, longest=60)
_PASCAL = Style(pascal, KEYWORDS, longest=60)
_TAKEN = frozenset({"context", "input", "ferrule", "logging"})
_HIDING = frozenset({"str", "int", "float", "bool", "Any", "TypedDict"})
_INDENT = " " * 4
_CONFIG = "tools._generated._config"
"""The module of the types of settings."""


class InjectedParameter(NamedTuple):
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
            else f"{self.name}: Annotated[{self.kind}, ferrule.Inject({quote(self.entry)})]"
        )


class PythonSurroundings(ToolSurroundings):
    """The services and settings of a plan."""

    def __init__(self, plan: StubPlan) -> None:
        roots = {f"{tool.type_name}{end}" for tool in plan.tools for end in ROOTS}
        naming = Naming(
            values=_SNAKE,
            types=_PASCAL,
            factories=_SNAKE,
            fields=_SNAKE,
            modules=lambda names: identifiers(names, _SNAKE),
            no_types={"Annotated", "Any", "Config", "TypedDict", *roots},
            no_parameters=_TAKEN,
        )
        super().__init__(plan, naming)

    def function_parameters(self, tool: ToolPlan) -> list[InjectedParameter]:
        """Returns what a tool's function is given, in the order of its definition."""
        found = []
        for name, injected in self.parameters(tool):
            match injected.kind:
                case "logger":
                    found.append(InjectedParameter(name, "logging.Logger", "logger", ""))
                case "config":
                    found.append(InjectedParameter(name, "Config", "config", _CONFIG))
                case "section":
                    section = self.sections[injected.name]
                    found.append(InjectedParameter(name, section.type, f"config.{injected.name}", _CONFIG))
                case "service":
                    service = self.services[injected.name]
                    found.append(
                        InjectedParameter(name, service.interface, injected.name, f"services.{service.module}")
                    )
        return found


def write_imports(wanted: list[tuple[str, str]], aliased: list[tuple[str, str, str]] | None = None) -> list[str]:
    """Imports of the project's own modules: of types, and of other things under another name."""
    names: dict[str, list[str]] = {module: [] for module, *_ in (*wanted, *(aliased or ()))}
    others: dict[str, list[str]] = {}
    for module, name in wanted:
        names[module].append(name)
    for module, name, alias in sorted(aliased or (), key=lambda each: natural_key(each[1])):
        others.setdefault(module, []).append(keep_line(f"from {module} import {name} as {alias}"))
    lines: list[str] = []
    for module in sorted(names, key=natural_key):
        lines += [*write_import(module, names[module]), *others.get(module, ())]
    return ["", *lines] if lines else []


def list_imports(given: Iterable[InjectedParameter]) -> list[tuple[str, str]]:
    """Returns what the types of parameters need of the project's own modules."""
    return list(dict.fromkeys((each.module, each.kind) for each in given if each.module))


def write_config(around: PythonSurroundings) -> list[str]:
    """Writes the types of an agent's settings, with the imports they need."""
    body: list[str] = []
    for section in around.sections.values():
        types = {key: _find_type(value) for key, value in section.section.settings.items()}
        body += _write_settings(
            section.type, types, f"The settings of `{' '.join(split_lines(section.section.name))}`."
        )
    types = {name: section.type for name, section in around.sections.items()}
    body += _write_settings("Config", types, "All settings of the agent.")
    text = "\n".join(body)
    used = [name for name in ("Any", "TypeAlias", "TypedDict") if f"{name}" in text.replace(":", " ")]
    mapping = ["from collections.abc import Mapping"] if "Mapping[" in text else []
    return [*mapping, *write_import("typing", used), *body]


def _write_settings(name: str, said: dict[str, str], about: str) -> list[str]:
    """Returns a dictionary of settings; any mapping where Python could not name one of them."""
    if all(key.isascii() and key.isidentifier() and key not in KEYWORDS | _HIDING for key in said):
        fields = [f"{_INDENT}{key}: {kind}" for key, kind in said.items()]
        between = [""] if fields else []
        return ["", "", f"class {name}(TypedDict):", *write_docstring([about], _INDENT), *between, *fields]
    return ["", "", f"{name}: TypeAlias = Mapping[str, Any]", *write_docstring([about])]


def _find_type(value: JsonValue) -> str:
    return {bool: "bool", int: "int", float: "float", str: "str"}.get(type(value), "Any")
