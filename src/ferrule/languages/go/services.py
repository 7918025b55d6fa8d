"""Services and settings: a package each, for the tools that are given them."""

from __future__ import annotations

import re

import msgspec

from ferrule.contracts.language import SourceFile
from ferrule.languages.go.files import SHARED, source
from ferrule.languages.go.names import exported
from ferrule.languages.go.shapes import INT
from ferrule.languages.go.surroundings import Package, Surroundings
from ferrule.languages.go.text import aligned, comment, json_literal, quoted
from ferrule.model.identifiers import identifiers
from ferrule.model.value import JsonValue

_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")


def service_file(package: Package, around: Surroundings) -> SourceFile:
    """The stub of a service (ADL-44)."""
    interface, impl = package.interface, f"{package.name}Impl"
    told = package.service.description or f"{interface} is the service {package.service.name}."
    lines = [
        *comment([told]),
        f"type {interface} interface {{",
        "\t// TODO: say what tools may ask of it.",
        "}",
        "",
        f"type {impl} struct {{",
        *(f"\t{line}" for line in aligned([["logger", "*slog.Logger"], ["config", "*config.Config"]])),
        "}",
        "",
        f"// {package.factory} makes the service.",
        f"func {package.factory}(logger *slog.Logger, cfg *config.Config) ({interface}, error) {{",
        "\t// TODO: open what it needs.",
        f"\treturn &{impl}{{logger: logger, config: cfg}}, nil",
        "}",
    ]
    path = f"internal/{package.folder}/{package.folder}.go"
    return SourceFile(path, source("", package.name, lines, ["log/slog"], [around.config_import]), "yours")


def config_file(around: Surroundings) -> SourceFile:
    """The settings of the agent file, as types and with what it sets."""
    sections = around.project.sections
    rows = [[around.sections[each.name].field, around.sections[each.name].type] for each in sections]
    lines = ["// Config is all settings.", *_struct("Config", rows)]
    loads = ["// Load gives the settings of the definitions, with what the environment says.", "func Load() *Config {"]
    loads.append("\tcfg := &Config{}")
    for section in sections:
        kind = around.sections[section.name]
        names = identifiers(section.settings, exported(around.acronyms))
        rows = [[names[name], _go_type(value)] for name, value in section.settings.items()]
        lines += [f"// {kind.type} is a group of settings.", *_struct(kind.type, rows)]
        loads += [f"\tcfg.{kind.field}.{names[name]} = {_value(value)}" for name, value in section.settings.items()]
    helper = _HELPER if any("= parsed(" in line for line in loads) else []
    settings = [value for section in sections for value in section.settings.values()]
    standard = [*(["encoding/json"] if helper else []), *(["os"] if any(map(_variable, settings)) else [])]
    text = source(SHARED, "config", [*lines, *loads, "\treturn cfg", "}", "", *helper], standard)
    return SourceFile("config/config_gen.go", text, "generated")


_HELPER = [
    "func parsed(text string) any {",
    "\tvar value any",
    "\t_ = json.Unmarshal([]byte(text), &value)",
    "\treturn value",
    "}",
]


def _struct(name: str, rows: list[list[str]]) -> list[str]:
    if not rows:
        return [f"type {name} struct{{}}", ""]
    return [f"type {name} struct {{", *(f"\t{line}" for line in aligned(rows)), "}", ""]


def _variable(value: JsonValue) -> str:
    found = _VARIABLE.fullmatch(value) if isinstance(value, str) else None
    return (found[1] or found[2]) if found else ""


def _go_type(value: JsonValue) -> str:
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case int() if value in INT:
            return "int64"
        case float():
            return "float64"
        case _:
            return "any"


def _value(value: JsonValue) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f"os.Getenv({quoted(_variable(value))})" if _variable(value) else quoted(value)
        case None:
            return "nil"
        case int() | float() if _go_type(value) != "any":
            return repr(value)
        case _:
            return f"parsed({json_literal(msgspec.json.encode(value))})"
