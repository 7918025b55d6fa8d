"""Soundness: is a schema sound, does a value fit, is a pattern a pattern.

Formats are never asserted here and nothing is ever fetched.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import jsonschema_rs

from ferrule.model.value import JsonValue, Path

_DRAFTS = {
    "http://json-schema.org/draft-04/schema": jsonschema_rs.Draft4,
    "http://json-schema.org/draft-06/schema": jsonschema_rs.Draft6,
    "http://json-schema.org/draft-07/schema": jsonschema_rs.Draft7,
    "https://json-schema.org/draft/2019-09/schema": jsonschema_rs.Draft201909,
    "https://json-schema.org/draft/2020-12/schema": jsonschema_rs.Draft202012,
}


class SchemaDefect(NamedTuple):
    """What is wrong with a schema, at the offending keyword."""

    path: Path
    message: str


def fits(schema: dict[str, Any] | bool, value: JsonValue) -> bool:
    """Whether a value is valid for a schema; True when the schema itself cannot be used."""
    try:
        return bool(jsonschema_rs.is_valid(schema, value, draft=jsonschema_rs.Draft7, validate_formats=False))
    except Exception:  # an unusable schema is another rule's finding
        return True


@lru_cache(maxsize=4096)
def is_pattern(pattern: str) -> bool:
    """Whether a regular expression compiles by ECMA-262."""
    try:
        jsonschema_rs.validator_for({"pattern": pattern})
    except Exception:
        return False
    return True


def schema_defects(schema: Any) -> list[SchemaDefect]:
    """Every place where a JSON Schema validator rejects the schema, one per keyword.

    The dialect is that of `$schema`; without one, what either draft 2020-12 or draft-07 accepts is accepted.
    """
    raise NotImplementedError
