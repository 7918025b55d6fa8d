"""Writes a tool in any dialect: reads a draft in the dialect's own words back, and reports what that does not give.

What is missing is also carried under our key, unless the caller wants no key of ours; so a report of losses holds neither
more nor less. The names of a tool's credentials are found here too, whatever dialect says them: names, never where a secret
is kept and never its value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from ferrule.definitions.content.extension import FIELDS, ORIGIN, Origin, carried, decoded, differences, extension_of
from ferrule.model.credentials import BadCredentials, read_credentials
from ferrule.model.diagnostic import Finding
from ferrule.model.loss import EXTENSION, Instead, Loss
from ferrule.model.tool import Tool

_KNOWN = frozenset({*FIELDS, "instead_of", "origin", "external_mappings"})


class Told(NamedTuple):
    """Why a dialect cannot say a field, and what stands there now."""

    why: str
    rule: str = ""
    put: str = ""
    """Made up because the dialect demands something, or another way to say it."""
    is_default: bool = False
    """True for something made up."""


class Draft(NamedTuple):
    """A tool in a dialect's own words."""

    value: dict[str, Any]
    told: Mapping[str, Told]
    """By field, for those that are said differently or not at all."""
    demands: tuple[Finding, ...] = ()
    """What the dialect wants to know and nobody said."""
    is_fresh: bool = False
    """True when nothing of a definition in this dialect was taken over, although there may be one."""


class Words(NamedTuple):
    """What a dialect has to tell about itself so that tools can be written in it."""

    name: str
    title: str
    rule: str
    """The requirement behind what it has no place for."""
    draft: Callable[[Tool], Draft]
    read: Callable[[dict[str, Any]], Tool]
    """The tool of a draft; what stands under our key does not count."""
    extended: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]
    """A draft's value with an object under our key."""


class Written(NamedTuple):
    """A tool in a dialect's own words, and what they do not say."""

    value: dict[str, Any]
    losses: tuple[Loss, ...]
    demands: tuple[Finding, ...]


def written(tool: Tool, words: Words, beyond: Iterable[str] = (), *, is_plain: bool = False) -> Written:
    """The tool in a dialect's words. `beyond`: names of what its own dialect says and no canonical field does."""
    draft = words.draft(tool)
    back = words.read(draft.value)
    places = differences(tool, back)
    is_home = tool.dialect == words.name and not draft.is_fresh
    own = () if is_home else tuple(f"{tool.dialect}.{name}" for name in beyond)
    extension = {} if is_plain else _extension(tool, back)
    if own and not is_plain:
        extension.setdefault(ORIGIN, {"dialect": tool.dialect, "payload": decoded(tool.payload)})
    value = words.extended(draft.value, extension) if extension else draft.value
    losses = [_loss(tool, place, draft.told, words, is_plain) for place in places]
    losses += [
        Loss(
            tool_id=tool.tool_id,
            field=name,
            why=f"{words.title} has no word for it",
            instead="dropped" if is_plain else "extension",
            put="" if is_plain else EXTENSION,
            rule=words.rule,
        )
        for name in own
    ]
    return Written(value, tuple(losses), draft.demands)


def base_of(tool: Tool, dialect: str) -> dict[str, Any] | None:
    """What a tool's definition was in a dialect, where it is known: its own payload, or that of the form it had before."""
    if tool.dialect == dialect:
        payload = decoded(tool.payload)
    else:
        try:
            origin = msgspec.convert(extension_of(tool).get("origin"), Origin)
        except msgspec.ValidationError:
            return None
        payload = origin.payload if origin.dialect == dialect else None
    return payload if isinstance(payload, dict) and payload else None


def _extension(tool: Tool, back: Tool) -> dict[str, Any]:
    """What is carried, and members of ours that a newer version may know."""
    extension = carried(tool, back)
    if tool.dialect == back.dialect and (before := extension_of(tool)):
        kept = {key: value for key, value in before.items() if key not in _KNOWN or key == "origin"}
        return {**kept, **extension}
    return extension


def _loss(tool: Tool, place: str, told: Mapping[str, Told], words: Words, is_plain: bool) -> Loss:
    field = place.partition("/")[0]
    known = told.get(place) or told.get(field) or Told(f"{words.title} has no place for it", words.rule)
    instead: Instead = "extension"
    if is_plain:
        instead = "default" if known.is_default else "dropped"
    put = known.put if is_plain else EXTENSION
    return Loss(tool_id=tool.tool_id, field=place, why=known.why, instead=instead, put=put, rule=known.rule)


_REQUIREMENTS = frozenset({"authorization", "secrets", "user_id"})


def requirements_of(credentials: Any) -> dict[str, Any] | None:
    """The credentials of any dialect as OXP requires them (OXP-14 to OXP-17); None when nothing is required by name."""
    if isinstance(credentials, dict) and not _REQUIREMENTS.isdisjoint(credentials):
        return credentials
    if isinstance(credentials, dict) and "scheme" in credentials:
        return _of_scheme(credentials)
    names = secret_names(credentials)
    return {"secrets": [{"id": name} for name in names]} if names else None


def secret_names(credentials: Any) -> tuple[str, ...]:
    """The names by which secrets and providers are asked for."""
    if isinstance(credentials, list):
        return tuple(name for name in credentials if isinstance(name, str) and name)
    if not isinstance(credentials, dict):
        return ()
    if isinstance(credentials.get("environment"), list):
        return secret_names(credentials["environment"])
    needed = _of_scheme(credentials) if "scheme" in credentials else credentials
    items = [item for key in ("secrets", "authorization") for item in _items(needed, key)]
    return tuple(dict.fromkeys(item["id"] for item in items if isinstance(item.get("id"), str) and item["id"]))


def _items(needed: dict[str, Any] | None, key: str) -> list[dict[str, Any]]:
    found = (needed or {}).get(key)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _of_scheme(written: dict[str, Any]) -> dict[str, Any] | None:
    """Credentials of an AML transport: a secret by its name, a token by who gives it; a role of the platform needs neither."""
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
