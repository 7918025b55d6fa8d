"""Compiles validators of tool schemas on first use, in a bounded cache: a validator weighs ten times its schema.

`brief_schema` returns a schema that accepts the same values and reports less about rejected ones: that no alternative
fits, not why each does not. jsonschema-rs reports everything that is wrong with every alternative, even where one error
is requested; a long list under `anyOf` gives hundreds of thousands of errors.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jsonschema_rs
import msgspec

from ferrule.model.tool import raw
from ferrule.model.value import JsonObject, is_deeper
from ferrule.schema.walk import map_members

KEPT = 4096
"""The number of cached validators; the least used are dropped first."""
_PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=100_000)
"""A pattern that has to look back gives up after so many steps, and what it looked at does not fit."""


@lru_cache(maxsize=KEPT)
def compile_schema(schema: bytes) -> jsonschema_rs.Validator:
    """Returns the validator of a JSON Schema. Formats are not asserted and nothing is fetched. Raises what
    jsonschema-rs raises."""
    return validator_of(msgspec.json.decode(schema))


def validator_of(value: Any) -> jsonschema_rs.Validator:
    """Returns the validator of a decoded schema, uncached."""
    try:
        return jsonschema_rs.validator_for(value, validate_formats=False, offline=True, pattern_options=_PATTERNS)
    except jsonschema_rs.ValidationError:
        if not isinstance(value, dict) or "$schema" in value:
            raise
        # Without a `$schema`, what either draft accepts is accepted: draft-07 has lists under `items`.
        return jsonschema_rs.Draft7Validator(value, validate_formats=False, offline=True, pattern_options=_PATTERNS)


_DEEPEST = 255
"""jsonschema-rs refuses a schema that is nested deeper, without saying why."""


def explain_refusal(schema: object) -> str | None:
    """Returns why no validator accepts a value as a JSON Schema; None when one does."""
    try:
        text = bytes(raw(schema))
        if is_deeper(text, _DEEPEST):
            return "it is nested too deeply"
        compile_schema(text)
    except RecursionError:  # encoders give up at depths of their own
        return "it is nested too deeply"
    except Exception as error:  # jsonschema-rs raises many types for invalid schemas
        return str(error).splitlines()[0][:120] if str(error) else "invalid"
    return None


def first_error(validator: jsonschema_rs.Validator, value: object) -> jsonschema_rs.ValidationError | None:
    """Returns the first error of a value; None when it fits."""
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return error
    return None


_ALTERNATIVES = ("anyOf", "oneOf")
_WORDS = frozenset({"type", "title", "description"})
"""The keywords of a schema that only states a type."""


def brief_schema(schema: object) -> Any:
    """Returns the schema, with its alternatives as conditions. Not for a draft without `if`, nor where a `$ref` leads
    into one."""
    if not isinstance(schema, dict):
        return schema
    brief = {
        keyword: map_members(keyword, operand, lambda member, _: brief_schema(member))
        for keyword, operand in schema.items()
    }
    conditions = [
        _condition(keyword, brief.pop(keyword), schema[keyword])
        for keyword in _ALTERNATIVES
        if isinstance(brief.get(keyword), list) and not all(map(_is_mere_type, schema[keyword]))
    ]
    return {**brief, "allOf": [*brief.get("allOf", ()), *conditions]} if conditions else brief


def _condition(keyword: str, brief: list[object], alternatives: list[object]) -> JsonObject:
    """Builds the condition: one of these fits, or the value is rejected, for the reason of the only alternative with
    more than a type, if there is exactly one."""
    types = [one for one in alternatives if _is_mere_type(one)]
    told = [one for one, whole in zip(brief, alternatives, strict=True) if not _is_mere_type(whole)]
    if keyword == "anyOf" and types and len(told) == 1:
        return {"if": {"anyOf": types}, "else": told[0]}
    return {"if": {keyword: alternatives}, "else": {"not": {}}}


def _is_mere_type(schema: object) -> bool:
    return isinstance(schema, dict) and "type" in schema and schema.keys() <= _WORDS
