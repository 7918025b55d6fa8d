"""A schema that takes the same values and says less of those it refuses: that no alternative fits, not why each does not.

The validator tells everything that is wrong with every alternative, even where one thing is asked for. With a long list under
`anyOf` that is hundreds of thousands of errors.
"""

from __future__ import annotations

from typing import Any

from ferrule.schema.walk import LIST_KEYWORDS, MAP_KEYWORDS, SCHEMA_KEYWORDS

_ALTERNATIVES = ("anyOf", "oneOf")
_WORDS = frozenset({"type", "title", "description"})
"""What a schema has that asks for a type and nothing else."""


def brief_schema(schema: Any) -> Any:
    """The schema, with its alternatives as conditions. Not for a draft without `if`, nor where a `$ref` leads into one."""
    if not isinstance(schema, dict):
        return schema
    brief = {keyword: _operand(keyword, operand) for keyword, operand in schema.items()}
    conditions = [
        _condition(keyword, brief.pop(keyword), schema[keyword])
        for keyword in _ALTERNATIVES
        if isinstance(brief.get(keyword), list) and not all(map(_is_mere_type, schema[keyword]))
    ]
    return {**brief, "allOf": [*brief.get("allOf", ()), *conditions]} if conditions else brief


def _condition(keyword: str, brief: list[Any], alternatives: list[Any]) -> dict[str, Any]:
    """One of these fits, or the value is refused: for what the only one with more than a type says, if there is one such."""
    types = [one for one in alternatives if _is_mere_type(one)]
    told = [one for one, whole in zip(brief, alternatives, strict=True) if not _is_mere_type(whole)]
    if keyword == "anyOf" and types and len(told) == 1:
        return {"if": {"anyOf": types}, "else": told[0]}
    return {"if": {keyword: alternatives}, "else": {"not": {}}}


def _is_mere_type(schema: Any) -> bool:
    return isinstance(schema, dict) and "type" in schema and schema.keys() <= _WORDS


def _operand(keyword: str, operand: Any) -> Any:
    if keyword in MAP_KEYWORDS and isinstance(operand, dict):
        return {name: brief_schema(member) for name, member in operand.items()}
    if (keyword in LIST_KEYWORDS or keyword == "items") and isinstance(operand, list):
        return [brief_schema(member) for member in operand]
    return brief_schema(operand) if keyword in SCHEMA_KEYWORDS else operand
