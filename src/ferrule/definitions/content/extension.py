"""The object under our key in a document: what it says of a tool beside the words of its own format, written and read back.

`differences` compares two tools, `carried` makes the object from what the document's own words would not give, `restored`
reads it. What the document says in its own words wins wherever somebody changed it since: `instead_of` holds what those
words gave when the object was written. Nothing in it lets a tool do more than its document says without it, apart from a
safety fact that is stated there, which counts like any statement of an author. It knows no dialect and no format.
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
from ferrule.model.value import JsonValue

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
"""Fields that every format gives without anybody having said them."""
_IDLE = frozenset({"draft", "disabled", "requires_setup", "retired"})
"""Lifecycles of tools that nobody may call."""
_NOTHING: tuple[Any, ...] = (None, (), "", False)
_EMPTY_SCHEMA = b"{}"
_TYPES: dict[str, Any] = {
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


class Misfit(NamedTuple):
    """A member of an extension that cannot be used."""

    member: str
    message: str


def differences(tool: Tool, back: Tool) -> list[str]:
    """The canonical fields in which two tools differ: `title`, `facts.strict`, `input_schema/properties/when/format`."""
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
            found += _places(field, mine, theirs)
        else:
            found.append(field)
    return found


def carried(tool: Tool, back: Tool, *, with_origin: bool = True) -> dict[str, Any]:
    """What reading a document would not give of a tool, when it gives `back`. Empty when it gives everything."""
    extension: dict[str, Any] = {}
    replaced: dict[str, Any] = {}
    for field in dict.fromkeys(place.partition("/")[0] for place in differences(tool, back)):
        name, _, fact = field.partition(".")
        if fact:
            extension.setdefault("facts", {})[fact] = getattr(tool.facts, fact)
        else:
            extension[name] = as_json(tool, name)
        was = _witness(back, field)
        if was not in (None, [], "", False) or fact:
            replaced[field] = was
    if "facts" in extension and set(back.inferred_facts) - extension["facts"].keys() != set(tool.inferred_facts):
        extension["inferred_facts"] = list(tool.inferred_facts)
        replaced["inferred_facts"] = list(back.inferred_facts)
    if replaced:
        extension[INSTEAD_OF] = replaced
    if with_origin and tool.dialect != back.dialect:
        extension[ORIGIN] = {"dialect": tool.dialect, "payload": decoded(tool.payload)}
    elif (mappings := native_refs(tool)) and mappings != native_refs(back):
        extension[MAPPINGS] = list(mappings)
    return extension


def restored(tool: Tool, extension: JsonValue) -> Tool:
    """The tool with everything that its extension says, in the form it had before it was converted. Members that cannot be
    used are passed over (`misfits` tells them)."""
    if not isinstance(extension, dict):
        return tool
    origin = _read(extension, ORIGIN, Origin)
    tool = _with_words(tool, extension, FIELDS)
    if origin is not None and origin.dialect:
        return msgspec.structs.replace(tool, dialect=origin.dialect, payload=raw(origin.payload))
    return tool


STATED = (
    "title", "aliases", "search_hint", "tags", "owner", "capability_refs", "lifecycle", "tool_kind", "facts",
    "inferred_facts", "approval_required", "max_calls_per_run",
)  # fmt: skip
"""Fields that count in the workspace a definition lies in. Identity, schemas and credentials are the definition's own there."""


def stated(tool: Tool, extension: JsonValue) -> Tool:
    """The tool with what its extension says about it in the workspace it lies in: its form and identity stay."""
    if not isinstance(extension, dict):
        return tool
    said = _with_words(tool, extension, STATED)
    if not loosened(tool, said):
        return said
    tame = {"facts": tool.facts, "inferred_facts": tool.inferred_facts, "lifecycle": tool.lifecycle}
    return msgspec.structs.replace(said, **tame)


def loosened(tool: Tool, after: Tool) -> list[str]:
    """In what a tool is more harmless, or more alive, than its document says in its own words: what its extension claims is
    then not for a reader to believe unasked."""
    found: list[str] = []
    if tool.facts.is_destructive is True:
        found += ["is_destructive"] if after.facts.is_destructive is False else []
        found += ["is_read_only"] if after.facts.is_read_only is True and tool.facts.is_read_only is not True else []
    if tool.lifecycle in _IDLE and after.lifecycle not in _IDLE:
        found.append("lifecycle")
    return found


def extension_of(tool: Tool) -> dict[str, Any]:
    """What the definition of a tool says under our key; empty when it says nothing there."""
    if EXTENSION.encode() not in bytes(tool.payload):
        return {}
    payload = decoded(tool.payload)
    wrapper = payload.get("input_schema") if isinstance(payload, dict) else None
    for holder in (payload, wrapper):
        if isinstance(holder, dict) and isinstance(holder.get(EXTENSION), dict):
            return dict(holder[EXTENSION])
    return {}


def misfits(extension: JsonValue) -> list[Misfit]:
    """The members of an extension that cannot be used, and why."""
    if not isinstance(extension, dict):
        return [Misfit("", "must be a mapping of a tool's fields")]
    found: list[Misfit] = []
    for member, value in extension.items():
        if member == ORIGIN:
            if _read(extension, ORIGIN, Origin) is None:
                found.append(Misfit(member, "must have a `dialect` and a `payload`"))
        elif member not in _TYPES:
            found.append(Misfit(member, "is no field of a tool"))
        elif _read(extension, member, _TYPES[member], absent=msgspec.UNSET) is msgspec.UNSET:
            found.append(Misfit(member, "has not the type that this field of a tool has"))
        elif member == "facts":
            unknown = [name for name, fact in value.items() if not _is_fact(name, fact)]
            found += [Misfit(f"facts.{name}", "is no safety fact, or has not its type") for name in unknown]
        elif member == "tool_kind" and value not in TOOL_KINDS:
            found.append(Misfit(member, "is none of the kinds of tools"))
        elif member == "lifecycle" and value not in LIFECYCLES:
            found.append(Misfit(member, "is none of the lifecycles of a tool"))
    return found


def as_json(tool: Tool, field: str) -> Any:
    """A field of a tool as a JSON value."""
    value = getattr(tool, field)
    if field in _RAW:
        return None if value is None else decoded(value)
    return list(value) if isinstance(value, tuple) else msgspec.to_builtins(value)


def decoded(written: msgspec.Raw) -> Any:
    """What the bytes of a tool's schema or payload say; numbers of any size, half characters too."""
    try:
        return msgspec.json.decode(written)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return json.loads(bytes(written))


def _with_words(tool: Tool, extension: dict[str, Any], fields: tuple[str, ...]) -> Tool:
    was = _read(extension, INSTEAD_OF, dict[str, Any]) or {}
    changes: dict[str, Any] = {}
    for field in fields:
        if field in extension and field not in ("facts", "inferred_facts"):
            value = _read(extension, field, _TYPES[field], absent=msgspec.UNSET)
            if value is not msgspec.UNSET and _may_replace(tool, field, value, was):
                changes[field] = _as_field(field, value)
    if "facts" in fields:
        changes |= _facts(tool, extension, was)
    return msgspec.structs.replace(tool, **changes) if changes else tool


def _as_field(field: str, value: Any) -> Any:
    return raw(value) if field in _RAW and value is not None else value


def _may_replace(tool: Tool, field: str, value: Any, was: dict[str, Any]) -> bool:
    """Whether what the extension says counts: the document says nothing else, or still what it said back then."""
    current = getattr(tool, field)
    if field == "approval_required":
        return value is True
    if field == "max_calls_per_run":
        return value is not None and value > 0 and (current is None or value < current)
    if field == "tool_kind" and value not in TOOL_KINDS:
        return False
    if field in was:
        return bool(_same(_witness(tool, field), was[field]))
    if field == "lifecycle":
        return value in LIFECYCLES and (current not in _IDLE or value in _IDLE)
    if field in _DERIVED:
        return bool(value)
    return current in _NOTHING or (field in _RAW and bytes(current) == _EMPTY_SCHEMA)


def _facts(tool: Tool, extension: dict[str, Any], was: dict[str, Any]) -> dict[str, Any]:
    """Facts that the document does not state itself, or states as it did when the extension was written."""
    claimed = _read(extension, "facts", dict[str, Any]) or {}
    counted: dict[str, Any] = {}
    for name, value in claimed.items():
        if not _is_fact(name, value):
            continue
        key, current = f"facts.{name}", getattr(tool.facts, name)
        if _same(current, was[key]) if key in was else name in tool.inferred_facts or _same(current, value):
            counted[name] = value
    listed = _read(extension, "inferred_facts", tuple[str, ...])
    if listed is not None and "inferred_facts" in was and was["inferred_facts"] != list(tool.inferred_facts):
        listed = None
    if listed is None:
        unstated = tuple(name for name in tool.inferred_facts if name not in counted)
    else:
        unstated = tuple(name for name in FACT_NAMES if name in listed)
    if not counted and unstated == tool.inferred_facts:
        return {}
    return {"facts": msgspec.structs.replace(tool.facts, **counted), "inferred_facts": unstated}


def _is_fact(name: str, value: Any) -> bool:
    if name not in FACT_NAMES:
        return False
    try:
        msgspec.convert({name: value}, SafetyFacts)
    except msgspec.ValidationError:
        return False
    return True


def _read(extension: dict[str, Any], member: str, kind: Any, absent: Any = None) -> Any:
    """A member of an extension, or `absent` when it is not there or of another type."""
    if member not in extension:
        return absent
    try:
        return msgspec.convert(extension[member], kind)
    except (msgspec.ValidationError, RecursionError):
        return absent


def _witness(tool: Tool, field: str) -> Any:
    """What a document gives for a field, short enough to be kept beside what stands for it."""
    name, _, fact = field.partition(".")
    if fact:
        return getattr(tool.facts, fact)
    value = as_json(tool, name)
    if name not in _RAW or value is None or value == {}:
        return value or None
    return f"sha256:{hashlib.sha256(msgspec.json.encode(_plain(value), order='sorted')).hexdigest()[:16]}"


def _plain(value: Any) -> Any:
    """The value with whole numbers as such, however they were written."""
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_plain(member) for member in value]
    if isinstance(value, float) and value.is_integer():
        return int(value) if abs(value) < 2**53 else str(value)
    return str(value) if isinstance(value, int) and not -(2**63) <= value < 2**64 else value


def _same_fact(mine: SafetyFacts, theirs: SafetyFacts, name: str) -> bool:
    return _same(getattr(mine, name), getattr(theirs, name))


def _same(mine: Any, theirs: Any) -> bool:
    return next(_unlike(mine, theirs, ""), None) is None  # a place may be the empty text: the value itself


def _places(field: str, mine: msgspec.Raw | None, theirs: msgspec.Raw | None) -> list[str]:
    if mine is None or theirs is None:
        return [field]
    if bytes(mine) == bytes(theirs):
        return []
    try:
        return list(_unlike(decoded(mine), decoded(theirs), field))
    except (ValueError, RecursionError):  # bytes that are no JSON, or nested past all use
        return [field]


def _unlike(mine: Any, theirs: Any, place: str) -> Iterator[str]:
    """The places at which two JSON values differ. A member that only one of them has is one place."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for key in mine if mine.keys() == theirs.keys() else (*mine, *(key for key in theirs if key not in mine)):
            below = f"{place}/{key.replace('~', '~0').replace('/', '~1')}"
            if key in mine and key in theirs:
                yield from _unlike(mine[key], theirs[key], below)
            else:
                yield below
    elif isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        for index, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            yield from _unlike(one, other, f"{place}/{index}")
    elif isinstance(mine, bool) is not isinstance(theirs, bool) or mine != theirs:
        yield place
