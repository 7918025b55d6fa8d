"""Maps native output to content blocks, structured content and references; refuses output that cannot become JSON.

A small plain value takes the quick path of `outcome.map_output`; other output comes here. References name what a
call produced elsewhere: resources, which a protocol can fetch, and artifacts, which last (AT-247). It does not know
calls or hooks.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from math import isfinite
from typing import Any

import msgspec

from ferrule.contracts.redactor import RedactingStream
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.arguments.hostile_json import MAX_DEPTH, is_deep

Blocks = tuple[JsonObject, ...]
_encode = msgspec.json.encode
_BINARY = ("data", "blob", "bytes")
"""Members of a block that hold its bytes."""
_HOLDERS = ("resource", "file", "source")
"""Members of a block that may hold the bytes in its place."""
_LARGE = 48 * 1024
"""Larger blocks keep raw bytes until it is decided where they go; base64 would only be decoded again."""


class Unmappable(Exception):
    """Raised for output that cannot become a result. The message ends a sentence that begins with the tool."""


def encode_value(value: object) -> tuple[str, object]:
    """Encodes a value; returns its JSON text and plain JSON value. Raises Unmappable."""
    try:
        text = _encode(value).decode()
    except RecursionError:
        raise Unmappable("gave a value that contains itself, or is nested without end") from None
    except UnicodeEncodeError:
        return encode_value(_repair_texts(_to_builtins(value)))
    except OverflowError:
        return _encode_long_numbers(value)
    except (TypeError, ValueError) as error:
        raise Unmappable(f"gave a value that is not JSON ({_describe_error(error)})") from None
    return text, check_value(text, value)


def check_value(text: str, value: object) -> object:
    """Returns the value as plain JSON: NaN and infinity become null. Raises Unmappable when it is nested too deep."""
    if text.count("[") + text.count("{") > MAX_DEPTH and is_deep(_to_builtins(value)):
        raise Unmappable(f"gave a value that is nested more than {MAX_DEPTH} levels deep")
    # The encoder writes NaN and infinity as null, so without a null in the text there is none to replace.
    return _replace_infinite(_to_builtins(value)) if "null" in text else value


def to_json_object(value: JsonObject) -> JsonObject:
    """Copies an object as plain JSON; whole numbers the ledger cannot store become texts. Raises Unmappable."""
    plain: JsonObject = _to_builtins(encode_value(value)[1])
    try:
        msgspec.msgpack.encode(plain)
    except OverflowError:
        plain = _shorten_numbers(plain)
    return plain


def normalize_blocks(content: object) -> Blocks:
    """Returns content blocks as plain JSON, of unknown types too. Large raw bytes stay raw; see `find_binary`.

    Raises Unmappable.
    """
    if isinstance(content, dict | str | bytes) or not isinstance(content, Iterable):
        raise Unmappable("gave content that is no list of blocks")
    return tuple(map(_normalize_block, content))


def find_binary(block: JsonObject) -> bytes | None:
    """Returns the bytes a block carries, raw or as base64; None without any."""
    for part in (block, block.get("resource"), block.get("file"), block.get("source")):
        if not isinstance(part, dict):
            continue
        for key in _BINARY:
            found = part.get(key)
            if isinstance(found, bytes):
                return found
            if isinstance(found, str):
                try:
                    return base64.b64decode(found, validate=True)
                except ValueError:
                    continue
    return None


def redact_binary(block: JsonObject, stream: Callable[[], RedactingStream], found: list[str]) -> JsonObject:
    """Redacts the bytes of a block, raw or as base64; returns the very block when they are clean.

    Appends the names to `found`.
    """
    clean: JsonObject = {}
    for name, member in block.items():
        if name in _HOLDERS and isinstance(member, dict):
            below = redact_binary(member, stream, found)
            if below is not member:
                clean[name] = below
        elif name in _BINARY and isinstance(member, str | bytes):
            try:
                data = member if isinstance(member, bytes) else base64.b64decode(member, validate=True)
            except ValueError:
                continue
            filtering = stream()
            passed = filtering.feed(data) + filtering.finish()
            if filtering.found:
                found += filtering.found
                clean[name] = passed if isinstance(member, bytes) else base64.b64encode(passed).decode()
    return {**block, **clean} if clean else block


def find_media_type(block: JsonObject) -> str:
    """Returns the media type of a block, in any of its spellings."""
    for part in (block, block.get("resource"), block.get("file"), block.get("source")):
        for key in ("media_type", "mimeType", "mime_type"):
            if isinstance(part, dict) and isinstance(part.get(key), str):
                return str(part[key])
    return "application/octet-stream"


def drop_binary(block: JsonObject) -> JsonObject:
    """Returns a block without its bytes."""
    return {
        name: drop_binary(member) if isinstance(member, dict) else member
        for name, member in block.items()
        if not (name in _BINARY and isinstance(member, bytes | str))
    }


def repair_blocks(blocks: Blocks) -> Blocks:
    """Returns blocks without lone surrogates, which no encoding can hold."""
    return tuple(_repair_texts(block) for block in blocks)


def _normalize_block(block: object) -> JsonObject:
    if not isinstance(block, dict):
        raise Unmappable("gave a content block that is no object")
    if not isinstance(block.get("type"), str):
        raise Unmappable("gave a content block without a type")
    raw = {name: member for name, member in block.items() if isinstance(member, bytes) and len(member) > _LARGE}
    return to_json_object({name: member for name, member in block.items() if name not in raw}) | raw


def _to_builtins(value: object) -> Any:
    """Converts to plain JSON values: dates and the like become texts, bytes base64. Raises Unmappable."""
    try:
        return msgspec.to_builtins(value, str_keys=True)
    except RecursionError:
        raise Unmappable("gave a value that contains itself, or is nested without end") from None
    except (TypeError, ValueError) as error:
        raise Unmappable(f"gave a value that is not JSON ({_describe_error(error)})") from None


def _replace_infinite(value: object) -> object:
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {name: _replace_infinite(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_infinite(member) for member in value]
    return value


def _shorten_numbers(value: object) -> Any:
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        try:
            return str(value)
        except ValueError:
            raise Unmappable("gave a number that is too long for JSON") from None
    if isinstance(value, dict):
        return {name: _shorten_numbers(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_shorten_numbers(member) for member in value]
    return value


def _repair_texts(value: object) -> Any:
    """Replaces lone surrogates in texts; joins two that form a pair."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_repair_texts(name): _repair_texts(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_repair_texts(member) for member in value]
    return value


def _encode_long_numbers(value: object) -> tuple[str, object]:
    """Encodes whole numbers past 64 bits, which JSON allows and msgspec does not."""
    try:
        plain = _replace_infinite(_to_builtins(value))
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":")), plain
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise Unmappable("gave a number that is too long for JSON") from None


def _describe_error(error: Exception) -> str:
    return str(error).splitlines()[0][:120] if str(error) else type(error).__name__


Refs = tuple[JsonObject, ...]
_IDS = {"artifact": ("id", "artifact_id"), "resource": ("id", "resource_id")}
_LOCATIONS = ("uri", "url", "href", "native_location", "native_ref", "path")
_TYPES = ("media_type", "mimeType", "mime_type")
_DIGESTS = ("digest", "sha256")
_RELATIONS = {"artifact": "created", "resource": "linked"}
_BLOCKS = {"artifact": ("artifact_ref",), "resource": ("resource_link",)}


def list_artifacts(stated: Iterable[object], content: Iterable[JsonObject], invocation_id: str) -> Refs:
    """Lists the artifacts of a call, each pointing back to it (AT-250)."""
    return tuple({**ref, "invocation_id": invocation_id} for ref in _list_refs("artifact", stated, content))


def list_resources(stated: Iterable[object], content: Iterable[JsonObject]) -> Refs:
    """Lists the resources of a call."""
    return tuple(_list_refs("resource", stated, content))


def _list_refs(kind: str, stated: Iterable[object], content: Iterable[JsonObject]) -> list[JsonObject]:
    """Lists the stated references, then those that are only in the content."""
    found = [_build_ref(kind, ref) for ref in stated]
    seen = {ref["id"] for ref in found}
    for block in content:
        if block.get("type") in _BLOCKS[kind]:
            ref = _build_ref(kind, {name: member for name, member in block.items() if name != "type"})
            if ref["id"] not in seen:
                seen.add(ref["id"])
                found.append(ref)
    return found


def _build_ref(kind: str, stated: object) -> JsonObject:
    """Builds one reference with an id, a place, a media type, access and relation to its source (AT-249).

    Other members stay. Raises Unmappable.
    """
    if isinstance(stated, str):
        stated = {"uri" if ":" in stated else "id": stated}
    if not isinstance(stated, dict):
        raise Unmappable(f"gave a reference to a {kind} that is no object")
    ref = to_json_object(stated)
    place = _find_first(ref, _LOCATIONS)
    whole = {
        "id": str(_find_first(ref, _IDS[kind]) or place or ref.get("name") or kind),
        **({"uri": place} if place is not None and "uri" not in ref else {}),
        "media_type": _find_first(ref, _TYPES) or "application/octet-stream",
        "access": "unknown",
        "relation": _RELATIONS[kind],
    }
    digest = _find_first(ref, _DIGESTS)
    if digest is not None:
        whole["digest"] = digest if ":" in str(digest) else f"sha256:{digest}"
    return whole | {name: member for name, member in ref.items() if name != "id" and member is not None}


def _find_first(ref: JsonObject, names: tuple[str, ...]) -> object:
    return next((ref[name] for name in names if ref.get(name)), None)
