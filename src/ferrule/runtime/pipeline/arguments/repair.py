"""Repairs common mistakes of models: JSON inside a string, numbers as text, null for "not given", one value for a list.

Used only after strict validation failed, and only if the repaired input is then valid: see `validation`. It never
changes a value whose schema allows text, and reports every change, so that it is recorded as the adapter's (AT-79).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from ferrule.model.value import JsonObject, Path, format_path
from ferrule.runtime.pipeline.arguments.hostile_json import why_hostile
from ferrule.schema.schema_view import Schemas, SchemaView, json_type, types_of

WHOLE = "*"
"""The changed field when the arguments as a whole were repaired."""
_WORDS = {"true": True, "false": False, "True": True, "False": False, "TRUE": True, "FALSE": False}
_NO_GUESS = object()


class RepairedInput(NamedTuple):
    """An input after its repair."""

    value: Any
    changed_fields: tuple[str, ...]


def repair_input(view: SchemaView, value: object) -> RepairedInput:
    """Returns the input as its schema suggests it was meant; the validator decides whether it is valid now."""
    changed: list[str] = []
    if isinstance(value, str):
        value = _decode_inner(value)
        changed.append(WHOLE)
    elif value is None:
        value = {}
        changed.append(WHOLE)
    mending = _InputRepair(view, changed)
    return RepairedInput(mending.repair(value, view.about([view.root], negated=False), ()), tuple(changed))


class _InputRepair:
    """One walk through an input beside its schema."""

    def __init__(self, view: SchemaView, changed: list[str]) -> None:
        self.view = view
        self.changed = changed

    def repair(self, value: object, schemas: Schemas, path: Path) -> object:
        """Returns the value, with everything below it repaired."""
        types = types_of(schemas)
        meant = _guess_meant(value, types)
        if meant is not _NO_GUESS:
            self.changed.append(format_path(path) or WHOLE)
            value = meant
        if isinstance(value, dict):
            return self._repair_object(value, schemas, path)
        if isinstance(value, list):
            members = self.view.about(self.view.items(schemas), negated=False)
            return [self.repair(member, members, (*path, index)) for index, member in enumerate(value)]
        return value

    def _repair_object(self, value: JsonObject, schemas: Schemas, path: Path) -> JsonObject:
        kept: JsonObject = {}
        for name, member in value.items():
            below = self.view.about(self.view.member(schemas, name), negated=False)
            if member is None and _is_not_given(name, types_of(below), schemas):
                self.changed.append(format_path((*path, name)))
            else:
                kept[name] = self.repair(member, below, (*path, name))
        return kept


def _guess_meant(value: object, types: frozenset[str]) -> object:
    """Guesses the meant value of one with a wrong type; `_NO_GUESS` where no guess is better than the value."""
    if not types or value is None or _is_one_of(value, types):
        return _NO_GUESS
    if isinstance(value, str):
        opened = _WORDS[value.strip()] if value.strip() in _WORDS else _decode_inner(value)
        if not isinstance(opened, str) and _is_one_of(opened, types):
            return opened
        if value.lstrip().startswith(("[", "{")):  # broken JSON must not become a one-item list of itself
            return _NO_GUESS
    return [value] if types <= {"array", "null"} and "array" in types else _NO_GUESS


def _decode_inner(text: str) -> object:
    """Decodes the JSON inside a text; returns the text itself when it holds none, or hostile JSON."""
    stripped = text.strip()
    if not stripped:
        return text
    try:
        value = msgspec.json.decode(stripped)
    except (msgspec.MsgspecError, RecursionError):
        return text
    return text if why_hostile(stripped, value) else value


def _is_one_of(value: object, types: frozenset[str]) -> bool:
    kind = json_type(value)
    if kind in types or (kind == "integer" and "number" in types):
        return True
    return kind == "number" and "integer" in types and isinstance(value, float) and value.is_integer()


def _is_not_given(name: str, types: frozenset[str], schemas: Schemas) -> bool:
    """Returns True when null can only mean that this property is not given."""
    if not types or "null" in types:
        return False
    return not any(name in required for schema in schemas if isinstance(required := schema.get("required"), list))
