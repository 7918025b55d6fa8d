"""Where a dialect's own payload holds what the canonical tool says too, so that a catalog need not hold it twice."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

_HOMES: dict[str, dict[str, tuple[str, ...]]] = {
    "aml": {
        "input_schema": ("interface", "input"),
        "output_schema": ("interface", "output"),
        "credentials": ("transport", "credentials"),
    },
    "adl": {"input_schema": ("schema",)},
    "oxp": {"input_schema": ("input_schema", "parameters"), "output_schema": ("output_schema",)},
    "agent_tool": {
        "input_schema": ("input_contract", "model_input_schema"),
        "output_schema": ("output_contract", "structured_schema"),
    },
}
_ABSENT = msgspec.Raw(b"")


def at_home(dialect: str, payload: msgspec.Raw | bytes) -> dict[str, msgspec.Raw]:
    """The parts of a payload that are also fields of the tool, as they are written there, by field."""
    homes = _HOMES.get(dialect, {})
    if not homes:
        return {}
    try:
        opened = _decoder(dialect).decode(payload)
    except msgspec.ValidationError:  # something else stands where a mapping is usual
        return {}
    found: dict[str, msgspec.Raw] = {}
    for field, path in homes.items():
        part = opened
        for step in path:
            part = getattr(part, _slot(step))
        if part is not _ABSENT:
            found[field] = part
    return found


@cache
def _decoder(dialect: str) -> msgspec.json.Decoder[Any]:
    """Reads nothing but the homes; whatever else the payload holds is passed over."""
    tree: dict[str, Any] = {}
    for path in _HOMES[dialect].values():
        branch = tree
        for step in path[:-1]:
            branch = branch.setdefault(step, {})
        branch[path[-1]] = None
    return msgspec.json.Decoder(_struct(tree))


def _struct(tree: dict[str, Any]) -> type[msgspec.Struct]:
    fields: list[tuple[str, Any, Any]] = []
    for step, below in tree.items():
        if below is None:
            fields.append((_slot(step), msgspec.Raw, msgspec.field(default=_ABSENT, name=step)))
        else:
            kind = _struct(below)
            fields.append((_slot(step), kind, msgspec.field(default_factory=kind, name=step)))
    return msgspec.defstruct("Opened", fields)


def _slot(step: str) -> str:
    return f"at_{step}"
