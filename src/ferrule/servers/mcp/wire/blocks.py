"""Content blocks as the four revisions have them (MCP-142).

Blocks of upstream servers pass unchanged, as far as a revision knows them. Our own kinds become kinds that clients
know: a stored output is a link to a resource, and any other kind becomes text.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import Any

from ferrule.servers.mcp.wire.messages import encode

OLDEST = "2025-03-26"
STORED = "persisted_output_ref"
_OURS = frozenset({"empty", "truncated", "origin"})
"""Members with a meaning inside Ferrule only."""
_MEDIA_TYPES = ("mimeType", "mime_type", "media_type")
_RESOURCE = ("uri", "mimeType", "text", "blob", "_meta")

Block = dict[str, Any]


def is_plain(blocks: Sequence[Block]) -> bool:
    """True for one text and nothing else, which every revision has."""
    return len(blocks) == 1 and len(blocks[0]) == 2 and blocks[0]["type"] == "text"


def project_blocks(blocks: Iterable[Block], revision: str) -> list[Block]:
    """Returns blocks in the words of a revision."""
    return [_drop_newer_members(block, revision) for each in blocks for block in _project_block(each, revision)]


def _project_block(block: Block, revision: str) -> list[Block]:
    own = {name: member for name, member in block.items() if name not in _OURS}
    match own.get("type"):
        case "text" if isinstance(own.get("text"), str):
            return [own]
        case "image" | "audio" if (media := _project_media(own)) is not None:
            return [media]
        case "resource" if (embedded := _project_resource(own)) is not None:
            return [embedded]
        case "resource_link" if isinstance(own.get("uri"), str):
            linked = own if isinstance(own.get("name"), str) else {**own, "name": own["uri"]}
            return [linked if revision != OLDEST else _text_block(f"{linked['name']}: {linked['uri']}")]
        case kind if kind == STORED:
            return [_project_stored(own, revision)]
        case _:
            return [_text_block(_encode_unknown(own))]


def _project_media(block: Block) -> Block | None:
    data, media_type = _base64(block.get("data")), _first(block, _MEDIA_TYPES)
    if data is None or media_type is None:
        return None
    rest = {name: member for name, member in block.items() if name not in (*_MEDIA_TYPES, "data", "type")}
    return {"type": block["type"], "data": data, "mimeType": media_type, **rest}


def _project_resource(block: Block) -> Block | None:
    inside = block.get("resource")
    if not isinstance(inside, dict) or not isinstance(inside.get("uri"), str):
        return None
    blob = _base64(inside.get("blob"))
    if blob is None and not isinstance(inside.get("text"), str):
        return None
    shown = {name: inside[name] for name in _RESOURCE if inside.get(name) is not None}
    media_type = _first(inside, _MEDIA_TYPES)
    if media_type is not None:
        shown["mimeType"] = media_type
    if blob is not None:
        shown["blob"] = blob
    return {**block, "resource": shown}


def _project_stored(block: Block, revision: str) -> Block:
    """Returns a link to a stored output, readable as a resource unless it is for people alone (AT-234)."""
    uri, media_type, size = str(block.get("uri")), str(block.get("media_type")), block.get("size")
    words = f"{media_type}, {size} bytes"
    if block.get("access") == "protected":
        return _text_block(f"[private output, {words}; a person can save it]")
    if revision == OLDEST:
        return _text_block(f"[the whole output: {uri} ({words}), readable as a resource]")
    link = {
        "type": "resource_link",
        "uri": uri,
        "name": block.get("name") or uri.rpartition(":")[2],
        "mimeType": media_type,
    }
    if isinstance(size, int):
        link["size"] = size
    return {**link, "description": "The whole output of the call."}


def _drop_newer_members(block: Block, revision: str) -> Block:
    """Returns a block without members of later revisions."""
    if revision != OLDEST:
        return block
    kept = {name: member for name, member in block.items() if name != "_meta"}
    if isinstance(kept.get("resource"), dict):
        kept["resource"] = {name: member for name, member in kept["resource"].items() if name != "_meta"}
    notes = kept.get("annotations")
    if isinstance(notes, dict):
        kept["annotations"] = {name: note for name, note in notes.items() if name != "lastModified"}
    return kept


def _text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def _encode_unknown(block: Block) -> str:
    """Encodes a block that no revision has as JSON; bytes in it are counted, not shown."""
    return encode(_without_bytes(block)).decode(errors="replace")


def _without_bytes(value: object) -> Any:
    if isinstance(value, bytes):
        return f"({len(value)} bytes)"
    if isinstance(value, dict):
        return {name: _without_bytes(member) for name, member in value.items()}
    return [_without_bytes(member) for member in value] if isinstance(value, list | tuple) else value


def _base64(data: object) -> str | None:
    if isinstance(data, bytes):
        return base64.b64encode(data).decode()
    return data if isinstance(data, str) else None


def _first(block: Block, names: Iterable[str]) -> str | None:
    return next((block[name] for name in names if isinstance(block.get(name), str)), None)
