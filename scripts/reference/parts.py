"""The page of contracts: what a part of each shelf must do, from the Protocols in ferrule.contracts."""

from __future__ import annotations

import inspect
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from ferrule import contracts
from scripts.reference.fields import fields_of


def page() -> str:
    """Every Protocol with its methods."""
    lines = [
        "# Parts",
        "",
        "What a part of each shelf must do. Together these are the whole extension surface of the compiler.",
        "",
    ]
    for module in sorted(iter_modules(contracts.__path__), key=lambda found: found.name):
        lines += _module(import_module(f"ferrule.contracts.{module.name}"))
    return "\n".join(lines)


def _module(module: ModuleType) -> list[str]:
    protocols = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__ and getattr(value, "_is_protocol", False)
    ]
    return [line for protocol in protocols for line in _protocol(protocol)]


def _protocol(protocol: type) -> list[str]:
    lines = [f"## {protocol.__name__}", "", _text(protocol.__doc__), ""]
    fields = fields_of(protocol)
    if fields:
        lines += [", ".join(f"`{field.name}: {field.type}`" for field in fields), ""]
    for name, member in vars(protocol).items():
        if inspect.isfunction(member) and not name.startswith("_"):
            signature = ", ".join(list(inspect.signature(member).parameters)[1:])
            lines += [f"- `{name}({signature})`: {_text(member.__doc__)}"]
    return [*lines, ""]


def _text(doc: str | None) -> str:
    return " ".join((doc or "").split())
