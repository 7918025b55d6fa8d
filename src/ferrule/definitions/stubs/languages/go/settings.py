"""The settings of an agent file: a struct for each group of them, and what fills them in."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from ferrule.contracts.language import SourceFile
from ferrule.definitions.stubs.identifiers import identifiers
from ferrule.definitions.stubs.languages.go.names import exported
from ferrule.definitions.stubs.languages.go.shapes import INT
from ferrule.definitions.stubs.languages.go.surroundings import Surroundings, free
from ferrule.definitions.stubs.languages.go.text import SHARED, aligned, json_literal, quoted, shared_file, source
from ferrule.model.value import JsonValue

PACKAGE = "config"
_VARIABLE = re.compile(r"\$(?:\{[A-Za-z_]|[A-Za-z_][A-Za-z0-9_]*\Z)")
"""Finds texts that have an environment variable; the support file `settings.go` reads them exactly."""
_NUMBER, _ANY = "json.Number", "any"


def config_files(around: Surroundings) -> list[SourceFile]:
    """The settings as types and with what the agent file sets, and what fills them in where that has to be done."""
    groups = Groups(around)
    rows = [[around.sections[each.name].field, around.sections[each.name].type] for each in around.project.sections]
    for section in around.project.sections:
        kind = around.sections[section.name]
        groups.add(kind.type, f"cfg.{kind.field}", section.settings)
    lines = ["// Config is all settings.", *_struct("Config", rows), *groups.types, *groups.load()]
    standard = ["log/slog", *(["encoding/json"] if groups.has_numbers else [])]
    config = SourceFile("config/config_gen.go", source(SHARED, PACKAGE, lines, standard), "generated")
    return [config, shared_file("settings", PACKAGE)] if groups.has_environment else [config]


class Groups:
    """The groups of settings, and those within them."""

    def __init__(self, around: Surroundings) -> None:
        self.types: list[str] = []
        self._sets: list[str] = []
        self.has_environment = False
        """Whether anything has to be filled in."""
        self.has_numbers = False
        """Whether there is a number that no integer of Go holds."""
        self._style = exported(around.acronyms)
        self._taken = {"Config", "Load", *(each.type for each in around.sections.values())}

    def add(self, name: str, place: str, settings: Mapping[str, JsonValue]) -> None:
        """A struct, and what sets its fields. `place` is where a value of it stands."""
        names = identifiers(settings, self._style)
        inner: list[tuple[str, str, Mapping[str, JsonValue]]] = []
        rows: list[list[str]] = []
        for setting, value in settings.items():
            field = names[setting]
            if isinstance(value, dict) and value:
                go = free(f"{name.removesuffix('Config')}{field}Config", self._taken)
                inner.append((go, f"{place}.{field}", value))
            else:
                go = go_type(value)
                self._set(f"{place}.{field}", go, value)
            rows.append([field, go])
        self.types += [f"// {name} is a group of settings.", *_struct(name, rows)]
        for each in inner:
            self.add(*each)

    def _set(self, place: str, go: str, value: JsonValue) -> None:
        self.has_numbers = self.has_numbers or _NUMBER in go
        self.has_environment = self.has_environment or _is_filled_in(value)
        self._sets.append(f"\t{place} = {go_value(value)}")

    def load(self) -> list[str]:
        """What makes the settings."""
        told = ["// Load gives the settings of the definitions, with what the environment says."]
        opening = ["\tcfg := &Config{}"]
        closing = ["\treturn cfg", "}"]
        if self.has_environment:
            told[0] += " The logger is told of variables that are not set."
            opening.append("\tenv := &environment{}")
            closing.insert(0, "\tenv.tell(logger)")
        return [*told, "func Load(logger *slog.Logger) *Config {", *opening, *self._sets, *closing]


def _struct(name: str, rows: list[list[str]]) -> list[str]:
    if not rows:
        return [f"type {name} struct{{}}", ""]
    return [f"type {name} struct {{", *(f"\t{line}" for line in aligned(rows)), "}", ""]


def go_type(value: JsonValue) -> str:
    """The type of a setting that is no group. Lists have one where all their items have the same."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case int():
            return "int64" if value in INT else _NUMBER
        case float():
            return "float64"
        case list() if value:
            inner = {go_type(each) for each in value}
            inner = {"float64"} if inner == {"int64", "float64"} else inner
            return f"[]{inner.pop()}" if len(inner) == 1 and _ANY not in inner else _ANY
        case _:
            return _ANY


def _is_filled_in(value: JsonValue) -> bool:
    if isinstance(value, list) and go_type(value) != _ANY:
        return any(map(_is_filled_in, value))
    return isinstance(value, list | dict) or (isinstance(value, str) and bool(_VARIABLE.search(value)))


def go_value(value: JsonValue) -> str:
    """A setting as an expression of its type."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f"env.text({quoted(value)})" if _is_filled_in(value) else quoted(value)
        case None:
            return "nil"
        case int():
            return repr(value) if value in INT else f'json.Number("{value}")'
        case float():
            return repr(value)
        case list() if go_type(value) != _ANY:
            return f"{go_type(value)}{{{', '.join(map(go_value, value))}}}"
        case _:
            return f"env.value({json_literal(msgspec.json.encode(value))})"
