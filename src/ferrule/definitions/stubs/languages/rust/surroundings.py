"""Writes what Rust tools are given as parameters of their functions. Services are `Arc`s, since handlers outlive calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ferrule.contracts.language import StubPlan, ToolPlan
from ferrule.definitions.stubs.identifiers import Style, identifiers, pascal
from ferrule.definitions.stubs.languages.rust.text import DEVICES, KEYWORDS, MEMBERS, RESERVED_TYPES
from ferrule.definitions.stubs.surroundings import Naming, ToolSurroundings


class HandlerParameter(NamedTuple):
    """A parameter of a tool's function."""

    name: str
    type: str
    passed: str
    """The expression that `all()` passes."""


class RustSurroundings(ToolSurroundings):
    """The services and settings of a plan."""

    def __init__(self, plan: StubPlan) -> None:
        naming = Naming(
            values=MEMBERS,
            types=Style(pascal, acronyms=plan.project.acronyms, longest=50),
            factories=MEMBERS,
            fields=MEMBERS,
            modules=_name_modules,
            no_types=RESERVED_TYPES,
            no_parameters={"input", "context"},
            no_variables={"config", "context", "descriptor", "input", "tools"},
        )
        super().__init__(plan, naming)

    def function_parameters(self, tool: ToolPlan) -> list[HandlerParameter]:
        """Returns what a tool is given, in the order of its definition."""
        found = []
        for name, injected in self.parameters(tool):
            match injected.kind:
                case "logger":
                    found.append(HandlerParameter(name, "Logger", "Logger"))
                case "config":
                    found.append(HandlerParameter(name, "Arc<crate::config::Config>", "config.clone()"))
                case "section":
                    section = self.sections[injected.name]
                    kind = f"crate::config::{section.type}"
                    found.append(HandlerParameter(name, kind, f"config.{section.field}.clone()"))
                case "service":
                    service = self.services[injected.name]
                    kind = f"Arc<dyn crate::services::{service.module}::{service.interface}>"
                    found.append(HandlerParameter(name, kind, f"{service.variable}.clone()"))
        return found


def _name_modules(names: Iterable[str]) -> dict[str, str]:
    return identifiers(names, MEMBERS, ["mod", *KEYWORDS, *DEVICES])
