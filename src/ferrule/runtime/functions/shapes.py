"""What functions of resources and prompts may return, and what that means: contents, and messages."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from typing import Any

import msgspec

from ferrule.runtime.functions.conversion import to_json

_CONTENT = frozenset({"uri", "mimeType", "text", "blob", "_meta"})
_ROLES = ("user", "assistant")
JSON_TYPE, TEXT_TYPE, BINARY_TYPE = "application/json", "text/plain", "application/octet-stream"


def contents_of(value: Any, mime_type: str = "") -> dict[str, Any]:
    """What a resource gave: a text, bytes, an object with `text` or `blob`, a list of these, or any other JSON. None and an empty
    list mean that there is nothing at this address."""
    if value is None:
        return {"contents": []}
    if isinstance(value, list | tuple) and all(map(_is_content, value)):
        return {"contents": [_content(member, mime_type) for member in value]}
    return {"contents": [_content(value, mime_type)]}


def _is_content(value: Any) -> bool:
    if isinstance(value, bytes | bytearray):
        return True
    return isinstance(value, dict) and value.keys() <= _CONTENT and ("text" in value) != ("blob" in value)


def _content(value: Any, mime_type: str) -> dict[str, Any]:
    if isinstance(value, str):
        return {"mimeType": mime_type or TEXT_TYPE, "text": value}
    if isinstance(value, bytes | bytearray):
        return {"mimeType": mime_type or BINARY_TYPE, "blob": b64encode(value).decode()}
    if not _is_content(value):
        return {"mimeType": mime_type or JSON_TYPE, "text": msgspec.json.encode(to_json(value)).decode()}
    given = dict(value)
    if isinstance(given.get("blob"), bytes | bytearray):
        given["blob"] = b64encode(given["blob"]).decode()
    given.setdefault("mimeType", mime_type or (BINARY_TYPE if "blob" in given else TEXT_TYPE))
    return given


def messages_of(value: Any) -> dict[str, Any]:
    """What a prompt gave: a text or a content block, which its user says; a message with `role` and `content`; a list of these;
    or an object with `messages` and a `description`. Raises ValueError."""
    if isinstance(value, dict) and "messages" in value:
        described = {"description": value["description"]} if isinstance(value.get("description"), str) else {}
        return {**described, "messages": list(_messages(value["messages"]))}
    return {"messages": list(_messages(value))}


def _messages(value: Any) -> Iterable[dict[str, Any]]:
    for member in value if isinstance(value, list | tuple) else (value,):
        role, content = "user", member
        if isinstance(member, dict) and "role" in member:
            role, content = member["role"], member.get("content")
        if role not in _ROLES:
            raise ValueError(f"{role!r} is no role; a message is of the user or the assistant")
        for block in content if isinstance(content, list | tuple) else (content,):
            yield {"role": role, "content": _block(block)}


def _block(block: Any) -> dict[str, Any]:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise ValueError("a message holds a text or a content block")
    if block["type"] == "resource" and isinstance(block.get("resource"), dict):
        return {**block, "resource": _inner(block["resource"])}
    return block


def _inner(resource: dict[str, Any]) -> dict[str, Any]:
    """What is embedded has a type, as what is read has one."""
    kind = BINARY_TYPE if "blob" in resource else TEXT_TYPE
    return {**resource, "mimeType": resource.get("mimeType") or kind}
