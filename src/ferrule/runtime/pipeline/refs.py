"""References to what a call produced elsewhere: resources, which a protocol can fetch, and artifacts, which last (AT-247)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ferrule.runtime.pipeline.mapping import Unmappable, as_json

Refs = tuple[dict[str, Any], ...]
_IDS = {"artifact": ("id", "artifact_id"), "resource": ("id", "resource_id")}
_LOCATIONS = ("uri", "url", "href", "native_location", "native_ref", "path")
_TYPES = ("media_type", "mimeType", "mime_type")
_DIGESTS = ("digest", "sha256")
_RELATIONS = {"artifact": "created", "resource": "linked"}
_BLOCKS = {"artifact": ("artifact_ref",), "resource": ("resource_link",)}


def artifact_refs(stated: Iterable[Any], content: Iterable[dict[str, Any]], invocation_id: str) -> Refs:
    """The artifacts of a call, each pointing back to it (AT-250)."""
    return tuple({**ref, "invocation_id": invocation_id} for ref in _refs("artifact", stated, content))


def resource_refs(stated: Iterable[Any], content: Iterable[dict[str, Any]]) -> Refs:
    """The resources of a call."""
    return tuple(_refs("resource", stated, content))


def _refs(kind: str, stated: Iterable[Any], content: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that were stated, then those that stand in the content only."""
    found = [_ref(kind, ref) for ref in stated]
    seen = {ref["id"] for ref in found}
    for block in content:
        if block.get("type") in _BLOCKS[kind]:
            ref = _ref(kind, {name: member for name, member in block.items() if name != "type"})
            if ref["id"] not in seen:
                seen.add(ref["id"])
                found.append(ref)
    return found


def _ref(kind: str, stated: Any) -> dict[str, Any]:
    """One reference with an id, a place, a media type, who may access it and how it relates to its source (AT-249).
    Whatever else was said stays. Raises Unmappable."""
    if isinstance(stated, str):
        stated = {"uri" if ":" in stated else "id": stated}
    if not isinstance(stated, dict):
        raise Unmappable(f"gave a reference to a {kind} that is no object")
    ref = as_json(stated)
    place = _first(ref, _LOCATIONS)
    whole = {
        "id": str(_first(ref, _IDS[kind]) or place or ref.get("name") or kind),
        **({"uri": place} if place is not None and "uri" not in ref else {}),
        "media_type": _first(ref, _TYPES) or "application/octet-stream",
        "access": "unknown",
        "relation": _RELATIONS[kind],
    }
    digest = _first(ref, _DIGESTS)
    if digest is not None:
        whole["digest"] = digest if ":" in str(digest) else f"sha256:{digest}"
    return whole | {name: member for name, member in ref.items() if name != "id" and member is not None}


def _first(ref: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((ref[name] for name in names if ref.get(name)), None)
