"""What the modules of tools, their tests and their registry share."""

from __future__ import annotations

from ferrule.contracts.language import ToolPlan
from ferrule.definitions.stubs.languages.python.injecting import Parameter
from ferrule.definitions.stubs.languages.python.source_text import imported, plain_lines
from ferrule.model.type_tree import Alias, Named, Null, Type


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
