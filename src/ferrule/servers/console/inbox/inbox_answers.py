"""The form for what a tool asks a person: fields made from the schema of the answer, and the answer made from the fields."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

_MOST_FIELDS = 20
_KINDS = {"string": "text", "integer": "number", "number": "number", "boolean": "yes_no"}
PREFIX = "answer."


class Unreadable(ValueError):
    """What was typed cannot be what the tool asked for."""


def answer_form(schema: dict[str, Any]) -> dict[str, Any]:
    """How to ask: `kind` is `fields` (one for each member), `text` (the answer is a text) or `json`."""
    fields = _fields(schema)
    if fields is not None:
        return {"kind": "fields", "fields": fields}
    if not schema or (schema.get("type") == "string" and "enum" not in schema):
        return {"kind": "text", "fields": []}
    single = _field("", schema, is_required=True)
    if single is not None:
        return {"kind": "single", "fields": [single]}
    return {"kind": "json", "fields": []}


def _fields(schema: dict[str, Any]) -> list[dict[str, Any]] | None:
    members = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(members, dict) or not 0 < len(members) <= _MOST_FIELDS:
        return None
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    found = [_field(name, member, is_required=name in needed) for name, member in members.items()]
    return None if any(field is None for field in found) else [field for field in found if field is not None]


def _field(name: str, schema: Any, *, is_required: bool) -> dict[str, Any] | None:
    if not isinstance(schema, dict):
        return None
    choices = schema.get("enum")
    kind = "choice" if isinstance(choices, list) and choices else _KINDS.get(str(schema.get("type")))
    if kind is None:
        return None
    return {
        "name": name,
        "field": f"{PREFIX}{name}",
        "kind": kind,
        "label": str(schema.get("title") or name or "Answer"),
        "says": str(schema.get("description") or ""),
        "type": "one of" if kind == "choice" else "yes or no" if kind == "yes_no" else str(schema.get("type")),
        "is_required": is_required,
        "is_long": kind == "text" and not _is_short(schema),
        "is_whole": schema.get("type") == "integer",
        "choices": [_written(choice) for choice in choices] if kind == "choice" and isinstance(choices, list) else [],
    }


def _is_short(schema: dict[str, Any]) -> bool:
    most = schema.get("maxLength")
    return "format" in schema or (isinstance(most, int) and most <= 200)


def _written(choice: Any) -> str:
    return choice if isinstance(choice, str) else json.dumps(choice, ensure_ascii=False)


def answer_of(schema: dict[str, Any], form: Mapping[str, Sequence[str]]) -> Any:
    """The answer that a form holds. Raises Unreadable; whether it fits the schema is for the inbox to say."""
    shape = answer_form(schema)
    if shape["kind"] == "text":
        return _first(form, "answer")
    if shape["kind"] == "json":
        try:
            return json.loads(_first(form, "answer"))
        except (ValueError, RecursionError) as error:
            raise Unreadable(f"the answer is not JSON: {error}") from None
    found = {
        field["name"]: _value(field, schema, _first(form, field["field"]))
        for field in shape["fields"]
        if _first(form, field["field"]) or (field["is_required"] and field["kind"] == "text")
    }
    return found.get("") if shape["kind"] == "single" else found


def _value(field: dict[str, Any], schema: dict[str, Any], text: str) -> Any:
    match field["kind"]:
        case "number":
            return _number(field, text)
        case "yes_no":
            return text == "yes"
        case "choice":
            member = schema["properties"][field["name"]] if field["name"] else schema
            return next((one for one in member["enum"] if _written(one) == text), text)
    return text


def _number(field: dict[str, Any], text: str) -> int | float:
    try:
        number = json.loads(text.strip())
    except (ValueError, RecursionError):
        number = None
    is_number = isinstance(number, int | float) and not isinstance(number, bool) and isfinite(number)
    if not is_number or (field["is_whole"] and number != int(number)):
        kind = "a whole number" if field["is_whole"] else "a number"
        raise Unreadable(f"{field['label']} must be {kind}, not {text[:40]!r}")
    return int(number) if field["is_whole"] else number


def _first(form: Mapping[str, Sequence[str]], name: str) -> str:
    return next(iter(form.get(name, ())), "")
