"""The form for a tool's question to a person: fields from the schema of the answer, and the answer from the fields.

`inbox` stands above it. Whether an answer is valid is decided behind the API.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from ferrule.model.value import JsonObject

_MOST_FIELDS = 20
_KINDS = {"string": "text", "integer": "number", "number": "number", "boolean": "yes_no"}
PREFIX = "answer."


class InvalidAnswer(ValueError):
    """Raised for typed text that cannot be the answer."""


def answer_form(schema: JsonObject) -> JsonObject:
    """Returns the form: `kind` is `fields` (one for each member), `single`, `text` or `json`."""
    fields = _list_fields(schema)
    if fields is not None:
        return {"kind": "fields", "fields": fields}
    if not schema or (schema.get("type") == "string" and "enum" not in schema):
        return {"kind": "text", "fields": []}
    single = _make_field("", schema, is_required=True)
    if single is not None:
        return {"kind": "single", "fields": [single]}
    return {"kind": "json", "fields": []}


def _list_fields(schema: JsonObject) -> list[JsonObject] | None:
    members = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(members, dict) or not 0 < len(members) <= _MOST_FIELDS:
        return None
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    found = [_make_field(name, member, is_required=name in needed) for name, member in members.items()]
    return None if any(field is None for field in found) else [field for field in found if field is not None]


def _make_field(name: str, schema: object, *, is_required: bool) -> JsonObject | None:
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
        "choices": [_format_choice(choice) for choice in choices]
        if kind == "choice" and isinstance(choices, list)
        else [],
    }


def _is_short(schema: JsonObject) -> bool:
    most = schema.get("maxLength")
    return "format" in schema or (isinstance(most, int) and most <= 200)


def _format_choice(choice: object) -> str:
    return choice if isinstance(choice, str) else json.dumps(choice, ensure_ascii=False)


def read_answer(schema: JsonObject, form: Mapping[str, Sequence[str]]) -> Any:
    """Returns the answer in a form. Raises InvalidAnswer; the inbox validates it against the schema."""
    shape = answer_form(schema)
    if shape["kind"] == "text":
        return _first_value(form, "answer")
    if shape["kind"] == "json":
        try:
            return json.loads(_first_value(form, "answer"))
        except (ValueError, RecursionError) as error:
            raise InvalidAnswer(f"the answer is not JSON: {error}") from None
    found = {
        field["name"]: _read_value(field, schema, _first_value(form, field["field"]))
        for field in shape["fields"]
        if _first_value(form, field["field"]) or (field["is_required"] and field["kind"] == "text")
    }
    return found.get("") if shape["kind"] == "single" else found


def _read_value(field: JsonObject, schema: JsonObject, text: str) -> Any:
    match field["kind"]:
        case "number":
            return _read_number(field, text)
        case "yes_no":
            return text == "yes"
        case "choice":
            member = schema["properties"][field["name"]] if field["name"] else schema
            return next((one for one in member["enum"] if _format_choice(one) == text), text)
    return text


def _read_number(field: JsonObject, text: str) -> int | float:
    try:
        number = json.loads(text.strip())
    except (ValueError, RecursionError):
        number = None
    is_number = isinstance(number, int | float) and not isinstance(number, bool) and isfinite(number)
    if not is_number or (field["is_whole"] and number != int(number)):
        kind = "a whole number" if field["is_whole"] else "a number"
        raise InvalidAnswer(f"{field['label']} must be {kind}, not {text[:40]!r}")
    return int(number) if field["is_whole"] else number


def _first_value(form: Mapping[str, Sequence[str]], name: str) -> str:
    return next(iter(form.get(name, ())), "")
