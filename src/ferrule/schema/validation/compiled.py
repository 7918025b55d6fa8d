"""Validators of tool schemas, compiled on first use and kept in a bounded cache: a validator weighs ten times its schema."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jsonschema_rs
import msgspec

KEPT = 4096
"""How many validators are kept; the least used go first."""
_PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=100_000)
"""A pattern that has to look back gives up after so many steps, and what it looked at does not fit."""


@lru_cache(maxsize=KEPT)
def compiled_schema(schema: bytes) -> jsonschema_rs.Validator:
    """The validator of a JSON Schema. Formats are not asserted and nothing is fetched. Raises what jsonschema-rs raises."""
    return validator_of(msgspec.json.decode(schema))


def validator_of(value: Any) -> jsonschema_rs.Validator:
    """The same for a schema that is read already, and not kept."""
    try:
        return jsonschema_rs.validator_for(value, validate_formats=False, offline=True, pattern_options=_PATTERNS)
    except jsonschema_rs.ValidationError:
        if not isinstance(value, dict) or "$schema" in value:
            raise
        # Without a `$schema`, what either draft accepts is accepted: draft-07 has lists under `items`.
        return jsonschema_rs.Draft7Validator(value, validate_formats=False, offline=True, pattern_options=_PATTERNS)


def first_error(validator: jsonschema_rs.Validator, value: Any) -> jsonschema_rs.ValidationError | None:
    """The first thing that is wrong with a value; None when it fits."""
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return error
    return None
