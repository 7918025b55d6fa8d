"""Writes a tool in any dialect: reads the draft in the dialect's own words back, and reports the fields that differ.

Fields that differ are also written under our key, unless the caller wants no key of ours; so the report of losses is exact.
It also finds the names of a tool's credentials in any dialect: never where a secret is kept and never its value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import msgspec

from ferrule.definitions.content.extension import (
    FIELDS,
    ORIGIN,
    Origin,
    build_extension,
    decode_raw,
    find_differences,
    read_extension,
)
from ferrule.model.credentials import BadCredentials, read_credentials
from ferrule.model.diagnostic import Finding
from ferrule.model.loss import EXTENSION, Instead, Loss
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject

_KNOWN = frozenset({*FIELDS, "instead_of", "origin", "external_mappings"})


class Shortfall(NamedTuple):
    """A reason why a dialect cannot state a field, with its replacement."""

    why: str
    rule: str = ""
    put: str = ""
    """A made-up value that the dialect demands, or another way to state it."""
    is_default: bool = False
    """True for something made up."""


class DialectDraft(NamedTuple):
    """A tool in a dialect's own writer."""

    value: JsonObject
    shortfalls: Mapping[str, Shortfall]
    """By field, for those that are stated differently or not at all."""
    demands: tuple[Finding, ...] = ()
    """Findings for members that the dialect requires and no field of the tool gives."""
    is_fresh: bool = False
    """True when the draft reuses nothing of a definition in this dialect, although there may be one."""


class DialectWriter(NamedTuple):
    """The functions and names of a dialect with which tools are written in it."""

    name: str
    title: str
    rule: str
    """The requirement to name for fields without a place in the dialect."""
    draft: Callable[[Tool], DialectDraft]
    read: Callable[[JsonObject], Tool]
    """Reads the tool of a draft; members under our key do not count."""
    extend: Callable[[JsonObject, JsonObject], JsonObject]
    """Adds an object under our key to a draft's value."""


class WrittenTool(NamedTuple):
    """A tool in a dialect's own words, with the losses."""

    value: JsonObject
    losses: tuple[Loss, ...]
    demands: tuple[Finding, ...]


def write_tool(
    tool: Tool, writer: DialectWriter, native_fields: Iterable[str] = (), *, is_plain: bool = False
) -> WrittenTool:
    """Writes the tool in a dialect's writer. `native_fields`: names of fields that its own dialect has and the canonical
    model does not."""
    draft = writer.draft(tool)
    back = writer.read(draft.value)
    places = find_differences(tool, back)
    is_home = tool.dialect == writer.name and not draft.is_fresh
    # A draft that began with the tool's own definition still has its native fields.
    own = () if is_home else tuple(f"{tool.dialect}.{name}" for name in native_fields)
    extension = {} if is_plain else _build_extension(tool, back)
    if own and not is_plain:
        extension.setdefault(ORIGIN, {"dialect": tool.dialect, "payload": decode_raw(tool.payload)})
    value = writer.extend(draft.value, extension) if extension else draft.value
    losses = [_describe_loss(tool, place, draft.shortfalls, writer, is_plain) for place in places]
    losses += [
        Loss(
            tool_id=tool.tool_id,
            field=name,
            why=f"{writer.title} has no word for it",
            instead="dropped" if is_plain else "extension",
            put="" if is_plain else EXTENSION,
            rule=writer.rule,
        )
        for name in own
    ]
    return WrittenTool(value, tuple(losses), draft.demands)


def find_base(tool: Tool, dialect: str) -> JsonObject | None:
    """Returns a tool's definition in a dialect: its own payload, or that of the form it had before it was converted."""
    if tool.dialect == dialect:
        payload = decode_raw(tool.payload)
    else:
        try:
            origin = msgspec.convert(read_extension(tool).get("origin"), Origin)
        except msgspec.ValidationError:
            return None
        payload = origin.payload if origin.dialect == dialect else None
    return payload if isinstance(payload, dict) and payload else None


def _build_extension(tool: Tool, back: Tool) -> JsonObject:
    """Builds the object under our key; keeps members that a newer version of Ferrule may know."""
    extension = build_extension(tool, back)
    if tool.dialect == back.dialect and (before := read_extension(tool)):
        kept = {key: value for key, value in before.items() if key not in _KNOWN or key == "origin"}
        return {**kept, **extension}
    return extension


def _describe_loss(
    tool: Tool, place: str, shortfalls: Mapping[str, Shortfall], writer: DialectWriter, is_plain: bool
) -> Loss:
    field = place.partition("/")[0]
    known = (
        shortfalls.get(place) or shortfalls.get(field) or Shortfall(f"{writer.title} has no place for it", writer.rule)
    )
    instead: Instead = "extension"
    if is_plain:
        instead = "default" if known.is_default else "dropped"
    put = known.put if is_plain else EXTENSION
    return Loss(tool_id=tool.tool_id, field=place, why=known.why, instead=instead, put=put, rule=known.rule)


_REQUIREMENTS = frozenset({"authorization", "secrets", "user_id"})


def build_requirements(credentials: object) -> JsonObject | None:
    """Returns the credentials of any dialect as OXP states them (OXP-14 to OXP-17); None when none has a name."""
    if isinstance(credentials, dict) and not _REQUIREMENTS.isdisjoint(credentials):
        return credentials
    if isinstance(credentials, dict) and "scheme" in credentials:
        return _convert_scheme(credentials)
    names = list_secret_names(credentials)
    return {"secrets": [{"id": name} for name in names]} if names else None


def list_secret_names(credentials: object) -> tuple[str, ...]:
    """Lists the names of the secrets and providers in the credentials of any dialect."""
    if isinstance(credentials, list):
        return tuple(name for name in credentials if isinstance(name, str) and name)
    if not isinstance(credentials, dict):
        return ()
    if isinstance(credentials.get("environment"), list):
        return list_secret_names(credentials["environment"])
    needed = _convert_scheme(credentials) if "scheme" in credentials else credentials
    items = [item for key in ("secrets", "authorization") for item in _list_items(needed, key)]
    return tuple(dict.fromkeys(item["id"] for item in items if isinstance(item.get("id"), str) and item["id"]))


def _list_items(needed: JsonObject | None, key: str) -> list[JsonObject]:
    found = (needed or {}).get(key)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _convert_scheme(written: JsonObject) -> JsonObject | None:
    """Converts the credentials of an AML transport: a secret by name, a token by provider; None for a platform's role."""
    try:
        credentials = read_credentials(written)
    except BadCredentials:
        return None
    if credentials.scheme == "oauth2":
        provider = {"id": credentials.provider or credentials.label}
        return {"authorization": [{**provider, "oauth2": {"scopes": list(credentials.scopes)}}]}
    if credentials.ref is None or not credentials.ref.label:
        return None
    return {"secrets": [{"id": credentials.ref.label}]}
