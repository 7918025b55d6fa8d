"""The page of contracts: what a part of each kind must do, from the Protocols in ferrule.contracts and what they speak of."""

from __future__ import annotations

import inspect
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

import msgspec

from ferrule import contracts
from ferrule.servers.api.field_docs import fields_of
from scripts.reference.cells import cell


def page() -> str:
    """Every contract: its Protocols with their methods, and the records they pass."""
    lines = [
        "# Parts",
        "",
        "What a part of each kind must do. Together these are the whole extension surface; the sections are the files of",
        "`src/ferrule/contracts`. `make new KIND=… NAME=…` writes the skeleton of a part.",
        "",
    ]
    for module in sorted(iter_modules(contracts.__path__), key=lambda found: found.name):
        lines += _module(import_module(f"ferrule.contracts.{module.name}"))
    return "\n".join(lines)


def _module(module: ModuleType) -> list[str]:
    own = [value for value in vars(module).values() if isinstance(value, type) and value.__module__ == module.__name__]
    protocols = [cls for cls in own if getattr(cls, "_is_protocol", False)]
    if not protocols:
        return []
    records = [cls for cls in own if issubclass(cls, msgspec.Struct)]
    lines = [f"## {module.__name__.rpartition('.')[2]}", "", _text(module.__doc__), ""]
    lines += [line for protocol in protocols for line in _protocol(protocol)]
    return lines + [line for record in records for line in _record(record)]


def _protocol(protocol: type) -> list[str]:
    lines = [f"### {protocol.__name__}", "", _text(protocol.__doc__), ""]
    fields = fields_of(protocol)
    if fields:
        lines += [", ".join(f"`{field.name}: {field.type}`" for field in fields), ""]
    methods = [
        f"- `{_spelling(name, member)}`: {_text(member.__doc__)}"
        for name, member in vars(protocol).items()
        if inspect.isfunction(member) and (not name.startswith("_") or name == "__call__") and member.__doc__
    ]
    return [*lines, *methods, ""] if methods else lines


def _record(record: type) -> list[str]:
    lines = [f"### {record.__name__}", "", _text(record.__doc__), "", "| field | type | |", "|---|---|---|"]
    lines += [f"| `{field.name}` | `{cell(field.type)}` | {cell(field.text)} |" for field in fields_of(record)]
    return [*lines, ""]


def _spelling(name: str, member: object) -> str:
    assert inspect.isfunction(member)
    parameters = ", ".join(list(inspect.signature(member).parameters)[1:])
    called = f"({parameters})" if name == "__call__" else f"{name}({parameters})"
    return f"await {called}" if inspect.iscoroutinefunction(member) else called


def _text(doc: str | None) -> str:
    return " ".join((doc or "").split())
