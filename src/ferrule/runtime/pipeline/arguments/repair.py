"""Repairs what models really send: JSON inside a string, numbers as text, null for "not given", one value for a list.

Used only after strict validation has failed, and only if the repaired input then fits: see `validation`. It never touches
a value whose schema allows text, and reports every change, so that it is recorded as the adapter's (AT-79).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from ferrule.model.value import Path, format_path
from ferrule.runtime.pipeline.arguments.hostile_json import why_hostile
from ferrule.schema.schema_view import Schemas, SchemaView, json_type, types_of

WHOLE = "*"
"""The changed field when the arguments as a whole were mended."""
_WORDS = {"true": True, "false": False, "True": True, "False": False, "TRUE": True, "FALSE": False}
_NO_GUESS = object()


class RepairedInput(NamedTuple):
    """An input after mending."""

    value: Any
    changed_fields: tuple[str, ...]


def repair_input(view: SchemaView, value: Any) -> RepairedInput:
    """The input as its schema suggests it was meant. Whether it fits now is for the validator to say."""
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

    def repair(self, value: Any, schemas: Schemas, path: Path) -> Any:
        """The value, and what is below it, mended."""
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

    def _repair_object(self, value: dict[str, Any], schemas: Schemas, path: Path) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for name, member in value.items():
            below = self.view.about(self.view.member(schemas, name), negated=False)
            if member is None and _is_not_given(name, types_of(below), schemas):
                self.changed.append(format_path((*path, name)))
            else:
                kept[name] = self.repair(member, below, (*path, name))
        return kept


def _guess_meant(value: Any, types: frozenset[str]) -> Any:
    """What a value of the wrong type was meant to be; `_NOTHING` when it is as good as any guess."""
    if not types or value is None or _is_one_of(value, types):
        return _NO_GUESS
    if isinstance(value, str):
        opened = _WORDS[value.strip()] if value.strip() in _WORDS else _decode_inner(value)
        if not isinstance(opened, str) and _is_one_of(opened, types):
            return opened
        if value.lstrip().startswith(("[", "{")):  # broken JSON is not a value of its own
            return _NO_GUESS
    return [value] if types <= {"array", "null"} and "array" in types else _NO_GUESS


def _decode_inner(text: str) -> Any:
    """The JSON inside a text; the text itself when there is none, or none that we would take."""
    stripped = text.strip()
    if not stripped:
        return text
    try:
        value = msgspec.json.decode(stripped)
    except (msgspec.MsgspecError, RecursionError):
        return text
    return text if why_hostile(stripped, value) else value


def _is_one_of(value: Any, types: frozenset[str]) -> bool:
    kind = json_type(value)
    if kind in types or (kind == "integer" and "number" in types):
        return True
    return kind == "number" and "integer" in types and float(value).is_integer()


def _is_not_given(name: str, types: frozenset[str], schemas: Schemas) -> bool:
    """True when null for this property can only mean that it is not given."""
    if not types or "null" in types:
        return False
    return not any(name in required for schema in schemas if isinstance(required := schema.get("required"), list))
