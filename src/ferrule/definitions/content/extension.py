"""The object under our key in a document: the fields of a tool for which its own format has no words, written and read back.

`find_differences` compares two tools, `build_extension` collects what reading the document alone would lose, and
`restore_tool` applies it again. The document's own words win wherever they changed since: `instead_of` holds their values at
the time of writing. No member lets a tool do more than its document says without it, apart from a safety fact stated there,
which counts like any statement of an author. It knows no dialect and no format.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from ferrule.model.loss import EXTENSION
from ferrule.model.native_definition import native_refs
from ferrule.model.tool import FACT_NAMES, LIFECYCLES, TOOL_KINDS, Exposure, SafetyFacts, Tool, raw
from ferrule.model.value import JsonObject, JsonValue

IDENTITY = ("tool_id", "namespace", "name", "version")
SCHEMAS = ("input_schema", "runtime_input_schema", "output_schema")
_RAW = frozenset({*SCHEMAS, "credentials"})
FIELDS = (
    *IDENTITY, "title", "description", "aliases", "search_hint", "tags", "owner", "capability_refs", "lifecycle",
    "tool_kind", "facts", "inferred_facts", *SCHEMAS, "approval_required", "max_calls_per_run", "credentials",
    "exposed_as",
)  # fmt: skip
"""The canonical fields of a tool: all but the dialect and its payload."""
INSTEAD_OF, ORIGIN, MAPPINGS = "instead_of", "origin", "external_mappings"
_DERIVED = frozenset({"tool_id", "namespace", "name", "lifecycle", "tool_kind", "inferred_facts"})
"""Fields that every format yields although no author stated them."""
_IDLE = frozenset({"draft", "disabled", "requires_setup", "retired"})
"""Lifecycles of tools that cannot be called."""
_NOTHING: tuple[Any, ...] = (None, (), "", False)
_EMPTY_SCHEMA = b"{}"
_TYPES: JsonObject = {
    **dict.fromkeys((*IDENTITY, "description", "lifecycle", "tool_kind"), str),
    **dict.fromkeys(("version", "title", "search_hint", "owner"), str | None),
    **dict.fromkeys(("aliases", "tags", "capability_refs", "inferred_facts"), tuple[str, ...]),
    **dict.fromkeys(SCHEMAS, dict[str, Any] | bool | None),
    "input_schema": dict[str, Any] | bool,
    "facts": dict[str, Any],
    "approval_required": bool,
    "max_calls_per_run": int | None,
    "credentials": dict[str, Any] | list[Any] | str | None,
    "exposed_as": Exposure | None,
    INSTEAD_OF: dict[str, Any],
    MAPPINGS: list[dict[str, Any]],
}


class Origin(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    """The form a tool had before it was converted."""

    dialect: str
    payload: dict[str, Any]


class BadMember(NamedTuple):
    """A member of an extension that cannot be used."""

    member: str
    message: str


def find_differences(tool: Tool, back: Tool) -> list[str]:
    """Returns the canonical fields in which two tools differ: `title`, `facts.strict`, `input_schema/properties/x/format`."""
    found: list[str] = []
    for field in FIELDS:
        mine, theirs = getattr(tool, field), getattr(back, field)
        if mine is theirs or mine == theirs:
            continue
        if field == "facts":
            found += [f"facts.{name}" for name in FACT_NAMES if not _same_fact(tool.facts, back.facts, name)]
        elif field == "inferred_facts":
            found += [field] if set(mine) != set(theirs) else []
        elif field in _RAW:
            found += _find_schema_differences(field, mine, theirs)
        else:
            found.append(field)
    return found


def build_extension(tool: Tool, back: Tool, *, with_origin: bool = True) -> JsonObject:
    """Returns the members that a document needs besides its own words, which read back as `back`; empty when none."""
    extension: JsonObject = {}
    replaced: JsonObject = {}
    for field in dict.fromkeys(place.partition("/")[0] for place in find_differences(tool, back)):
        name, _, fact = field.partition(".")
        if fact:
            extension.setdefault("facts", {})[fact] = getattr(tool.facts, fact)
        else:
            extension[name] = encode_field(tool, name)
        was = _fingerprint_field(back, field)
        if was not in (None, [], "", False) or fact:
            replaced[field] = was
    if "facts" in extension and set(back.inferred_facts) - extension["facts"].keys() != set(tool.inferred_facts):
        extension["inferred_facts"] = list(tool.inferred_facts)
        replaced["inferred_facts"] = list(back.inferred_facts)
    if replaced:
        extension[INSTEAD_OF] = replaced
    if with_origin and tool.dialect != back.dialect:
        extension[ORIGIN] = {"dialect": tool.dialect, "payload": decode_raw(tool.payload)}
    elif (mappings := native_refs(tool)) and mappings != native_refs(back):
        extension[MAPPINGS] = list(mappings)
    return extension


def restore_tool(tool: Tool, extension: JsonValue) -> Tool:
    """Applies a whole extension: the tool in the form it had before it was converted. Skips members that
    `find_bad_members` reports."""
    if not isinstance(extension, dict):
        return tool
    origin = _read_member(extension, ORIGIN, Origin)
    tool = _apply_members(tool, extension, FIELDS)
    if origin is not None and origin.dialect:
        return msgspec.structs.replace(tool, dialect=origin.dialect, payload=raw(origin.payload))
    return tool


STATED = (
    "title", "aliases", "search_hint", "tags", "owner", "capability_refs", "lifecycle", "tool_kind", "facts",
    "inferred_facts", "approval_required", "max_calls_per_run",
)  # fmt: skip
"""Fields that count in the workspace a definition lies in. Identity, schemas and credentials are the definition's own there."""


def apply_extension(tool: Tool, extension: JsonValue) -> Tool:
    """Applies the members of an extension that count in a workspace; form and identity of the tool stay."""
    if not isinstance(extension, dict):
        return tool
    extended = _apply_members(tool, extension, STATED)
    if not find_loosened_fields(tool, extended):
        return extended
    # An extension must not make a tool look safer than its own document does.
    return msgspec.structs.replace(
        extended, facts=tool.facts, inferred_facts=tool.inferred_facts, lifecycle=tool.lifecycle
    )


def find_loosened_fields(tool: Tool, after: Tool) -> list[str]:
    """Returns the fields in which an extension makes a tool safer or more available than its document's own words; a
    reader must not believe these unasked."""
    found: list[str] = []
    if tool.facts.is_destructive is True:
        found += ["is_destructive"] if after.facts.is_destructive is False else []
        found += ["is_read_only"] if after.facts.is_read_only is True and tool.facts.is_read_only is not True else []
    if tool.lifecycle in _IDLE and after.lifecycle not in _IDLE:
        found.append("lifecycle")
    return found


def read_extension(tool: Tool) -> JsonObject:
    """Returns the object under our key in a tool's definition; empty when there is none."""
    if EXTENSION.encode() not in bytes(tool.payload):
        return {}
    payload = decode_raw(tool.payload)
    wrapper = payload.get("input_schema") if isinstance(payload, dict) else None
    for holder in (payload, wrapper):
        if isinstance(holder, dict) and isinstance(holder.get(EXTENSION), dict):
            return dict(holder[EXTENSION])
    return {}


def find_bad_members(extension: JsonValue) -> list[BadMember]:
    """Returns the members of an extension that cannot be used, with the reason."""
    if not isinstance(extension, dict):
        return [BadMember("", "must be a mapping of a tool's fields")]
    found: list[BadMember] = []
    for member, value in extension.items():
        if member == ORIGIN:
            if _read_member(extension, ORIGIN, Origin) is None:
                found.append(BadMember(member, "must have a `dialect` and a `payload`"))
        elif member not in _TYPES:
            found.append(BadMember(member, "is no field of a tool"))
        elif _read_member(extension, member, _TYPES[member], absent=msgspec.UNSET) is msgspec.UNSET:
            found.append(BadMember(member, "has not the type that this field of a tool has"))
        elif member == "facts":
            unknown = [name for name, fact in value.items() if not _is_fact(name, fact)]
            found += [BadMember(f"facts.{name}", "is no safety fact, or has not its type") for name in unknown]
        elif member == "tool_kind" and value not in TOOL_KINDS:
            found.append(BadMember(member, "is none of the kinds of tools"))
        elif member == "lifecycle" and value not in LIFECYCLES:
            found.append(BadMember(member, "is none of the lifecycles of a tool"))
    return found


def encode_field(tool: Tool, field: str) -> JsonValue:
    """Returns a field of a tool as a JSON value."""
    value = getattr(tool, field)
    if field in _RAW:
        return None if value is None else decode_raw(value)
    return list(value) if isinstance(value, tuple) else msgspec.to_builtins(value)


def decode_raw(written: msgspec.Raw) -> Any:
    """Decodes a tool's schema or payload."""
    try:
        return msgspec.json.decode(written)
    except (
        msgspec.DecodeError,
        UnicodeDecodeError,
    ):  # msgspec refuses huge numbers and lone surrogates; json takes them
        return json.loads(bytes(written))


def _apply_members(tool: Tool, extension: JsonObject, fields: tuple[str, ...]) -> Tool:
    was = _read_member(extension, INSTEAD_OF, dict[str, Any]) or {}
    changes: JsonObject = {}
    for field in fields:
        if field in extension and field not in ("facts", "inferred_facts"):
            value = _read_member(extension, field, _TYPES[field], absent=msgspec.UNSET)
            if value is not msgspec.UNSET and _may_replace(tool, field, value, was):
                changes[field] = _convert_member(field, value)
    if "facts" in fields:
        changes |= _merge_facts(tool, extension, was)
    return msgspec.structs.replace(tool, **changes) if changes else tool


def _convert_member(field: str, value: object) -> Any:
    return raw(value) if field in _RAW and value is not None else value


def _may_replace(tool: Tool, field: str, value: Any, was: JsonObject) -> bool:
    """Returns True when the document states nothing for the field, or still the value it had when the extension was written."""
    current = getattr(tool, field)
    # These two only ever become stricter, so they need no `instead_of`.
    if field == "approval_required":
        return value is True
    if field == "max_calls_per_run":
        return value is not None and value > 0 and (current is None or value < current)
    if field == "tool_kind" and value not in TOOL_KINDS:
        return False
    if field in was:
        return bool(_is_same(_fingerprint_field(tool, field), was[field]))
    # An extension wakes no tool that its document has put to rest.
    if field == "lifecycle":
        return value in LIFECYCLES and (current not in _IDLE or value in _IDLE)
    if field in _DERIVED:
        return bool(value)
    return current in _NOTHING or (field in _RAW and bytes(current) == _EMPTY_SCHEMA)


def _merge_facts(tool: Tool, extension: JsonObject, was: JsonObject) -> JsonObject:
    """Returns the changed facts: those the document does not state, or states as when the extension was written."""
    claimed = _read_member(extension, "facts", dict[str, Any]) or {}
    counted: JsonObject = {}
    for name, value in claimed.items():
        if not _is_fact(name, value):
            continue
        key, current = f"facts.{name}", getattr(tool.facts, name)
        if _is_same(current, was[key]) if key in was else name in tool.inferred_facts or _is_same(current, value):
            counted[name] = value
    listed = _read_member(extension, "inferred_facts", tuple[str, ...])
    if listed is not None and "inferred_facts" in was and was["inferred_facts"] != list(tool.inferred_facts):
        listed = None
    if listed is None:
        unstated = tuple(name for name in tool.inferred_facts if name not in counted)
    else:
        unstated = tuple(name for name in FACT_NAMES if name in listed)
    if not counted and unstated == tool.inferred_facts:
        return {}
    return {"facts": msgspec.structs.replace(tool.facts, **counted), "inferred_facts": unstated}


def _is_fact(name: str, value: object) -> bool:
    if name not in FACT_NAMES:
        return False
    try:
        msgspec.convert({name: value}, SafetyFacts)
    except msgspec.ValidationError:
        return False
    return True


def _read_member(extension: JsonObject, member: str, kind: object, absent: object = None) -> Any:
    """Returns a member of an extension, or `absent` when it is missing or of another type."""
    if member not in extension:
        return absent
    try:
        return msgspec.convert(extension[member], kind)
    except (msgspec.ValidationError, RecursionError):
        return absent


def _fingerprint_field(tool: Tool, field: str) -> Any:
    """Returns a document's value for a field, a schema as its hash, so that `instead_of` stays short."""
    name, _, fact = field.partition(".")
    if fact:
        return getattr(tool.facts, fact)
    value = encode_field(tool, name)
    if name not in _RAW or value is None or value == {}:
        return value or None
    return f"sha256:{hashlib.sha256(msgspec.json.encode(_normalize_numbers(value), order='sorted')).hexdigest()[:16]}"


def _normalize_numbers(value: object) -> Any:
    """Returns the value with whole numbers as integers, so that `1` and `1.0` hash alike."""
    if isinstance(value, dict):
        return {key: _normalize_numbers(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_normalize_numbers(member) for member in value]
    if isinstance(value, float) and value.is_integer():
        return int(value) if abs(value) < 2**53 else str(value)
    # msgspec encodes no integer beyond 64 bits.
    return str(value) if isinstance(value, int) and not -(2**63) <= value < 2**64 else value


def _same_fact(mine: SafetyFacts, theirs: SafetyFacts, name: str) -> bool:
    return _is_same(getattr(mine, name), getattr(theirs, name))


def _is_same(mine: object, theirs: object) -> bool:
    return next(_walk_differences(mine, theirs, ""), None) is None  # not any(): the place of the value itself is ""


def _find_schema_differences(field: str, mine: msgspec.Raw | None, theirs: msgspec.Raw | None) -> list[str]:
    if mine is None or theirs is None:
        return [field]
    if bytes(mine) == bytes(theirs):
        return []
    try:
        return list(_walk_differences(decode_raw(mine), decode_raw(theirs), field))
    except (ValueError, RecursionError):  # bytes that are no JSON, or nested past all use
        return [field]


def _walk_differences(mine: object, theirs: object, place: str) -> Iterator[str]:
    """Yields the places at which two JSON values differ. A member that only one of them has is one place."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for key in mine if mine.keys() == theirs.keys() else (*mine, *(key for key in theirs if key not in mine)):
            below = f"{place}/{key.replace('~', '~0').replace('/', '~1')}"
            if key in mine and key in theirs:
                yield from _walk_differences(mine[key], theirs[key], below)
            else:
                yield below
    elif isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        for index, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            yield from _walk_differences(one, other, f"{place}/{index}")
    # Python says True == 1, JSON Schema does not.
    elif isinstance(mine, bool) is not isinstance(theirs, bool) or mine != theirs:
        yield place
