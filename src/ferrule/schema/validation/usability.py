"""Usability: checks whether calls can be validated by a schema.

A sound schema may still be unusable here: its `$schema` names a dialect that the validator does not know, or it refers
to another document, and nothing is ever fetched (MCP-136, MCP-138). The validator itself decides: a schema it accepts
has no defect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from ferrule.model.value import JsonObject, Path
from ferrule.schema.references import SchemaAddresses, SchemaResource, join_address, survey
from ferrule.schema.validation.latest_draft import draft_of
from ferrule.schema.validation.soundness import SchemaDefect, schema_defects
from ferrule.schema.validation.validators import validator_of
from ferrule.schema.walk import positions

_REFERENCES = ("$ref", "$dynamicRef")
_ODD = re.compile(r"[^\w!#$%&'()*+,./:;=?@~-]|[^\x00-\x7f]")
"""Characters that have to be escaped in a reference."""
_ASIDE = re.compile(rb'"\$(?:(?:r|dynamicR)ef"\s*:\s*"(?!#)|schema"\s*:\s*"([^"]*)")')
"""Where a schema written as JSON points out of itself, or names a dialect."""
_DIALECT = SchemaDefect(
    ("$schema",),
    "names a dialect that is not known here, so no call could be checked",
    "leave it out, or name one of JSON Schema's own: https://json-schema.org/draft/2020-12/schema, 2019-09, draft-07, -06 or -04",
)


def call_defects(schema: object) -> list[SchemaDefect]:
    """Returns everything that keeps calls from being checked by a schema: where it is invalid, and where it is
    unusable here.

    Defects in the keywords of an unknown dialect cannot be found.
    """
    if not isinstance(schema, dict):
        return schema_defects(schema)
    if _is_foreign(schema):
        return [_DIALECT]
    return schema_defects(schema) + _unreachable(schema)


def why_unusable(schema: bytes) -> str | None:
    """Returns why no call can be checked by a sound schema, with what to do about it; None when calls can be."""
    if b'"$' not in schema or not any(map(_is_strange, _ASIDE.finditer(schema))):
        return None
    value = msgspec.json.decode(schema)
    if _is_taken(value):
        return None
    defect = next(iter(call_defects(value)), None)
    if defect is None:
        return "no validator takes it; 'ferrule check' may tell why"
    return defect.sentence() if defect.hint is None else f"{defect.sentence()}; {defect.hint}"


def _is_strange(found: re.Match[bytes]) -> bool:
    return found[1] is None or draft_of(found[1].decode("utf-8", "replace")) is None


def _is_foreign(schema: JsonObject) -> bool:
    said = schema.get("$schema")
    return isinstance(said, str) and draft_of(said) is None and not _is_taken(schema)


def _is_taken(schema: JsonObject) -> bool:
    try:
        validator_of(schema)
    except Exception:  # jsonschema-rs raises many types for invalid schemas
        return False
    return True


def _unreachable(schema: JsonObject) -> list[SchemaDefect]:
    """Returns references that lead out of a schema, or cannot be read."""
    suspects = list(_suspects(schema))
    if not suspects or _is_taken(schema):
        return []
    addresses, places = survey(schema)
    return [
        _odd(path, reference) if _ODD.search(reference) else _elsewhere(path, reference)
        for path, reference in suspects
        if _ODD.search(reference) or not _is_here(addresses, places[path[:-1]], reference)
    ]


def _suspects(schema: JsonObject) -> Iterator[tuple[Path, str]]:
    for position in positions(schema):
        for keyword in _REFERENCES:
            reference = position.schema.get(keyword)
            if isinstance(reference, str) and (reference[:1] not in ("#", "") or _ODD.search(reference)):
                yield (*position.path, keyword), reference


def _odd(path: Path, reference: str) -> SchemaDefect:
    found = _ODD.search(reference)
    sign = found[0] if found else ""
    escaped = "".join(f"%{byte:02X}" for byte in sign.encode(errors="replace"))
    return SchemaDefect(
        path, "is no reference that can be read, so no call could be checked", f"write {sign!r} as {escaped}"
    )


def _elsewhere(path: Path, reference: str) -> SchemaDefect:
    message = f"points at {reference[:80]!r}, another document, and nothing is fetched, so no call could be checked"
    return SchemaDefect(path, message, "write what it points at under `$defs` of this schema, and point there")


def _is_here(addresses: SchemaAddresses, place: SchemaResource, reference: str) -> bool:
    """Returns True when the target of a reference may be in this schema, or comes with the validator."""
    address = reference.partition("#")[0]
    whole = join_address(place.base, address)
    return not addresses.resources.keys().isdisjoint((whole, address)) or _is_taken({"$ref": whole})
